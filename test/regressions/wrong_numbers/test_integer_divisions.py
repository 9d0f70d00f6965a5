"""Integer divisions in the part of a vector beyond the extent: its lanes hold no divisor, and a division there may end the process, or let
LLVM take any result for right."""
from itertools import product

import numpy as np
import onnx.helper as oh
import onnx.numpy_helper as nh
import pytest
from onnx import ModelProto, NodeProto
from thoroughly import sampled

import legato
from legato.script import tir as T

TYPES = [np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
EXTENTS = (1, 5, 13)


def model(nodes: list[NodeProto], dtype: np.dtype, inputs: dict[str, object], weights: dict[str, np.ndarray]) -> ModelProto:
    code = oh.np_dtype_to_tensor_dtype(dtype)
    graph = oh.make_graph(nodes, "g", [oh.make_tensor_value_info(name, code, [size]) for name, size in inputs.items()],
                          [oh.make_tensor_value_info("y", code, None)], [nh.from_array(array, name) for name, array in weights.items()])
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("dtype", sampled(TYPES, 4), ids=str)
def test_divisors_of_models(dtype):
    """Constants, and what is computed; static sizes, and one that a call gives. Quotients of C, remainders with the divisor's sign."""
    for extent, op in product(EXTENTS, ("Div", "Mod")):
        x, c = (np.arange(extent) + 13).astype(dtype), (np.arange(extent) % 4 + 2).astype(dtype)
        if dtype.kind == "i":
            x[::2], c[1::2] = -x[::2], -c[1::2]
        exact = np.array([int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x.tolist(), c.tolist())])
        wanted = (exact if op == "Div" else np.array([a % b for a, b in zip(x.tolist(), c.tolist())])).astype(dtype)
        constant = model([oh.make_node(op, ["x", "c"], ["y"])], dtype, {"x": extent}, {"c": c})
        computed = model([oh.make_node("Sub", ["c", "one"], ["d"]), oh.make_node(op, ["x", "d"], ["y"])], dtype,
                         {"x": "n" if extent == 13 else extent, "c": "n" if extent == 13 else extent}, {"one": np.ones((), dtype)})
        np.testing.assert_array_equal(legato.compile(legato.from_onnx(constant))(x), wanted, f"{op} by constants, {extent}")
        np.testing.assert_array_equal(legato.compile(legato.from_onnx(computed))(x, (c + dtype.type(1)).astype(dtype)), wanted,
                                      f"{op}, {extent}")


@T.prim_func
def remainders(A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "int32"), C: T.Buffer((5,), "int32")):
    for i in T.grid(5):
        with T.block("C"):
            v = T.axis.remap("S", [i])
            C[v] = T.truncmod(A[v], B[v])


@T.prim_func
def quotients(A: T.Buffer((13,), "uint64"), B: T.Buffer((13,), "uint64"), C: T.Buffer((13,), "uint64")):
    for i in T.grid(13):
        with T.block("C"):
            v = T.axis.remap("S", [i])
            C[v] = T.truncdiv(A[v], B[v] - T.uint64(1))


def test_divisors_of_kernels():
    """Kernels that leave out what would guard a division by 0, as no element divides by it."""
    a, b = np.arange(5, dtype=np.int32) + 20, np.arange(5, dtype=np.int32) + 2
    np.testing.assert_array_equal(legato.compile(remainders)(a, b), a % b)
    c, d = np.arange(13, dtype=np.uint64) * 7919 + 3, np.arange(13, dtype=np.uint64) + 2
    np.testing.assert_array_equal(legato.compile(quotients)(c, d), c // (d - 1))
