"""Attention as one launch: results on Vulkan and with emulated threads against onnxruntime, no races, and its PTX."""
import re
import subprocess

import numpy as np
import onnxruntime
import pytest
from attention_graphs import Graph, compare
from emulate import emulated
from onnx import TensorProto, helper
from thoroughly import first_of, thorough
from vulkan_driver import needs_vulkan

import legato
from legato.codegen.cubin import find_ptxas
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.targets.catalog import Catalog
from legato.targets.gpu import attention


def static() -> Graph:
    """Sizes around those of tiles, masks of all forms, operands in all orders, heads that share keys and values."""
    graph = Graph()
    graph.attention("bert", 2, 65, 33, 16, b=2, mask="padding", layout="bshd", last=True)
    graph.attention("gpt", 2, 31, 1, 5, e=40, mask="where", scale="division", layout="columns")
    graph.attention("shared", 4, 17, 37, 12, mask="full", group=2)
    graph.attention("guarded", 2, 20, 40, 16, mask="where", guard=True)
    graph.attention("flat", 8, 50, 33, 8, b=8)    # 128 tiles of 32 rows
    return graph


def symbolic() -> Graph:
    """A batch, rows and keys of any number."""
    graph = Graph()
    graph.attention("causal", 2, "m", "n", 16, b="b", mask="causal", layout="bshd", last=True)
    return graph


def lowered(graph: Graph, target: str, last: str) -> legato.Module:
    """The model at a stage."""
    return legato.lower(legato.from_onnx(graph.model), target, last=last)


@pytest.mark.parametrize(("graph", "forms"), [(static, 1), (symbolic, 2)])
def test_an_attention_is_one_launch(graph, forms):
    """Nothing of the size of the scores is in global memory. Of unknown numbers of rows the host takes one form of two."""
    made = graph()
    text = lowered(made, "nvvm", "outlined")
    names = [str(op.attributes["kernel"]) for op in find(text.operation, "gpu.launch_func")]
    assert sum("attention" in name for name in names) == len(made.outputs) * forms
    assert not [a for a in find(text.operation, "memref.alloc") if "attention" in str(a.parent.attributes["sym_name"])]


@needs_vulkan
def test_on_vulkan():
    compare(static(), "vulkan")


@needs_vulkan
@pytest.mark.parametrize("enough", first_of([128, 1]))
def test_symbolic_sizes_on_vulkan(enough, monkeypatch):
    """In flat tiles, and where one block is enough, in the largest from 32 rows of two heads on."""
    monkeypatch.setattr(attention, "ENOUGH", enough)
    sizes = [{"b": b, "m": m, "n": n} for b, m, n in ((1, 1, 1), (2, 37, 70), (1, 5, 0), (3, 33, 16))]
    compare(symbolic(), "vulkan", sizes)


@needs_vulkan
def test_wide_heads_on_vulkan():
    """Tiles are copied in more than eight turns."""
    graph = Graph()
    for depth in (72, 96, 256):
        graph.attention(f"wide{depth}", 1, 9, 35, depth, mask="padding")
    compare(graph, "vulkan")


