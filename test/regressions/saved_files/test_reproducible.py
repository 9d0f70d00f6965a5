"""The same model gives the same bytes: twice, in another folder, under another hash seed, with artifacts."""
import os
import subprocess
import sys
import textwrap

import pytest
from thoroughly import first_of

from legato.runtime.package import saved_files

MAKES = """
    import sys, numpy as np, onnx, legato
    from onnx import TensorProto, helper, numpy_helper
    def array(*shape):
        return np.random.default_rng(0).standard_normal(shape).astype("f4")
    weights = [numpy_helper.from_array(array(*s), n) for n, s in dict(w=(8, 3, 3, 3), b=(8,), v=(8, 40)).items()]
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"]), helper.make_node("GlobalAveragePool", ["r"], ["p"]),
             helper.make_node("Flatten", ["p"], ["f"]), helper.make_node("MatMul", ["f", "v"], ["g"]),
             helper.make_node("Softmax", ["g"], ["y"]), helper.make_node("Erf", ["g"], ["z"])]
    x, y, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
               for name, shape in dict(x=["n", 3, 12, "k"], y=["n", 40], z=["n", 40]).items())
    graph = helper.make_graph(nodes, "g", [x], [y, z], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    backends = sys.argv[2:]
    legato.compile(legato.from_onnx(model), backends=backends).save(sys.argv[1])
"""


def made(folder, seed, backends):
    folder.mkdir(parents=True)
    command = [sys.executable, "-c", textwrap.dedent(MAKES), str(folder / "model.legato"), *backends]
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, "PYTHONHASHSEED": seed}, timeout=300)
    return {file.name: file.read_bytes() for file in saved_files(folder / "model.legato")}


@pytest.mark.parametrize("backends", first_of([("onnxruntime",), ()]))
def test_the_same_bytes(tmp_path, backends):
    first = made(tmp_path / "a", "1", backends)
    assert any(name.endswith(".artifacts") for name in first) == bool(backends)
    for folder, seed in (("b", "1"), ("deep/er/another", "4242")):
        again = made(tmp_path / folder, seed, backends)
        assert again.keys() == first.keys()
        assert [name for name in first if first[name] != again[name]] == []
