"""Blobs whose functions share a state, and weights that artifacts share with the host and with each other."""
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from session_loaders import OPENED

import legato
from legato.artifacts import Blob
from legato.patterns import is_const, is_op, wildcard
from legato.runtime.package import saved_files

TABLE = np.arange(512 * 32, dtype=np.float32).reshape(512, 32) / 1024
IDS = np.array([3, 500, 3], np.int64)


class Looked(legato.Backend):
    name = "looked"
    patterns = [("rows", is_op("relax.take")(is_const(), wildcard()))]
    fields = {"loader": "session_loaders:code", "state": "session_loaders:open_session"}

    def codegen(self, module, options) -> Any:
        constants = [op for f in module.functions() for op in f.entry_block.operations if op.operation.name == "relax.constant"]
        return Blob(b"bytes", weights={"table": module.weights[constants[0].weight]}, **self.fields)


class Loaded(Looked):
    name = "loaded"
    fields = {"loader": "session_loaders:load_with_weights"}


def lookups(shared):
    """Two lookups for a backend with the host's ops between them; ``shared``: the host reads the table, too."""
    rows, whole = "tensor<3x32xf32>", "tensor<512x32xf32>"
    module = legato.Module.parse(f"""
func.func @main(%ids: tensor<3xi64>, %x: {whole}) -> ({rows}, {rows}, {whole}) {{
  %table = "relax.constant"() {{weight = "table"}} : () -> {whole}
  %first = "relax.take"(%table, %ids) {{axis = 0 : i64}} : ({whole}, tensor<3xi64>) -> {rows}
  %minus = "relax.negative"(%ids) : (tensor<3xi64>) -> tensor<3xi64>
  %plus = "relax.abs"(%minus) : (tensor<3xi64>) -> tensor<3xi64>
  %second = "relax.take"(%table, %plus) {{axis = 0 : i64}} : ({whole}, tensor<3xi64>) -> {rows}
  %sum = "relax.add"({"%table" if shared else "%x"}, %x) : ({whole}, {whole}) -> {whole}
  return %first, %second, %sum : {rows}, {rows}, {whole}
}}""")
    module.weights.add("table", TABLE)
    return module


def is_mapped(array):
    """Whether an array is a view of a mapped file."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "artifact's own"])
def test_one_state_for_all_functions_and_one_copy_of_weights(tmp_path, shared):
    OPENED.clear()
    module = lookups(shared)
    executable = legato.compile(module, backends=[Looked])
    for runs in (executable, None):
        runs = runs or legato.load(executable.save(tmp_path / "model.legato"))
        first, second = runs(IDS, TABLE)[:2]
        np.testing.assert_allclose(first, TABLE[IDS] + 1)
        np.testing.assert_allclose(second, TABLE[IDS] + 2)    # the second call of the session
        assert len(OPENED) == 1
        data, weights = OPENED.pop()
        assert data == b"bytes" and weights.keys() == {"table"} and not weights["table"].flags.writeable
        if runs is executable:
            assert np.shares_memory(weights["table"], module.weights["table"])
        else:
            assert is_mapped(weights["table"]) == shared
    sizes = [file.stat().st_size for file in saved_files(tmp_path / "model.legato")[1:]]
    assert TABLE.nbytes <= sum(sizes) < TABLE.nbytes + 8192


def test_weights_of_several_artifacts_are_written_once(tmp_path):
    OPENED.clear()
    module = legato.partition(lookups(False), [Looked], codegen=False)
    text = str(module)
    assert text.count("func.func @rows") == 2

    class Each(Loaded):
        name = "looked"

        def codegen(self, module, options) -> Any:
            one = super().codegen(module, options)
            return [Blob(one.data, one.loader, (f.name.value,), weights=one.weights) for f in module.functions()]

    path = legato.compile(lookups(False), backends=[Each]).save(tmp_path / "model.legato")
    first, second, _ = legato.load(path)(IDS, TABLE)
    np.testing.assert_array_equal(first, TABLE[IDS])
    np.testing.assert_array_equal(second, TABLE[IDS])
    assert sum(file.stat().st_size for file in saved_files(path)[1:]) < TABLE.nbytes + 8192
    one, other = [weights["table"] for _, weights in OPENED[-2:]]
    assert np.shares_memory(one, other)


def test_bfloat16_weights_in_a_fresh_process(tmp_path):
    class Small(Loaded):
        def codegen(self, module, options) -> Any:
            blob = super().codegen(module, options)
            return Blob(blob.data, blob.loader, weights={"table": blob.weights["table"].astype(ml_dtypes.bfloat16)})

    legato.compile(lookups(False), backends=[Small]).save(tmp_path / "model.legato")
    np.savez(tmp_path / "in.npz", IDS, TABLE)
    script = "import numpy as np, legato; np.save('out.npy', legato.load('model.legato')(*np.load('in.npz').values())[0])"
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[2]), *sys.path]
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)})
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), TABLE.astype(ml_dtypes.bfloat16).astype(np.float32)[IDS])


def test_a_state_that_cannot_be_imported(tmp_path):
    class Wrong(Looked):
        fields = {"loader": "session_loaders:code", "state": "session_loaders:missing"}

    with pytest.raises(legato.LegatoError, match=r"the state of the functions of the backend 'looked' .* cannot be imported"):
        legato.compile(lookups(False), backends=[Wrong])
    with pytest.raises(legato.LegatoError, match="names no Python function"):
        Blob(b"", "a:b", state="nothing")