@needs_vulkan
def test_rows_without_keys_and_nans():
    """-inf for all keys of a row, or of a whole tile: NaN where the single ops give NaN. NaN and infinities among scores and values."""
    graph, n = Graph(), 40
    graph.attention("added", 2, 20, n, 16, mask="queries", scale="")
    graph.attention("zero", 2, 20, n, 16, mask="queries", scale="", guard=True)    # of which rows of NaN count as 0
    compiled = legato.compile(legato.from_onnx(graph.model), "vulkan")
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    arrays = graph.arrays(kept=1)
    for name in ("added", "zero"):
        mask = arrays[f"{name}_mask"][0, 0]
        mask[2, n // 2], mask[3, 0], mask[4, n - 1], mask[5], mask[6, :n - 1] = np.nan, np.inf, np.inf, -np.inf, -np.inf
        arrays[f"{name}_q"][0, 1, 7] = np.inf
    arrays["added_v"][0, 0, 1, 3] = np.nan
    arrays["added_mask"][0, 0, 8] = np.linspace(-150, 150, n, dtype=np.float32)    # maxima that grow from tile to tile
    for found, expected in zip(compiled(*arrays.values()), session.run(None, arrays), strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=2e-5)


@needs_vulkan
def test_halves_on_vulkan():
    graph = Graph(np.float16)
    graph.attention("half", 2, 9, 20, 8, mask="keys", layout="bshd", last=True)
    compare(graph, "vulkan", tolerance=4e-3)


def test_with_emulated_threads():
    """The kernel of nvvm, with shuffles, and threads that are held up at random."""
    graph = Graph()
    graph.attention("padded", 1, 9, 11, 8, mask="padding", layout="bshd", last=True)
    arrays = graph.arrays()
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = emulated(legato.from_onnx(graph.model), seed=1)(*arrays.values())
    np.testing.assert_allclose(np.asarray(found), np.asarray(session.run(None, arrays)[0]), atol=2e-5)


# by the depth and the heads of 128 rows: fused multiply-adds for each load from shared memory, registers, bytes of shared memory
FIGURES = {(64, 64): (10, 160, 40 << 10), (64, 40): (5, 96, 32 << 10), (64, 4): (3, 80, 24 << 10), (128, 4): (4, 160, 40 << 10)}


@pytest.mark.parametrize(("depth", "heads"), FIGURES)
def test_an_attention_multiplies_from_registers(depth, heads, tmp_path):
    """Accesses of 16 bytes, no register in memory, and a barrier before and after a tile is read."""
    pytest.importorskip("llvmlite")
    graph, (multiplies, registers, shared) = Graph(), FIGURES[depth, heads]
    graph.attention("x", heads, 128, 128, depth, mask="padding", layout="bshd", last=True)
    text = ptx(lowered(graph, "nvvm{approx=true}", "nvvm"), Catalog().resolve("nvvm"))
    loads = re.findall(r"ld\.shared\S*", text)
    assert all(".v" in load for load in loads) and text.count("fma.rn.f32") >= multiplies * len(loads)
    assert text.count("bar.sync") == 3 and ".local" not in text and "shfl" in text
    assert all(".v4" in store for store in re.findall(r"st\.global\S*", text))
    if (assembler := find_ptxas()) is not None:
        (tmp_path / "k.ptx").write_text(text)
        said = subprocess.run([assembler, "-v", "-arch=sm_80", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")],
                              check=True, capture_output=True, text=True).stderr
        assert "0 bytes spill stores, 0 bytes spill loads" in said
        assert int(re.findall(r"Used (\d+) registers", said)[0]) <= registers
        assert int(re.findall(r"(\d+) bytes smem", said)[0]) <= shared


@pytest.mark.parametrize(("heads", "rows", "tiles"), [(64, 128, [64]), (12, 384, [32]), (12, 128, [16]), (2, 20, [16]), (2, "m", [64, 16])])
def test_few_heads_have_flat_tiles(heads, rows, tiles):
    """The largest tiles of at least 128 blocks, else those of 16 rows; of unknown numbers both, the largest for many rows."""
    graph = Graph()
    graph.attention("x", heads, rows, 40, 64)
    text = str(lowered(graph, "nvvm", "schedules"))
    assert re.findall(r"tiles = array<i64: (\d+), 32, 64, 64>", text) == [*map(str, tiles)]
    assert len(tiles) == 1 or f"tir.rows = array<i64: {128 * 64 // heads}, -1>" in text


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize(("depth", "most"), [(80, 164), *thorough([(96, 160)], 2), (256, 136)])
def test_wide_heads_leave_registers(depth, most, tmp_path):
    """What a thread copies is in registers for a few turns at a time. Of halves, without matrices, and of any numbers of rows and keys; of
    80 elements in both forms."""
    pytest.importorskip("llvmlite")
    graph, target = Graph(np.float16), "nvvm{approx=true chip=sm_75}"
    graph.attention("wide", 8, "m", "n", depth, b="b")
    (tmp_path / "k.ptx").write_text(ptx(lowered(graph, target, "nvvm"), Catalog().resolve(target)))
    ran = subprocess.run([str(find_ptxas()), "-v", "-arch=sm_75", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")],
                         capture_output=True, text=True, check=True)
    assert max(map(int, re.findall(r"Used (\d+) registers", ran.stderr))) <= most
    assert set(re.findall(r"(\d+) bytes spill", ran.stderr)) == {"0"}


def test_an_attention_that_others_read_is_left_as_kernels():
    """The weights are an output too."""
    graph = Graph()
    q, k, v = (graph.input(x, (2, 40, 40)) for x in ("a", "b", "c"))
    graph.nodes.append(helper.make_node("Softmax", [graph.node("MatMul", [q, k])], ["weights"], axis=-1))
    graph.nodes.append(helper.make_node("MatMul", ["weights", v], ["out"]))
    graph.outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 40, 40)) for name in ("weights", "out")]
    schedules = str(lowered(graph, "nvvm", "schedules"))
    assert "tile_attention" not in schedules and schedules.count("tile_product") == 1   # of both
