"""What a call says when it is refused. Every message is made by the compiled code itself: other hosts than Python have them too."""
import ctypes
from typing import ClassVar

import numpy as np
import pytest
import tvm_ffi
from models import STATIC, SYMBOLIC, build, identity, numbers

from legato.codegen.emit_entry import emit_entry
from legato.codegen.jit import jit
from legato.core.errors import LegatoError, UnsupportedError
from legato.core.mlir import ir
from legato.dialects.module import Module

X = numbers(3, 8)


@pytest.fixture(scope="module")
def symbolic():
    return build(SYMBOLIC)


@pytest.fixture(scope="module")
def scaled():
    """One input with 2 n + 1 rows."""
    return build(identity("?x8x", "f32", '?x8xf32, #relax.dims<["n * 2 + 1", 8]>'))


def said(call, *args):
    with pytest.raises((TypeError, ValueError, MemoryError)) as caught:
        call(*args)
    return f"{type(caught.value).__name__}: {caught.value}"


def test_number_of_arguments(symbolic):
    signature = "main(x: float32[n, 8], mask: float32[n, 8])"
    assert said(symbolic) == f"TypeError: {signature} takes 2 arguments, but 0 given"
    assert said(symbolic, X, X, X) == f"TypeError: {signature} takes 2 arguments, but 3 given"


def test_number_of_many_arguments():
    """As a language model with a cache in each layer has them: its signature filled pages."""
    type_ = "memref<2xf32>"
    inputs = ", ".join(f'%x{number}: {type_} {{relax.name = "x{number}"}}' for number in range(40))
    text = f"func.func @main({inputs}) -> {type_} {{ return %x39 : {type_} }}"
    message = said(build(text), X)
    assert message.endswith("x7: float32[2], and 32 more) takes 40 arguments, but 1 given") and message.count("float32") == 8


@pytest.mark.parametrize("value, words", [
    (3, "an int"), (2.5, "a float"), (True, "a bool"), (None, "None"), ("text", "a str"), ("a longer text", "a str"),
    ([1.0, 2.0], "a list or tuple"), ({"x": 1}, "a dict"),
    (b"text", "a value of type bytes, which is neither a numpy array nor a tensor with DLPack,"),
    (print, "a value of type builtin_function_or_method, which is neither a numpy array nor a tensor with DLPack,")])
def test_not_a_tensor(symbolic, value, words):
    assert said(symbolic, X, value) == f"TypeError: main: argument 1 'mask' must be float32[n, 8], but {words} was given"


class Sparse:
    def __dlpack__(self, **options):
        raise RuntimeError("Cannot access data pointer\nframe #0: c10::Error::Error")

    def __dlpack_device__(self):
        return 1, 0


def test_a_tensor_without_memory(symbolic):
    assert said(symbolic, X, Sparse()) == (
        "TypeError: main: argument 1 'mask' must be float32[n, 8], but a Sparse whose memory DLPack does not give "
        "(Cannot access data pointer) was given")


def test_element_type(symbolic):
    for dtype in ("float64", "int32", "uint8", "bool", "float16"):
        assert said(symbolic, X.astype(dtype), X) == (
            f"TypeError: main: argument 0 'x' must be float32[n, 8], but {dtype}[3, 8] was given: the element type differs")


def test_rank(symbolic):
    assert said(symbolic, X[0], X) == (
        "ValueError: main: argument 0 'x' must be float32[n, 8], but float32[8] was given: the number of dimensions differs")
    assert said(symbolic, np.float32(1), X) == (
        "ValueError: main: argument 0 'x' must be float32[n, 8], but float32[] was given: the number of dimensions differs")
    many = np.zeros((1,) * 32, np.float32)
    assert said(symbolic, many, X).startswith("ValueError: main: argument 0 'x' must be float32[n, 8], but float32[1, 1, 1")


def test_a_size_that_is_known(symbolic):
    assert said(symbolic, X[:, :7].copy(), X) == (
        "ValueError: main: argument 0 'x' must be float32[n, 8], but float32[3, 7] was given: dimension 1 is 7, not 8")


def test_a_symbol_with_two_values(symbolic):
    assert said(symbolic, X, X[:2]) == (
        "ValueError: main: argument 1 'mask' must be float32[n, 8], but float32[2, 8] was given: dimension 0 is 2, but 'n' is 3 in 'x'")


def test_a_size_that_no_value_gives(scaled):
    assert scaled(X).shape == (3, 8) and scaled(X[:1]).shape == (1, 8)
    for n in (2, 0):
        assert said(scaled, X[:n]) == (
            f"ValueError: main: argument 0 'x' must be float32[n * 2 + 1, 8], but float32[{n}, 8] was given: "
            f"dimension 0 is {n}, which no value of 'n' gives")


