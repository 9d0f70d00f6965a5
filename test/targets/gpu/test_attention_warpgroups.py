"""Attention of halves by Hopper's warpgroups: results on the stand-in, which has the layout of tiles and the fragments of PTX's
definition; what it notices; and the PTX."""
import re
from collections import Counter

import ml_dtypes
import numpy as np
import pytest
import standin
from assembled_warpgroups import check_assembly
from attention_graphs import Graph, compare_with
from test_gpu_attention import lowered
from thoroughly import first_of, thorough

import legato
from legato.core.ir_helpers import find
from legato.core.mlir import vector
from legato.driver import ptx
from legato.passes.gpu import swizzle_tiles, warpgroup_code
from legato.schedule import warpgroup_primitives
from legato.targets.catalog import Catalog
from legato.targets.gpu import attention_matrices

TARGET = "nvvm{approx=true chip=sm_90a}"
TOLERANCE = 4e-3     # of halves around 1: weights are rounded
MULTIPLIES, BRINGS = "wgmma.mma_async", "nvvm.cp.async.bulk.tensor.shared.cluster.global"


@pytest.fixture(autouse=True)
def hopper(monkeypatch):
    monkeypatch.setenv("STANDIN_CHIP", "90")
    yield
    standin.driver().standin_reset()     # after a launch that failed


@pytest.fixture
def without_engine(monkeypatch):
    """Threads copy all operands."""
    monkeypatch.setattr(attention_matrices, "tiles_with_engine", lambda form, machine: None)


def check(graph: Graph, brought: int, sizes=(None,), **how) -> None:
    """Compares all outputs with onnxruntime's. Each attention is a launch with products of warpgroups, no two rows of a matrix in one
    bank; of so many of them the copy engine brings the operands."""
    outlined = lowered(graph, TARGET, "outlined")
    kernels = [one for one in find(outlined.operation, "gpu.func")
               if any(MULTIPLIES in op.attributes["asm_string"].value for op in find(one, "llvm.inline_asm"))]
    assert len(kernels) == len(graph.outputs) and all("attention" in str(one.attributes["sym_name"]) for one in kernels)
    assert sum(bool(find(one, BRINGS)) for one in kernels) == brought
    exe, driver = standin.compiled(outlined, TARGET), standin.driver()
    before = driver.standin_tile_conflicts(), driver.standin_products()
    compare_with(graph, exe, sizes, TOLERANCE, **how)
    assert driver.standin_tile_conflicts() == before[0] and driver.standin_products() > before[1]


@pytest.mark.thorough
def test_operands_that_the_engine_brings():
    """Sizes around those of tiles, masks of all forms, operands in all orders."""
    graph = Graph(np.float16)
    graph.attention("bert", 2, 65, 200, 80, mask="padding", layout="bshd", last=True)
    graph.attention("columns", 1, 40, 136, 128, scale="query", layout="columns")
    graph.attention("scaled", 1, 70, 140, 96, e=64, scale="both", mask="causal")
    graph.attention("guarded", 1, 40, 130, 72, mask="where", guard=True)
    graph.attention("long", 1, 66, 512, 128)
    check(graph, 5)


def test_masks_and_layouts(without_engine):
    """Sizes around those of tiles, masks of all forms, operands in all orders, heads that share keys, and sizes of heads that are odd."""
    graph = Graph(np.float16)
    graph.attention("bert", 2, 65, 33, 64, mask="padding", layout="bshd", last=True)
    graph.attention("gpt", 1, 130, 70, 57, e=64, mask="where", scale="division", layout="columns")
    graph.attention("columns", 1, 40, 72, 64, scale="query", layout="columns")
    graph.attention("scaled", 1, 70, 72, 52, e=50, scale="both", mask="causal")
    graph.attention("shared", 2, 37, 37, 64, mask="full", group=2)
    graph.attention("guarded", 1, 40, 40, 64, mask="where", guard=True)
    check(graph, 0)


@pytest.mark.thorough
def test_what_the_engine_does_not_copy():
    """A single tile of keys, rows of no multiple of 16 bytes; beside heads that share keys."""
    graph = Graph(np.float16)
    graph.attention("short", 1, 40, 50, 128)
    graph.attention("shared", 4, 70, 140, 80, group=2)
    graph.attention("odd", 1, 40, 140, 76)
    check(graph, 1)


