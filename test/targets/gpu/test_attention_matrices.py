"""Attention of halves by matrix instructions: results on the stand-in against onnxruntime and numpy, no races, and the PTX."""
import re
import subprocess
from collections import Counter

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
import standin
from attention_graphs import Graph, compare_with
from test_gpu_attention import lowered
from thoroughly import first_of, sampled

import legato
from legato.codegen.cubin import find_ptxas
from legato.core.ir_helpers import find
from legato.core.mlir import vector
from legato.driver import ptx
from legato.passes.gpu.guard_short_indices import SHORT_FORM
from legato.schedule import matrix_primitives
from legato.targets.catalog import Catalog
from legato.targets.gpu import attention_tiles

MMA = "nvgpu.mma.sync"
TOLERANCE = 4e-3     # of halves around 1: weights and scores are rounded


def static(dtype=np.float16) -> Graph:
    """Sizes around those of tiles, masks of all forms, operands in all orders, heads that share keys, and sizes of heads that are odd."""
    graph = Graph(dtype)
    graph.attention("bert", 2, 65, 33, 16, mask="padding", layout="bshd", last=True)
    graph.attention("whole", 1, 64, 128, 64, mask="causal", layout="bshd", last=True)
    graph.attention("gpt", 1, 31, 10, 5, e=40, mask="where", scale="division", layout="columns")
    graph.attention("columns", 1, 20, 72, 24, scale="query", layout="columns")
    graph.attention("scaled", 1, 20, 72, 32, scale="both", mask="padding")
    graph.attention("shared", 2, 17, 37, 12, mask="full", group=2)
    graph.attention("guarded", 1, 20, 40, 16, mask="where", guard=True)
    return graph


def wide() -> Graph:
    """Depths of which tiles of keys have 16 to 64, in one to three stages, and only some threads copy the last ones."""
    graph = Graph(np.float16)
    for depth, columns in ((80, 96), (128, 128), (256, 72)):
        graph.attention(f"wide{depth}", 1, 40, 70, depth, e=columns, mask="padding")
    return graph


def check(graph: Graph, sizes=(None,), **how) -> None:
    """Compares all outputs with onnxruntime's. Each attention is a launch with matrix instructions, without conflicts of banks."""
    outlined = lowered(graph, standin.TARGET, "outlined")
    kernels = [str(one.attributes["sym_name"]) for one in find(outlined.operation, "gpu.func") if find(one, MMA)]
    assert len([name for name in kernels if "attention" in name and SHORT_FORM not in name]) == len(graph.outputs)
    exe, driver = standin.compiled(outlined), standin.driver()
    before = driver.standin_conflicts(), driver.standin_instructions(1)
    compare_with(graph, exe, sizes, TOLERANCE, **how)
    assert driver.standin_conflicts() == before[0] and driver.standin_instructions(1) > before[1]


@pytest.mark.parametrize("graph", first_of([static, wide]))
def test_attentions_of_halves_are_right(graph):
    check(graph())


def test_tall_tiles_are_right(monkeypatch):
    """Of 128 rows, of which a warp has 32; many blocks have such."""
    monkeypatch.setattr(attention_tiles, "TALL_BLOCKS", 2)
    graph = Graph(np.float16)
    graph.attention("tall", 1, 130, 70, 16, mask="heads", layout="bshd", last=True)
    assert "tiles = array<i64: 128, 64, 16, 16>" in str(lowered(graph, "nvvm", "schedules"))
    check(graph)


def test_any_numbers_of_rows_and_keys_are_right():
    """Also no keys; masks are read without branches, and nothing beyond their ends."""
    graph = Graph(np.float16)
    graph.attention("any", 2, "m", "n", 16, b="b", mask="causal", layout="bshd", last=True)
    check(graph, [{"b": b, "m": m, "n": n} for b, m, n in ((1, 1, 1), (2, 37, 70), (1, 5, 0), (1, 70, 200))])


def test_rows_without_keys_and_nans():
    """-inf for all keys of a row, or of a whole tile: NaN where the single ops give NaN. NaN and infinities among scores and values."""
    graph, n = Graph(np.float16), 140
    graph.attention("added", 2, 20, n, 16, mask="queries")
    graph.attention("zero", 2, 20, n, 16, mask="queries", guard=True)
    arrays = graph.arrays(kept=1)
    for name in ("added", "zero"):
        mask = arrays[f"{name}_mask"][0, 0]
        mask[2, n // 2], mask[3, 0], mask[4, n - 1] = np.nan, np.inf, np.inf
        mask[5], mask[6, :n - 1], mask[7, :64] = -np.inf, -np.inf, -np.inf
        arrays[f"{name}_q"][0, 1, 7] = np.inf
    arrays["added_v"][0, 0, 1, 3] = np.nan
    arrays["added_q"][0, :, 8], arrays["added_mask"][0, 0, 8] = 0, np.linspace(-150, 150, n)    # maxima that grow from tile to tile
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    for found, expected in zip(standin.compiled(legato.from_onnx(graph.model))(*arrays.values()), session.run(None, arrays), strict=True):
        np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(expected, np.float64), atol=TOLERANCE)


