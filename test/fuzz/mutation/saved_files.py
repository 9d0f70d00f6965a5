"""Damaged files of saved models, IR with its weights, entries of the cache, arrays and external data: refused, or read rightly.

What is compared with its digest is refused when it differs; what is not (weights beside IR, external data) may be read as other values, and
never beyond its end.
"""
import os
import random
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.core.errors import LegatoError
from legato.dialects import Module
from mutation.bytes import mutated_bytes
from mutation.case import Finding, stranger
from mutation.valid_ir import quiet_context

X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
W = np.linspace(-2, 2, 512, dtype=np.float32).reshape(8, 64)


@cache
def folder() -> Path:
    """A folder with one of each kind of file, in folders of their own."""
    path = Path(tempfile.mkdtemp(prefix="legato-mutants-"))
    import atexit

    atexit.register(shutil.rmtree, path, True)
    model = onnx_model()
    for kind in ("saved", "ir", "bytecode", "cache", "external"):
        (path / kind).mkdir()
    exe = legato.compile(legato.from_onnx(model), cache=False)
    exe.save(path / "saved" / "model.legato")
    module = legato.from_onnx(model)
    module.save(path / "ir" / "model.mlir")
    onnx.save_model(onnx_model(), path / "external" / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=16)
    os.environ["LEGATO_CACHE"] = str(path / "cache")
    from legato import compile_cache

    compile_cache.WORTH_IT = 0     # also what is compiled quickly
    legato.compile(legato.from_onnx(onnx_model()))
    compile_cache.wait_for_writers()
    return path


def onnx_model() -> onnx.ModelProto:
    """relu(x @ w) + c, with weights and a constant."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "mm"), helper.make_node("Relu", ["a"], ["b"], "act"),
             helper.make_node("Add", ["b", "c"], ["y"], "sum")]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 64])],
        [numpy_helper.from_array(W, "w"), numpy_helper.from_array(np.float32(0.5) * np.ones(64, np.float32), "c")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


WANTED = np.maximum(X @ W, 0) + 0.5


class SavedFiles:
    """The subject."""

    def damaged(self, seed: int, to: Path) -> tuple[str, Path]:
        """A copy of one kind of files in ``to``, of which one is damaged: the kind, and the damaged file."""
        chance = random.Random(seed)
        kind = chance.choice(("saved", "saved", "saved", "ir", "ir", "cache", "cache", "external", "external"))
        shutil.copytree(folder() / kind, to / kind)
        files = sorted(p for p in (to / kind).rglob("*") if p.is_file())
        file, other = chance.choice(files), chance.choice(files)
        what = chance.random()
        if what < 0.04:
            file.unlink()
        elif what < 0.08:
            shutil.copyfile(other, to / "other")
            (to / "other").replace(file)
        else:
            changed = mutated_bytes(file.read_bytes(), chance, other.read_bytes())
            file.unlink()   # the original may be mapped by this process
            file.write_bytes(changed)
        return kind, file

    def content(self, seed: int) -> tuple[str, bytes]:
        with tempfile.TemporaryDirectory() as to:
            _, file = self.damaged(seed, Path(to))
            return file.name, file.read_bytes() if file.exists() else b""

    def run(self, seed: int, mark: Any) -> Finding | None:
        with tempfile.TemporaryDirectory() as name:
            kind, file = self.damaged(seed, Path(name))
            path = Path(name) / kind
            try:
                return getattr(self, f"_{kind}")(path, file)
            except LegatoError as error:
                return stranger(error)

    def _saved(self, path: Path, file: Path) -> Finding | None:
        exe = legato.load(path / "model.legato", verify=True)
        return _compare(exe(X))

    def _ir(self, path: Path, file: Path) -> Finding | None:
        module = Module.load(path / "model.mlir", quiet_context())
        legato.lower(module, last="legalized")
        if file.suffix == ".safetensors":
            _run(legato.compile(module, cache=False))
        return None

    def _cache(self, path: Path, file: Path) -> Finding | None:
        os.environ["LEGATO_CACHE"] = str(path)
        exe = legato.compile(legato.from_onnx(onnx_model()))
        from legato.compile_cache import wait_for_writers

        found = _compare(exe(X))
        wait_for_writers()
        return found

    def _external(self, path: Path, file: Path) -> Finding | None:
        module = legato.from_onnx(path / "model.onnx")
        if file.suffix == ".bin":
            _run(legato.compile(module, cache=False))
        return None


def _run(exe: Any) -> None:
    try:
        exe(X)
    except (ValueError, TypeError):
        pass


def _compare(ours: np.ndarray) -> Finding | None:
    if ours.shape == WANTED.shape and np.allclose(ours, WANTED, 1e-4, 1e-4):
        return None
    return Finding("wrong result", f"{ours.reshape(-1)[:4].tolist()} is not {WANTED.reshape(-1)[:4].tolist()}")