@pytest.mark.parametrize("depth, columns", [(128, 128), *thorough([(64, 128), (256, 256), (120, 64)], names=2)])
def test_large_heads(depth, columns, without_engine):
    """Whose tiles are in dynamic shared memory."""
    graph = Graph(np.float16)
    graph.attention("wide", 1, 70, 70, depth, e=columns, mask="padding")
    text = ptx(lowered(graph, TARGET, "nvvm"), Catalog().resolve(TARGET))
    assert text.count(".extern .shared") == 1
    check(graph, 0)


@pytest.mark.parametrize("depth", first_of([64, 128]))
def test_any_numbers_of_rows_and_keys_are_right(depth):
    """Also no keys."""
    graph = Graph(np.float16)
    graph.attention("any", 1, "m", "n", depth, b="b", mask="causal", layout="bshd", last=True)
    check(graph, depth == 128, [{"b": b, "m": m, "n": n} for b, m, n in ((1, 1, 1), (2, 37, 70), (1, 5, 0), (1, 70, 530))])


def test_bf16():
    """With a mask of the least numbers, of which some rows have nothing else."""
    graph = Graph(ml_dtypes.bfloat16)
    graph.attention("x", 1, 70, 275, 64, mask="queries", layout="bshd", last=True)
    arrays = graph.arrays()
    mask = arrays["x_mask"]
    mask[mask < -1], mask[0, 0, 3] = np.finfo(np.float32).min, ml_dtypes.finfo(ml_dtypes.bfloat16).min
    mask[mask < -1e30] = ml_dtypes.finfo(ml_dtypes.bfloat16).min
    q, k, v, mask = (array.astype(np.float64) for array in arrays.values())
    x = np.float32(np.einsum("bmhd,bnhd->bhmn", q, k) / 8) + np.float32(mask)
    p = np.exp(x - x.max(-1, keepdims=True))
    expected = np.einsum("bhmn,bnhe->bmhe", p / p.sum(-1, keepdims=True), v)
    exe, driver = standin.compiled(legato.from_onnx(graph.model), TARGET), standin.driver()
    before = driver.standin_products()
    found = exe(*arrays.values())
    assert driver.standin_products() > before
    np.testing.assert_allclose(np.asarray(found, np.float64), expected, atol=3e-2)


def small() -> Graph:
    """A graph for faults."""
    graph = Graph(np.float16)
    graph.attention("x", 1, 64, 64, 64)
    return graph


def test_a_weight_of_another_lane_is_noticed(monkeypatch):
    right = warpgroup_primitives.own_elements

    def exchanged(*given):
        values = right(*given)
        order = [n ^ 2 for n in range(values.type.shape[0])]
        return vector.FromElementsOp(values.type, [vector.ExtractOp(values, [], [n]).result for n in order]).result

    monkeypatch.setattr(warpgroup_primitives, "own_elements", exchanged)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check(small(), 0)


def test_tiles_without_the_swizzle_are_noticed(monkeypatch):
    monkeypatch.setattr(swizzle_tiles, "place", lambda tile, row, column: (row, column))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check(small(), 0)


def test_copies_that_wgmma_does_not_see_are_noticed(monkeypatch):
    monkeypatch.setattr(warpgroup_code, "publish_stores", lambda: None)
    with pytest.raises(RuntimeError, match="LAUNCH_FAILED"):
        check(small(), 0)


@pytest.fixture
def llvmlite():
    pytest.importorskip("llvmlite")


# by the heads' size and the mask: wgmma, registers
FIGURES = {(64, ""): (12, 128), (64, "padding"): (8, 128), (128, ""): (16, 168), (128, "padding"): (16, 168), (256, "padding"): (20, 168)}


@pytest.mark.parametrize("depth, mask", first_of(FIGURES, 2))
def test_the_instructions_suffice(depth, mask, llvmlite):
    """Nothing is loaded from shared memory, or stored there but by asynchronous copies."""
    graph = Graph(np.float16)
    graph.attention("x", 12, 512, 512, depth, mask=mask)
    multiplied, registers = FIGURES[depth, mask]
    text = ptx(lowered(graph, TARGET, "nvvm"), Catalog().resolve(TARGET))
    check_assembly(text, registers)
    found = Counter(re.findall(r"wgmma\.mma_async|ldmatrix|bar\.sync|[ls][dt]\.shared|\.local", text))
    assert found == {"wgmma.mma_async": multiplied, "bar.sync": 1}
