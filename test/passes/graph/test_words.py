"""Integers of constant weights as panels of words: all forms of them beside a slow definition."""
from itertools import product

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.dialects.relax.ops.quantized import DTYPES, rows_per_word
from legato.passes.graph.functions import Constants, graph_ops, relax_functions
from legato.passes.graph.integers.blocks import block_weight
from legato.passes.graph.integers.quantized import Reader
from legato.passes.graph.integers.words import Unpacked, Whole

RNG = np.random.default_rng(0)


def words(integers: np.ndarray, blocks: int, width: int, bits: int) -> np.ndarray:
    """The panels of signed integers [rows, columns], by the definition of relax.matmul_quantized."""
    per, (rows, columns) = rows_per_word(bits), integers.shape
    words = -(-rows // per)
    panels = np.zeros((-(-columns // width), blocks, words // blocks, width), np.int64)
    for row, column in np.ndindex(rows, columns):
        block, word = divmod(row // per, words // blocks)
        value = int(integers[row, column])
        panels[column // width, block, word, column % width] |= (value if bits == 8 else (value & ((1 << bits) - 1)) << row % per * bits)
    return panels.astype(np.uint32).view(np.int32) if bits < 8 else panels.astype(np.int8)


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize(("bits", "form"), [*product((2, 4, 8), ("rows", "columns", "wide")), (2, "shared"), (4, "shared")])
def test_words(bits: int, form: str, order: bool) -> None:
    """Both orders in memory, several integers in a byte, and more than a byte each; with and without another order of rows."""
    rows, columns, width, blocks = 96, 37, 16, 3
    half = 1 << (bits - 1)
    integers = RNG.integers(0, 2 * half, (rows, columns))
    given = {"rows": integers.astype(np.uint8), "columns": integers.T.astype(np.uint8).copy().T, "wide": integers.astype(np.int16)}
    if form == "shared":
        per = 8 // bits
        packed = sum(integers.T[:, part::per] << bits * part for part in range(per)).astype(np.uint8)
        found = Unpacked(packed, bits)
        assert found.shape == integers.shape
    else:
        found = Whole(given[form])
    permuted = RNG.permutation(rows) if order else None
    wanted = words((integers if permuted is None else integers[permuted]) - half, blocks, width, bits)
    panels = np.zeros(wanted.shape, DTYPES[bits])
    found.write(panels, half, bits, permuted)
    np.testing.assert_array_equal(panels, wanted)


@pytest.mark.parametrize("form", ["rows", "columns", "shared"])
@pytest.mark.parametrize(("bits", "less"), [(2, 1), (4, 3), (4, 0)])
def test_words_of_other_zeros(bits: int, less: int, form: str) -> None:
    """What is subtracted is not half of the range, and the last word has fewer rows."""
    rows, columns = 12, 5
    integers = RNG.integers(0, 1 << (bits - 1), (rows, columns))
    if form == "shared":
        per = 8 // bits
        found = Unpacked(sum(integers.T[:, part::per] << bits * part for part in range(per)).astype(np.uint8), bits)
    else:
        found = Whole(integers.astype(np.int8) if form == "rows" else integers.T.astype(np.int8).copy().T)
    wanted = words(integers - less, 1, 16, bits)
    panels = np.zeros(wanted.shape, DTYPES[bits])
    found.write(panels, less, bits, None)
    np.testing.assert_array_equal(panels, wanted)


def test_unpacked_bytes_are_found() -> None:
    """The weight of a MatMulNBits is read as it lies in the file; a cut one, whose last block is not whole, is not."""
    for depth, kind in ((64, Unpacked), (60, Whole)):
        weight = helper.make_node("MatMulNBits", ["x", "q", "s"], ["y"], domain="com.microsoft", K=depth, N=24, bits=4, block_size=32)
        q, s = RNG.integers(0, 256, (24, 2, 16), dtype=np.uint8), RNG.random((24, 2), dtype=np.float32)
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, size]) for name, size in (("x", depth), ("y", 24)))
        graph = helper.make_graph([weight], "product", [x], [y], [numpy_helper.from_array(q, "q"), numpy_helper.from_array(s, "s")])
        module = legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("com.microsoft", 1)]))
        matmul = next(op for function in relax_functions(module) for op in graph_ops(function) if op.name == "relax.matmul")
        found = block_weight(matmul.operands[1], Reader(Constants(module)))
        assert found is not None and isinstance(found.integers, kind) and found.integers.shape == (depth, 24)
