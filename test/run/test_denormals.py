"""llvm{flush-denormals=true}: denormal numbers are zeros while a call runs, against onnxruntime's session.set_denormal_as_zero."""
import io
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import legato
from legato import tir as T

TINY = np.float32(2.0**-140)       # a denormal number
SMALL = np.float32(2.0**-100)      # a normal one, whose square is below the denormal ones
ROWS, COLUMNS = 700, 512           # enough for threads


def model() -> ModelProto:
    """x + y, x * y, and the sums of rows of y."""
    nodes = [helper.make_node("Add", ["x", "y"], ["sum"]), helper.make_node("Mul", ["x", "y"], ["product"]),
             helper.make_node("ReduceSum", ["y", "axes"], ["total"])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, COLUMNS]) for name in ("x", "y")]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("sum", "product", "total")]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [helper.make_tensor("axes", TensorProto.INT64, [1], [1])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def operands() -> tuple[np.ndarray, np.ndarray]:
    """In x denormal numbers, small ones and others; in y those that make them vanish."""
    x = np.resize(np.array([TINY, SMALL, -TINY, 3, -SMALL, 0, np.inf, np.nan], np.float32), (ROWS, COLUMNS))
    y = np.resize(np.array([TINY, SMALL * 2.0**-30, TINY, TINY, 1], np.float32), (ROWS, COLUMNS))
    return x, y


# of a process, the first session decides
PEER = """
import io, sys
import numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.add_session_config_entry("session.set_denormal_as_zero", "1")
given = dict(numpy.load(io.BytesIO(sys.stdin.buffer.read())))
session = onnxruntime.InferenceSession(given.pop("model").tobytes(), options, providers=["CPUExecutionProvider"])
made = io.BytesIO()
numpy.savez(made, *session.run(None, given))
sys.stdout.buffer.write(made.getvalue())
"""


@cache
def flushed() -> list[np.ndarray]:
    """onnxruntime's results with the same option."""
    given = io.BytesIO()
    x, y = operands()
    np.savez(given, model=np.frombuffer(model().SerializeToString(), np.uint8), x=x, y=y)
    done = subprocess.run([sys.executable, "-c", PEER], input=given.getvalue(), capture_output=True, check=True)
    return list(np.load(io.BytesIO(done.stdout)).values())


def computes_denormals() -> bool:
    """Whether this thread does: by the bits, since comparisons may take denormal numbers for zeros, too."""
    return (np.full(1, TINY) * np.float32(0.5)).view(np.int32)[0] == 1 << 8


def arrays(results) -> list[np.ndarray]:
    return [np.from_dlpack(result) for result in results]


@pytest.mark.parametrize("threads", [1, 3])
def test_as_onnxruntime(threads, tmp_path):
    """Compiled and saved; the caller computes with denormal numbers afterwards as before."""
    x, y = operands()
    expected = flushed()
    exact = x + y
    assert (exact == 2 * TINY).any() and (expected[0][exact == 2 * TINY] == 0).all()
    executable = legato.compile(legato.from_onnx(model()), f"llvm{{flush-denormals=true threads={threads}}}")
    executable.save(tmp_path / "model.legato")
    for one in (executable, legato.load(tmp_path / "model.legato")):
        for found, wanted in zip(arrays(one(x, y)), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert computes_denormals()


@pytest.mark.parametrize("options", ["", "flush-denormals=false"])
def test_exact_without_it(options):
    x, y = operands()
    found = arrays(legato.compile(legato.from_onnx(model()), f"llvm{{threads=2 {options}}}")(x, y))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found[0], x + y)
        np.testing.assert_array_equal(found[1], x * y)
    assert not any(np.array_equal(a, b, equal_nan=True) for a, b in zip(found[:2], flushed()))


@T.prim_func
def picked(A: T.Buffer((4,), "float32"), I: T.Buffer((1,), "int64"), B: T.Buffer((1,), "float32")):
    for i in range(1):
        B[i] = A[I[i]]


def test_the_mode_comes_back_after_an_error():
    """A call that fails in the middle, at an index, leaves the thread as it was."""
    executable = legato.compile(picked, "llvm{flush-denormals=true check-bounds=true}")
    x = np.full(4, TINY, np.float32)
    with pytest.raises(IndexError, match="out of bounds"):
        executable(x, np.array([4]))
    assert computes_denormals()
    assert np.from_dlpack(executable(x, np.array([1])))[0] == TINY      # moved, not computed


def test_it_wants_true_or_false():
    with pytest.raises(legato.LegatoError, match="option 'flush-denormals' wants true or false, found '3'"):
        legato.compile(legato.from_onnx(model()), "llvm{flush-denormals=3}")
