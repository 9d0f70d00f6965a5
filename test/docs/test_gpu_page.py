"""docs/gpu.md: its kernels compute what numpy does, and its schedule gives the kernel that the page tells of."""
import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from emulate import emulated, inputs
from onnx import TensorProto, helper
from test_tir_page import lines_of_code

import legato
from legato.core.ir_helpers import find
from legato.frontends.script.language.source import remember_text
from legato.runtime.threads import openmp_runtime
from legato.tools import legato_compile, legato_run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gpu.md"


def names_of_page():
    source = "".join(line if inside else "\n" for line, inside in lines_of_code(PAGE.read_text()))
    remember_text(str(PAGE), source)
    names = {"__name__": "page"}
    exec(compile(source, str(PAGE), "exec"), names)
    return names


@pytest.fixture(scope="module")
def names():
    return names_of_page()


def test_the_kernels(names):
    text = str(names["kernels"])
    assert len(find(names["kernels"].operation, "gpu.barrier")) == 2 and text.count("vector.load") == text.count("vector.store") == 3
    assert text.count("alignment = 16 : i64}") >= 6 and "memref<64x16xf32, #gpu.address_space<workgroup>>" in text
    assert find(legato.lower(names["row_sums"], "nvvm", last="outlined").operation, "gpu.shuffle")


def test_the_product_in_tiles(names):
    """Two tiles in shared memory, and one barrier before each of them is written and read."""
    kernels = names["tiled"].operation
    text = str(names["tiled"])
    assert len(find(kernels, "gpu.launch_func")) == 1 and len(find(kernels, "gpu.barrier")) == 2
    assert text.count("workgroup(") == 1 and "memref<32x8xf32, #gpu.address_space<workgroup>>" in text


def test_matrices_of_subgroups(names):
    """Four matrices of each of four subgroups, in two steps of the depth; three barriers."""
    kernels = names["cooperative"].operation
    assert len(find(kernels, "tir.multiply_matrices")) == 8 and len(find(kernels, "gpu.barrier")) == 3
    assert len(find(kernels, "tir.store_matrix")) == 4 and not find(kernels, "memref.alloca")


@pytest.mark.skipif(openmp_runtime() is None, reason="the emulation of threads needs an OpenMP runtime")
def test_row_sums_in_emulation(names):
    exe = emulated(names["row_sums"], seed=None)
    (a,) = inputs(exe, n=3)
    np.testing.assert_allclose(exe(a), a.sum(-1), rtol=1e-5)


def test_the_schedule_on_a_cpu(names):
    random = np.random.default_rng(0)
    x, y = (random.random((512, 512), dtype=np.float32) for _ in range(2))
    np.testing.assert_allclose(legato.compile(names["sch"].module)(x, y), x @ y, rtol=1e-4)


def test_the_commands_run(tmp_path, monkeypatch, capsys):
    """Those in blocks of shell code, on a small model; of what runs a model, which may need a device, the options exist."""
    pytest.importorskip("llvmlite")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL) for line in block.splitlines()]
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith(("legato-compile", "legato-run"))]
    assert len(commands) > 10
    monkeypatch.chdir(tmp_path)
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", info[:1], info[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
    for tool, *arguments in commands:
        given = arguments[:next((n for n, one in enumerate(arguments) if one in ("|", ">")), len(arguments))]
        if tool == "legato-run":
            legato_run.parser().parse_args(given)
        else:
            assert legato_compile.main(given) in (0, None), (given, capsys.readouterr().err)