def test_layout(symbolic):
    """Python makes numpy arrays ready, so the function itself is called."""
    assert said(symbolic.function, X, np.asfortranarray(X)) == (
        "ValueError: main: argument 1 'mask' must be float32[n, 8], but float32[3, 8] was given: it is not contiguous: pass a copy "
        "that is (of a torch tensor, x.contiguous())")
    odd = np.zeros(X.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(3, 8)
    assert said(symbolic.function, X, odd) == (
        "ValueError: main: argument 1 'mask' must be float32[n, 8], but float32[3, 8] was given: its data is not aligned to 4 bytes")
    one_row = np.zeros((1, 16), np.float32)[:, :8]   # contiguous: the stride of a single row does not matter
    assert symbolic(one_row, one_row)[0].shape == (1, 8)


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int), ("ndim", ctypes.c_int),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Foreign:
    """A tensor as another library might give it, made by hand: DLPack by a capsule."""

    alive: ClassVar[list] = []   # tracebacks hold tensors, and tensors read their deleter here

    def __init__(self, **fields):
        self.alive.append(self)
        self.shape = (ctypes.c_int64 * 2)(3, 8)
        self.managed = (ctypes.c_char * 64)()
        self.tensor = DLTensor.from_buffer(self.managed)
        given = {"data": X.ctypes.data, "device_type": 1, "ndim": 2, "code": 2, "bits": 32, "lanes": 1, "shape": self.shape, **fields}
        for name, value in given.items():
            setattr(self.tensor, name, value)

    def as_tensor(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return tvm_ffi.from_dlpack(new(ctypes.addressof(self.managed), b"dltensor", None))


def test_tensors_by_hand(symbolic):
    """No strides means contiguous; the byte offset counts; other devices, vectors and null data are refused."""
    plain, moved = Foreign(), Foreign(data=X.ctypes.data - 32, byte_offset=32)
    for foreign in (plain, moved):
        np.testing.assert_array_equal(np.from_dlpack(symbolic.function(foreign.as_tensor(), X)[1]), X)
    assert said(symbolic.function, Foreign(device_type=2).as_tensor(), X).endswith(
        "but float32[3, 8] was given: it is on a device of type 2, not on the CPU")
    assert said(symbolic.function, Foreign(data=None).as_tensor(), X).endswith("but float32[3, 8] was given: its data pointer is null")
    assert "but float32x4[3, 8] was given: the element type differs" in said(symbolic.function, Foreign(lanes=4).as_tensor(), X)


def test_no_memory(symbolic):
    """A size that no memory holds: an error, not a crash. The input has no elements, so it may have any number of rows."""
    exe = build(identity("0x?x", "f32", '0x?xf32, #relax.dims<[0, "n"]>').replace(
        "return %x", "%c1 = arith.constant 1 : index\n%n = memref.dim %x, %c1 : memref<0x?xf32>\n%y = memref.alloc(%n) : memref<64x?xf32>\n"
        "return %y").replace(": memref<0x?xf32>\n}", ": memref<64x?xf32>\n}").replace("-> memref<0x?", "-> memref<64x?").replace(
        "-> tensor<0x?xf32, #relax.dims<[0", "-> tensor<64x?xf32, #relax.dims<[64"))
    assert exe(np.zeros((0, 5), np.float32)).shape == (64, 5)
    assert said(exe, np.zeros((0, 1 << 50), np.float32)).startswith("MemoryError: no memory for this call")


def test_an_error_inside_main():
    """main returns a code other than 0 when something it calls has raised an error; the error is the caller's."""
    module = Module.parse("""
llvm.func @TVMFFIErrorSetRaisedFromCStr(!llvm.ptr, !llvm.ptr)
llvm.mlir.global private constant @kind("KeyError\\00")
llvm.mlir.global private constant @message("inside\\00")
llvm.func @main(%x: !llvm.ptr {relax.name = "x"}, %y: !llvm.ptr {tir.out}, %arena: !llvm.ptr {tir.arena}) -> i32
    attributes {relax.signature = (tensor<3x8xf32>) -> tensor<3x8xf32>} {
  %k = llvm.mlir.addressof @kind : !llvm.ptr
  %m = llvm.mlir.addressof @message : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%k, %m) : (!llvm.ptr, !llvm.ptr) -> ()
  %c = llvm.mlir.constant(-1 : i32) : i32
  llvm.return %c : i32
}
llvm.func @main_sizes(%symbols: !llvm.ptr, %sizes: !llvm.ptr) {
  %c = llvm.mlir.constant(dense<[64, 3, 8]> : vector<3xi64>) : vector<3xi64>
  llvm.store %c, %sizes {alignment = 8 : i64} : vector<3xi64>, !llvm.ptr
  llvm.return
}""")
    with module.context, ir.Location.unknown():
        emit_entry(module.module)
        exe = jit(module.module, {}, opt_level=0)
    for _ in range(3):
        with pytest.raises(KeyError, match="inside"):
            exe(X)


def test_names(symbolic):
    assert said(lambda: symbolic(X, nask=X)) == "TypeError: no input 'nask': the model has x, mask"
    assert said(lambda: symbolic(X, x=X)) == "TypeError: input 'x' is given twice, by position and by name"
    assert said(lambda: symbolic(mask=X)).startswith("TypeError: no value for the input x of main(x: float32[n, 8], mask")


def test_weights_that_do_not_fit():
    for weights, words in (({}, "no weight 'w'"), ({"w": numbers(4, 7)}, r"the weight 'w' is float32\[4, 7\].*reads float32\[4, 8\]")):
        with pytest.raises(LegatoError, match=words):
            build(STATIC, weights)


def test_a_function_that_no_library_has():
    text = STATIC.replace("%r = arith.addf %0, %1 : f32", "%r = func.call @nowhere(%0, %1) : (f32, f32) -> f32")
    with pytest.raises(LegatoError, match="calls 'nowhere', which no library has, in add: first load the library that defines it"):
        build("func.func private @nowhere(f32, f32) -> f32" + text, {"w": numbers(4, 8)})


def test_shapes_that_cannot_be_had():
    with pytest.raises(UnsupportedError, match=r"input 'x' has the size 'm \* n' in dimension 0: an input's size is"):
        build(identity("?x8x", "f32", '?x8xf32, #relax.dims<["n * m", 8]>'))
    text = """
func.func @main(%x: memref<4xi64> {relax.name = "x"}) -> memref<?xi64> {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<4xi64>
  %n = arith.index_cast %v : i64 to index
  %y = memref.alloc(%n) : memref<?xi64> loc("/Range_3")
  return %y : memref<?xi64> loc("return")
}"""
    with pytest.raises(UnsupportedError, match="depends on values that are computed at run time"):
        build(text)
