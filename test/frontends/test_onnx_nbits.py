"""Weights of few bits of com.microsoft, compiled, against onnxruntime: in products they stay in their bits."""
import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from contrib import check, model_of, tensor
from lowering import Lowering
from onnx import helper
from thoroughly import first_of, sampled, thorough

import legato
from legato.core import cpu
from legato.core.ir_helpers import find
from legato.targets.cpu.machine import Machine

RNG = np.random.default_rng(3)
TARGETS = ("llvm", "llvm{cpu=x86-64-v3}")
ROUNDS = Machine.host().has("avx2")


def products(rows: int, depth: int, columns: int, bits: int, block: int, zeros: str = "",
             dtype: type = np.float32) -> list[Any]:
    """A, B, scales and zero points of MatMulNBits."""
    blocks = -(-depth // block)
    a = RNG.standard_normal((rows, depth)).astype(dtype)
    b = RNG.integers(0, 256, (columns, blocks, block * bits // 8), dtype=np.uint8)
    scales = (RNG.random((columns, blocks)) * 0.2).astype(dtype)
    packed = RNG.integers(0, 256, (columns, -(-blocks * bits // 8)), dtype=np.uint8)
    zero = {"": None, "packed": packed, "float": (RNG.random((columns, blocks)) * 7).astype(dtype)}[zeros]
    return [a, b, scales, zero]


def attributes(inputs: list, bits: int, block: int) -> dict[str, int]:
    return {"K": inputs[0].shape[-1], "N": inputs[1].shape[0], "bits": bits, "block_size": block}


@pytest.mark.parametrize("target", first_of(TARGETS))
@pytest.mark.parametrize("bits, zeros", sampled(product([4, 8], ["", "packed", "float"]), 2, 2))
def test_matmul_nbits(bits, zeros, target):
    if bits == 8 and zeros == "float":
        pytest.skip("onnxruntime has no float zero points for 8 bits")
    for rows, depth, columns, block in ((1, 64, 64, 32), (1, 96, 70, 32), (3, 100, 33, 16), (9, 256, 130, 128), (30, 257, 17, 256)):
        inputs = products(rows, depth, columns, bits, block, zeros)
        check("MatMulNBits", inputs, [1, 2, 3], target=target, **attributes(inputs, bits, block))


@pytest.mark.parametrize("rows", sampled([1, 2, 33], 2))
def test_symbolic_rows(rows):
    inputs = products(rows, 96, 80, 4, 32, "packed")
    inputs[0] = RNG.standard_normal((2, rows, 96)).astype(np.float32)
    check("MatMulNBits", inputs, [1, 2, 3], symbolic=True, **attributes(inputs, 4, 32))
    check("MatMulNBits", [inputs[0][0], *inputs[1:]], [1, 2, 3], symbolic=True, **attributes(inputs, 4, 32))


def test_one_weight_at_a_time_is_in_more_bits():
    """While a model is imported and its weights are packed, which are twice as large in bytes."""
    count, inputs = 24, products(3, 1024, 2048, 4, 32)
    size = inputs[1].nbytes
    nodes = [helper.make_node("MatMulNBits", ["a", f"b{n}", "s"], [f"y{n}"], domain="com.microsoft", **attributes(inputs, 4, 32))
             for n in range(count)]
    constants = [tensor("s", inputs[2]), *(tensor(f"b{n}", inputs[1] ^ np.uint8(n)) for n in range(count))]
    outputs = [helper.make_tensor_value_info(f"y{n}", 1, [3, 2048]) for n in range(count)]
    graph = helper.make_graph(nodes, "products", [helper.make_tensor_value_info("a", 1, [3, 1024])], outputs, constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    imported = legato.from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=10))
    assert sum(array.nbytes for array in imported.weights.values()) < (count + 1) * size
    tracemalloc.start()
    lowered = legato.lower(imported, "llvm", last="relax")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(find(lowered.operation, "relax.matmul_quantized")) == count
    assert peak < 2.5 * count * size     # packed, with scales, and one that is being packed


IN_BYTES = [(5, 64, 24, 32, ""), (3, 256, 10, 16, "packed"), (12, 104, 130, 128, "packed"), (7, 96, 64, 32, "float"),
            (1, 128, 100, 32, "packed")]
LEVELS = ["cpu=x86-64-v3", "cpu=x86-64-v4"]     # without instructions that sum products of four bytes


def dequantized(inputs: list, block: int, bits: int = 4) -> np.ndarray:
    """A weight of 4 or 8 bits, [depth of whole blocks, columns]."""
    _, packed, scales, zeros = inputs
    columns, blocks = scales.shape
    q = integers(packed, bits).reshape(columns, blocks, block)
    if zeros is None:
        zeros = np.full((columns, blocks), 2.0 ** (bits - 1))
    elif zeros.dtype == np.uint8:
        zeros = integers(zeros, bits)[:, :blocks]
    return ((q - zeros[..., None].astype(np.float64)) * scales[..., None]).reshape(columns, -1).T


def integers(packed: np.ndarray, bits: int) -> np.ndarray:
    return ((packed[..., None] >> np.arange(0, 8, bits, dtype=np.uint8)) & (2**bits - 1)).reshape(len(packed), -1).astype(np.float64)


def in_bytes(inputs: list, block: int, bits: int = 4) -> np.ndarray:
    """The product of rows that are rounded to bytes, by the greatest of each block, which is 127."""
    weight = dequantized(inputs, block, bits)
    x = np.pad(inputs[0], ((0, 0), (0, len(weight) - inputs[0].shape[1]))).reshape(len(inputs[0]), -1, block)
    scale = np.abs(x).max(-1, keepdims=True) / 127
    return ((np.rint(x / np.where(scale == 0, 1, scale)) * scale).reshape(len(x), -1) @ weight).astype(np.float32)


@pytest.mark.parametrize("bits, options, symbolic", [
    (4, "threads=2", True), (8, "threads=2", True), *((8, level, False) for level in LEVELS), (4, LEVELS[0], False),
    *thorough([(4, LEVELS[1], True), (8, LEVELS[1], True), (4, "threads=1", False), (8, "threads=1", False)], 3)])
def test_accuracy_level_of_bytes(bits, options, symbolic):
    """Rows are bytes, as onnxruntime has them, where the model says that these suffice and the CPU multiplies bytes."""
    target = f"llvm{{{options}}}"
    if options in LEVELS and cpu.missing_features(options.removeprefix("cpu="), ""):
        pytest.skip("this CPU has no such instructions")
    for rows, depth, columns, block, zeros in IN_BYTES:
        if bits == 8 and zeros == "float":
            continue    # onnxruntime has none
        inputs = products(rows, depth, columns, bits, block, zeros)
        inputs[0][0], inputs[1][0], inputs[1][1] = -1, 0, 255   # sums of the greatest products
        check("MatMulNBits", inputs, [1, 2, 3], expected=[in_bytes(inputs, block, bits)] if ROUNDS else None, symbolic=symbolic,
              accuracy_level=4, target=target, **attributes(inputs, bits, block))


def test_rows_that_bytes_do_not_hold():
    """NaN, infinities and tiny numbers leave the product to f32; zeros are zeros."""
    inputs = products(6, 64, 48, 4, 32, "packed")
    inputs[0][2] = 0
    wanted = in_bytes(inputs, 32) if ROUNDS else (inputs[0] @ dequantized(inputs, 32)).astype(np.float32)
    check("MatMulNBits", inputs, [1, 2, 3], accuracy_level=4, expected=[wanted], **attributes(inputs, 4, 32))
    for value in (np.nan, np.inf, 1e-35):
        inputs[0][1] = value
        with np.errstate(invalid="ignore"):
            exact = (inputs[0].astype(np.float64) @ dequantized(inputs, 32)).astype(np.float32)
        check("MatMulNBits", inputs, [1, 2, 3], accuracy_level=4, expected=[exact], **attributes(inputs, 4, 32))


def test_shuffled_groups_and_bias():
    inputs = products(5, 128, 48, 4, 32, "packed")
    groups = RNG.permutation(np.arange(128) // 32).astype(np.int32)
    bias = RNG.standard_normal(48).astype(np.float32)
    uneven = np.array([0] * 100 + [1] * 28, np.int32)
    for which in (groups, uneven):
        check("MatMulNBits", [*inputs[:3], None, which], [1, 2, 4], **attributes(inputs, 4, 32))
        # with zero points by its formula: onnxruntime reads others even where g_idx is that of no g_idx
        q, z = (((packed[..., None] >> np.array([0, 4], np.uint8)) & 15).reshape(48, -1).astype(np.float32) for packed in inputs[1::2])
        expected = inputs[0] @ ((q - z[:, which]) * inputs[2][:, which]).T
        check("MatMulNBits", [*inputs, which], [1, 2, 3, 4], expected=[expected], **attributes(inputs, 4, 32))
    check("MatMulNBits", [*inputs, None, bias], [1, 2, 3, 5], **attributes(inputs, 4, 32))


def test_weights_of_run_time():
    for bits in (4, 8):
        inputs = products(5, 100, 20, bits, 32, "packed")
        check("MatMulNBits", inputs, [], **attributes(inputs, bits, 32))


def test_halves():
    inputs = products(5, 64, 32, 4, 32, "packed", np.float16)
    check("MatMulNBits", inputs, [1, 2, 3], tolerance=2e-3, **attributes(inputs, 4, 32))


def test_two_bits_by_its_formula():
    """onnxruntime has no kernel for 2 bits."""
    a, b, scales, zeros = products(4, 80, 20, 2, 16, "packed")
    q = ((b[..., None] >> np.arange(0, 8, 2, dtype=np.uint8)) & 3).reshape(20, 80).astype(np.float32)
    z = ((zeros[..., None] >> np.arange(0, 8, 2, dtype=np.uint8)) & 3).reshape(20, -1)[:, :5].astype(np.float32)
    w = (q - z.repeat(16, 1)) * scales.repeat(16, 1)
    check("MatMulNBits", [a, b, scales, zeros], [1, 2, 3], expected=[a @ w.T], **attributes([a, b], 2, 16))


@pytest.mark.parametrize("kind", first_of(["uint4", "int8", "uint8", "int4"]))
def test_dequantized_blocks(kind):
    """DequantizeLinear along the rows, as exports of AWQ and GPTQ have it, and per column."""
    import ml_dtypes
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    low, high = {"uint8": (0, 256), "int8": (-128, 128), "uint4": (0, 16), "int4": (-8, 8)}[kind]
    for scale_shape, attrs in (((3, 40), {"axis": 0, "block_size": 32}), ((40,), {"axis": 1}), ((), {})):
        q = RNG.integers(low, high, (96, 40)).astype(dtype)
        scale = (RNG.random(scale_shape) + 0.1).astype(np.float32)
        for zero in (None, RNG.integers(low, high, scale_shape).astype(dtype)):
            check_product(q, scale, zero, attrs)


def test_one_scale_for_many_rows():
    """Rows that share a scale are cut into blocks, whose sizes divide their number or do not."""
    for depth in (2 * 688, 1375, 4096):
        check_product(RNG.integers(-128, 128, (depth, 20)).astype(np.int8), (RNG.random(20) + 0.1).astype(np.float32), None, {"axis": 1})
        check_product(RNG.integers(-8, 8, (depth, 20)).astype(np.int8), np.float32(0.3), None, {})


def check_product(q: np.ndarray, scale: np.ndarray, zero: np.ndarray | None, attrs: dict) -> None:
    """A product by a dequantized weight keeps it in its bits."""
    x = RNG.standard_normal((3, q.shape[0])).astype(np.float32)
    model = model_of("DequantizeLinear", [q, scale, zero], [0, 1, 2], ["w"], False, "", **attrs)
    model.graph.node.append(helper.make_node("MatMul", ["x", "w"], ["y"]))
    model.graph.input.append(helper.make_tensor_value_info("x", 1, ["n", q.shape[0]]))
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("y", 1, [None, None]))
    block, wide = attrs.get("block_size", q.shape[0]), q.astype(np.float32)

    def rows(array: np.ndarray) -> np.ndarray:
        return array.astype(np.float32).repeat(block, 0) if array.ndim == 2 else array.astype(np.float32)

    expected = x @ ((wide - (0 if zero is None else rows(zero))) * rows(scale))
    lowering = Lowering(legato.from_onnx(model))
    assert find(lowering.at("relax").module.operation, "relax.matmul_quantized")
    np.testing.assert_allclose(np.asarray(lowering.executable(x)), expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("bits", [4, 8])
def test_gather(bits):
    for zeros in (False, True):
        data = RNG.integers(0, 256, (30, 64 * bits // 8), dtype=np.uint8)
        scales = (RNG.random((30, 4)) + 0.1).astype(np.float32)
        zero = RNG.integers(0, 256, (30, 4 * bits // 8), dtype=np.uint8) if zeros else None
        check("GatherBlockQuantized", [data, np.array([[3, 29], [0, 7]], np.int64), scales, zero], [0, 2, 3], gather_axis=0,
              quantize_axis=1, block_size=16, bits=bits)


@pytest.mark.parametrize("kind", first_of(["int4", "uint4", "int2"]))
def test_gathers_from_dequantized_tables(kind):
    """Rows are gathered before they are dequantized, and the table stays in its bits: in the file of a saved model, too."""
    import ml_dtypes
    dtype, (rows, columns) = np.dtype(getattr(ml_dtypes, kind)), (300, 64)
    limits = ml_dtypes.iinfo(dtype)
    q = RNG.integers(limits.min, limits.max + 1, (rows, columns)).astype(dtype)
    q.flat[:2] = limits.min, limits.max
    nodes, weights, wanted, most, indices = [], [], [], 0, np.array([[3, 299, 0], [0, -1, 7]])
    scales = (((rows, 4), {"axis": 1, "block_size": 16}), ((rows,), {"axis": 0}), ((columns,), {"axis": 1}), ((), {}))
    for n, (shape, attrs) in enumerate(scales):
        scale, zero = (RNG.random(shape) + 0.1).astype(np.float32), RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)
        weights += [tensor(f"{name}{n}", array) for name, array in (("q", q), ("s", scale), ("z", zero))]
        nodes += [helper.make_node("DequantizeLinear", [f"q{n}", f"s{n}", f"z{n}"], [f"w{n}"], **attrs),
                  helper.make_node("Gather", [f"w{n}", "x"], [f"y{n}"])]
        most += q.size * limits.bits // 8 + 5 * scale.size
        zero, scale = (one.repeat(16, 1) if len(shape) == 2 else one[:, None] if shape == (rows,) else one
                       for one in (zero.astype(np.float32), scale))
        wanted.append(((q.astype(np.float32) - zero) * scale)[indices])
    outputs = [helper.make_tensor_value_info(f"y{n}", 1, [None] * 3) for n in range(len(wanted))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 7, ["a", "b"])], outputs, weights)
    lowering = Lowering(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)))
    kept = lowering.at("relax").weights
    assert sum(kept[key].nbytes for key in kept) <= most
    for found, expected in zip(lowering.executable(indices), wanted, strict=True):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


def test_gather_of_four_bits():
    """Of int4, which onnxruntime takes only along the first axis, and of a table of three axes along its second."""
    import ml_dtypes
    q = RNG.integers(-8, 8, (40, 500)).astype(ml_dtypes.int4)
    check("GatherBlockQuantized", [np.pad(q, ((0, 0), (0, 12))), np.array([3, 29], np.int64), RNG.random((40, 32)).astype(np.float32)],
          [0, 2], gather_axis=0, quantize_axis=1, block_size=16)
    q = RNG.integers(-8, 8, (6, 4096)).astype(ml_dtypes.int4)    # many blocks of many vectors
    check("GatherBlockQuantized", [q, np.array([3, 5], np.int64), RNG.random((6, 32)).astype(np.float32)],
          [0, 2], gather_axis=0, quantize_axis=1, block_size=128)
    wide = RNG.integers(0, 4, (4, 300, 32), np.uint8)
    graph = helper.make_graph([helper.make_node("Gather", ["q", "x"], ["y"], axis=1)], "g", [helper.make_tensor_value_info("x", 7, ["n"])],
                              [helper.make_tensor_value_info("y", 2, [None] * 3)], [tensor("q", wide)])
    lowering = Lowering(legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)))
    kept = lowering.at("relax").weights
    assert sum(kept[key].nbytes for key in kept) == wide.size // 4
    np.testing.assert_array_equal(np.asarray(lowering.executable(np.array([5, 299, -300]))), wide[:, [5, 299, 0]])


@pytest.mark.parametrize("table", first_of([0, 1]))
@pytest.mark.parametrize("symbolic", first_of([True, False]))
def test_tables_of_bitsandbytes(symbolic, table):
    for depth, columns, block in ((32, 6, 16), (20, 5, 16), (33, 3, 32)):
        count = depth * columns
        a, q = RNG.standard_normal((2, 3, depth)).astype(np.float32), RNG.integers(0, 256, (count + 1) // 2).astype(np.uint8)
        greatest = RNG.random(-(-count // block)).astype(np.float32)
        for kept in ([1, 2], []):
            check("MatMulBnb4", [a, q, greatest], kept, symbolic=symbolic and bool(kept), K=depth, N=columns, block_size=block,
                  quant_type=table)
