"""Attention by products of bf16, of matrices (AMX) or of pairs in the lanes of vectors (AVX512-BF16), against onnxruntime's in f32. All
cases of a test are one model.

Queries, keys, values and exponentials are rounded: results differ by some 2^-8 of the values' size. Cases whose numbers are all exact in
bf16 have to be as exact as in f32.
"""
import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from attention_graphs import Graph, check, check_rows_without_keys, everything
from thoroughly import first_of

import legato
from legato.targets.cpu.machine import Machine

HOST = Machine.host()
pytestmark = pytest.mark.skipif(not HOST.multiplies_pairs, reason="wants AMX, or AVX512-BF16")
# AVX512-BF16's vectors too, where AMX's matrices come first
CPUS = ["host", "cooperlake"] if HOST.has("amx-bf16") and HOST.has("avx512bf16") else ["host"]
TARGET = "llvm{matmul-precision=bf16}"
ROUNDED = 4e-2


@pytest.fixture(autouse=True, params=CPUS)
def cpu(request, monkeypatch):
    """Compiles for each of these."""
    monkeypatch.setitem(globals(), "TARGET", f"llvm{{matmul-precision=bf16,cpu={request.param}}}")


def count_products(graph: Graph, target: str) -> int:
    """The products of matrices in the code; of vectors, two for each kernel with some."""
    text = str(legato.lower(legato.from_onnx(graph.model), target, last="scheduled"))
    return text.count("vector.contract") or 2 * sum("tir.dot2_bf16bf16" in kernel for kernel in text.split("func.func"))


def test_masks_and_layouts():
    graph = everything(21, 39)
    assert count_products(graph, TARGET) == 2 * len(graph.outputs)
    check(graph, TARGET, tolerance=ROUNDED)


@pytest.mark.parametrize("target", first_of([f"{TARGET[:-1]},threads=2}}", TARGET]))
def test_symbolic_sizes(target):
    sizes = [{"b": b, "m": m, "n": n} for b, m, n in ((1, 1, 1), (2, 5, 7), (1, 33, 64), (3, 8, 530), (1, 100, 17), (2, 1, 300), (2, 5, 0))]
    check(everything("m", "n", "b", masks=("padding", "full", "where")), target, sizes, tolerance=ROUNDED)


def test_sizes():
    """One block and several, whole ones and parts, of keys and of queries; depths that are no multiple of a step, odd ones, too."""
    graph = Graph()
    for m, n, d, e in ((12, 32, 40, 24), (13, 65, 64, 80), (16, 1030, 16, 16), (200, 300, 20, 20), (1100, 70, 8, 8), (30, 700, 128, 256),
                       (25, 90, 9, 5), (33, 64, 31, 1), (65, 31, 33, 65)):
        graph.attention(f"{m}x{n}x{d}x{e}", 2, m, n, d, e=e)
        if n >= 64:
            graph.attention(f"{m}x{n}x{d}x{e}_columns", 2, m, n, d, e=e, layout="columns")
    check(graph, TARGET, tolerance=ROUNDED)


@pytest.mark.parametrize("keys", first_of([1300, 70]))
def test_numbers_that_bf16_holds_are_exact(keys):
    """Queries of 0 give all keys the same share, up to a mask: sums of small whole numbers are exact. With queries that single out one
    key, its values are the result."""
    graph = Graph()
    graph.attention("mean", 2, 40, keys, 32, mask="where")
    graph.attention("chosen", 2, 40, keys, 32, scale="")
    compiled = legato.compile(legato.from_onnx(graph.model), TARGET)
    rng, arrays = np.random.default_rng(3), graph.arrays()
    for array in arrays.values():
        if array.dtype != bool:
            array[:] = rng.integers(-8, 9, array.shape)
    arrays["mean_q"][:] = 0
    arrays["chosen_q"][:] = np.eye(40, 32) * 128
    arrays["chosen_k"][:] = np.eye(keys, 32)
    arrays["chosen_k"][:, :, 32:] = 0
    mean, chosen = (np.asarray(result) for result in compiled(*arrays.values()))
    seen = np.broadcast_to(arrays["mean_where"], (1, 2, 40, keys)).astype(np.float64)
    np.testing.assert_allclose(mean, seen @ arrays["mean_v"] / seen.sum(-1, keepdims=True), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(chosen[:, :, :32], arrays["chosen_v"][:, :, :32])


@pytest.mark.parametrize("n", first_of([1300, 40]))
def test_rows_without_keys_and_nans(n):
    """NaN where the single ops give NaN; infinities and NaN stay in their rows and columns."""
    check_rows_without_keys(n, TARGET, ROUNDED, 2 * ROUNDED)


def test_hidden_keys_are_not_read():
    graph, n = Graph(), 1300
    graph.attention("where", 2, "m", "n", 16, mask="where")
    compiled = legato.compile(legato.from_onnx(graph.model), TARGET)
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), providers=["CPUExecutionProvider"])
    for m, first, end in ((1, 0, 700), (40, 300, 1300), (40, 1299, 1300), (70, 5, 33)):
        arrays = graph.arrays({"m": m, "n": n}, kept=1)
        arrays["where_where"][:] = (np.arange(n) >= first) & (np.arange(n) < end)
        expected = np.asarray(session.run(None, arrays)[0])
        for name in ("where_k", "where_v"):
            arrays[name][:, :, :first // 16 * 16] = arrays[name][:, :, end + 16:] = np.nan
        np.testing.assert_allclose(np.asarray(compiled(*arrays.values())), expected, atol=ROUNDED, err_msg=f"{m} {first} {end}")


def test_grouped_heads_and_zeros_for_nan():
    graph = Graph()
    graph.attention("grouped", 8, 20, 70, 16, group=4, mask="queries")
    graph.attention("transposed", 8, 20, 70, 16, group=4, mask="queries", layout="bshd", last=True)
    graph.attention("guarded", 2, 40, 1300, 16, mask="where", guard=True)
    check(graph, TARGET, tolerance=ROUNDED)
    check(graph, TARGET, tolerance=ROUNDED, kept=0.0)


def test_models_of_bf16_use_matrices_by_themselves():
    """onnxruntime has no matmul of bf16: in f32, of the same numbers."""
    graph, wide = Graph(ml_dtypes.bfloat16), Graph()
    for one in (graph, wide):
        one.attention("keys", 3, 20, 70, 32, mask="keys", layout="bshd", last=True)
        one.attention("scaled", 3, 40, 70, 20, scale="query")
    arrays = graph.arrays()
    session = onnxruntime.InferenceSession(wide.model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {name: array.astype(np.float32) for name, array in arrays.items()})
    assert count_products(graph, "llvm") == 2 * 2 and count_products(wide, "llvm") == 0
    for found, wanted in zip(legato.compile(legato.from_onnx(graph.model))(*arrays.values()), expected, strict=True):
        assert np.abs(np.asarray(found).astype(np.float32) - np.asarray(wanted)).max() < ROUNDED
