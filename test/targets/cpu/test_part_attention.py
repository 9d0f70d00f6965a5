"""Attention of f32 by products of parts of bf16 (AMX), against onnxruntime's. All cases of a test are one model."""
import numpy as np
import onnxruntime
import pytest
from attention_graphs import Graph, check, check_rows_without_keys, everything

import legato
from legato.targets.cpu.machine import Machine

pytestmark = pytest.mark.skipif(not Machine.host().has("amx-bf16"), reason="wants AMX")
TARGET = "llvm{matmul-precision=bf16x6}"


def count_products(graph: Graph, target: str) -> int:
    """The products of matrices in parts."""
    return str(legato.lower(legato.from_onnx(graph.model), target, last="scheduled")).count("{tir.parts}")


def test_masks_and_layouts():
    graph = everything(33, 39)
    assert count_products(graph, TARGET) == 2 * len(graph.outputs)
    check(graph, TARGET)


def test_symbolic_sizes():
    sizes = [{"b": b, "m": m, "n": n} for b, m, n in ((1, 1, 1), (2, 5, 7), (1, 33, 64), (3, 8, 530), (1, 100, 17), (2, 1, 300), (2, 5, 0))]
    check(everything("m", "n", "b", masks=("padding", "full", "where")), "llvm{matmul-precision=bf16x6,threads=2}", sizes)


@pytest.mark.parametrize("threads", [1, 2])
def test_sizes(threads):
    """One block and several, whole ones and parts, of keys and of queries; depths that are no multiple of a step, odd ones, too."""
    graph = Graph()
    for m, n, d, e in ((32, 32, 40, 24), (33, 65, 64, 80), (17, 1030, 16, 16), (200, 300, 20, 20), (1100, 70, 8, 8), (30, 700, 128, 256),
                       (25, 90, 9, 5), (33, 64, 31, 1), (65, 31, 33, 65)):
        graph.attention(f"{m}x{n}x{d}x{e}", 2, m, n, d, e=e)
        if n >= 64:
            graph.attention(f"{m}x{n}x{d}x{e}_columns", 2, m, n, d, e=e, layout="columns")
    check(graph, f"llvm{{matmul-precision=bf16x6,threads={threads}}}")


@pytest.mark.parametrize("n", [70, 600])
def test_rows_without_keys(n):
    check_rows_without_keys(n, TARGET)


@pytest.mark.parametrize("layout", ["bhsd", "columns"])
@pytest.mark.parametrize("operand", "qkv")
def test_numbers_that_are_no_sums_of_parts(operand, layout):
    """In one block of keys, or of queries, of several."""
    graph = Graph()
    graph.attention("a", 2, 70, 600, 40, layout=layout, scale="")
    compiled = legato.compile(legato.from_onnx(graph.model), target=TARGET)
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    for number in (np.inf, -np.inf, np.nan, 1e30, 1e-30):
        arrays = graph.arrays()
        if number == 1e-30:
            arrays[f"a_{operand}"] *= np.float32(number)
        else:
            arrays[f"a_{operand}"][0, 1, 5, 7] = number
        wanted, found = np.asarray(session.run(None, arrays)[0]), np.asarray(compiled(*arrays.values()))
        size = 1e-30 if operand == "v" and number == 1e-30 else 1
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-5 * size)


def test_what_is_surely_faster_is_in_parts_by_default():
    for shape, products in (((512, 512, 64), 2), ((128, 128, 64), 2), ((197, 197, 64), 0), ((64, 64, 16), 0), (("m", "m", 64), 0)):
        graph = Graph()
        graph.attention("a", 2, *shape)
        assert count_products(graph, "llvm") == products
        assert count_products(graph, "llvm{matmul-precision=f32}") == 0