def test_bf16():
    graph = Graph(ml_dtypes.bfloat16)
    graph.attention("x", 2, 70, 75, 32, mask="padding", layout="bshd", last=True)
    arrays = graph.arrays()
    q, k, v, mask = (array.astype(np.float64) for array in arrays.values())
    x = np.einsum("bmhd,bnhd->bhmn", q, k) / 32**0.5 + mask
    p = np.exp(x - x.max(-1, keepdims=True))
    expected = np.einsum("bhmn,bnhe->bmhe", p / p.sum(-1, keepdims=True), v)
    exe, driver = standin.compiled(legato.from_onnx(graph.model)), standin.driver()
    before = driver.standin_instructions(1)
    found = exe(*arrays.values())
    assert driver.standin_instructions(1) > before
    np.testing.assert_allclose(np.asarray(found, np.float64), expected, atol=3e-2)


def test_other_devices_and_types_have_the_other_kernel():
    for dtype, target in ((np.float16, "nvvm{chip=sm_75}"), (np.float32, "nvvm"), (np.float16, "vulkan")):
        graph = Graph(dtype)
        graph.attention("x", 2, 70, 75, 32)
        text = str(lowered(graph, target, "schedules"))
        assert text.count("tile_attention") == 1 and "tensorize" not in text


def test_a_weight_of_another_lane_is_noticed(monkeypatch):
    """The stand-in has the fragments from PTX's definition: code that exchanges two of a weight's gets other results."""
    right, graph = matrix_primitives.own_elements, Graph(np.float16)
    graph.attention("x", 1, 16, 32, 16)

    def exchanged(*given):
        values = right(*given)
        parts = [vector.ExtractOp(values, [], [n, pair]).result for n in (0, 2, 1, 3) for pair in (0, 1)]
        return vector.FromElementsOp(values.type, parts).result

    monkeypatch.setattr(matrix_primitives, "own_elements", exchanged)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check(graph)


def test_no_races_and_each_barrier_is_needed():
    pytest.importorskip("z3")
    from launch_races import check_launch, launches
    graph = Graph(np.float16)
    graph.attention("x", 1, 40, 70, 16, mask="padding", layout="bshd", last=True)
    module = legato.lower(legato.from_onnx(graph.model), "nvvm", last="scheduled")
    launch, = launches(module.module)
    verdict, barriers = check_launch(launch), len(find(module.operation, "gpu.barrier"))
    assert verdict.proved and not verdict.races and not verdict.undecided and barriers == 2
    for number in range(barriers):
        seeded = module.clone()
        find(seeded.operation, "gpu.barrier")[number].erase()
        assert any(check_launch(one).races for one in launches(seeded.module))


@pytest.fixture
def llvmlite():
    pytest.importorskip("llvmlite")


# by the rows, keys and depth: matrix instructions in the kernel, loads of fragments, copies of 16 bytes, barriers, registers
FIGURES = {(512, 512, 64): (64, 36, 20, 1, 160), (2752, 512, 64): (64, 24, 20, 1, 168), (512, 512, 80): (40, 25, 24, 1, 136),
           (512, 512, 128): (64, 40, 16, 2, 136)}


@pytest.mark.parametrize("sizes, scale", sampled(
    [*((sizes, "scores") for sizes in FIGURES), (next(iter(FIGURES)), "both")], 4, 2))
def test_the_instructions_suffice(sizes, scale, llvmlite):
    """Nothing but matrices is loaded from shared memory; weights do not pass by it; all copies to it are asynchronous, also where queries
    and keys are scaled, as PyTorch's exporter does."""
    graph = Graph(np.float16)
    graph.attention("x", 12, *sizes, mask="padding", scale=scale, layout="bshd", last=True)
    text = ptx(lowered(graph, "nvvm{approx=true}", "nvvm"), Catalog().resolve("nvvm"))
    multiplied, loaded, copied, barriers, registers = FIGURES[sizes]
    found = Counter(re.findall(r"mma\.sync|ldmatrix|cp\.async\.cg\.shared\.global \[|bar\.sync|[ls][dt]\.shared|\.local", text))
    assert found == {"mma.sync": multiplied, "ldmatrix": loaded, "cp.async.cg.shared.global [": copied, "bar.sync": barriers}
    check_registers(text, registers)


@pytest.mark.parametrize("depth, most", first_of(
    [(64, 192), (256, 216), (16, 128), (96, 176), (128, 144), (160, 192)], 2))
def test_any_sizes_leave_registers(depth, most, llvmlite):
    """Of masks, and any numbers of rows and keys."""
    graph = Graph(np.float16)
    graph.attention("wide", 8, "m", "n", depth, b="b", mask="causal")
    check_registers(ptx(lowered(graph, "nvvm{approx=true}", "nvvm"), Catalog().resolve("nvvm")), most)


def check_registers(text: str, most: int) -> None:
    """AssertionError where the assembler, if it is installed, takes more registers, or memory for some."""
    if (assembler := find_ptxas()) is not None:
        said = subprocess.run([assembler, "-v", "-arch=sm_80", "/dev/stdin", "-o", "/dev/null"], input=text, check=True,
                              capture_output=True, text=True).stderr
        assert set(re.findall(r"(\d+) bytes spill", said)) == {"0"} and max(map(int, re.findall(r"Used (\d+) registers", said))) <= most
