"""Sizes whose bytes do not fit 64 bits: an error that names the op, at compile time or at the call, never a wrapped number."""
import ctypes
import math

import numpy as np
import pytest
import tvm_ffi
from onnx import helper
from onnx_check import model, value
from thoroughly import first_of

import legato

LIMIT = 2**56   # bytes
SHAPE_AT = 48   # of the pointer to the shape in a tvm-ffi Tensor: 24 bytes of header, then a DLTensor
STATIC = [2**31 + 1, 2**32, 2**54, 2**54 + 1, 2**61 - 1, 2**61, 2**62, 2**63 - 1]


def import_(nodes, inputs, constants, outputs=("y",)):
    given = [value(name, np.zeros(0, dtype), shape) for name, (dtype, shape) in inputs.items()]
    return legato.from_onnx(model(nodes, given, outputs, constants=constants))


def expand(sizes):
    return import_([helper.make_node("Expand", ["x", "s"], ["big"]), helper.make_node("Exp", ["big"], ["y"])], {"x": ("float32", [1])},
                   {"s": np.array(sizes)})


@pytest.mark.parametrize("sizes", [*([size] for size in STATIC), *([size, size] for size in STATIC), [2**40, 2**40, 0], [2**32, 2, 2**30]])
def test_static_sizes(sizes):
    if 4 * math.prod(max(1, size) for size in sizes) <= LIMIT:
        expand(sizes)
        return
    with pytest.raises(legato.LegatoError, match=r"big \(Expand, opset 20\): its result would be a tensor of \[.*more than the 2\*\*56"):
        expand(sizes)


def test_static_sizes_of_other_ops():
    text = """
func.func @main(%x: tensor<{0}x3xf32> {{relax.name = "x"}}, %y: tensor<3x{0}xf32> {{relax.name = "y"}}) -> tensor<{0}x{0}xf32> {{
  %0 = "relax.matmul"(%x, %y) : (tensor<{0}x3xf32>, tensor<3x{0}xf32>) -> tensor<{0}x{0}xf32> loc("scores")
  return %0 : tensor<{0}x{0}xf32> }}"""
    legato.Module.parse(text.format(2**27))
    with pytest.raises(legato.LegatoError, match=r"its result would be a tensor of .*4294967296, 4294967296"):
        legato.Module.parse(text.format(2**32))
    two = """
func.func @main(%x: tensor<{0}xf32> {{relax.name = "x"}}) -> tensor<{1}xf32> {{
  %0 = tensor.concat dim(0) %x, %x : (tensor<{0}xf32>, tensor<{0}xf32>) -> tensor<{1}xf32> loc("twice")
  return %0 : tensor<{1}xf32> }}"""
    with pytest.raises(legato.LegatoError, match=r"more than the 2\*\*56 bytes"):
        legato.compile(legato.Module.parse(two.format(2**54, 2**55)))


def test_the_sum_of_buffers():
    """No buffer is too large, their sum is."""
    nodes, total = [], None
    for i in range(8):
        nodes.append(helper.make_node("CumSum", ["x", "axis"] if i == 0 else [f"c{i - 1}", "axis"], [f"c{i}"]))
    for i in range(8):
        nodes.append(helper.make_node("Add", [f"c{i}", total], [f"t{i}"]) if total else helper.make_node("Exp", ["c0"], ["t0"]))
        total = f"t{i}"
    nodes.append(helper.make_node("CumSum", [total, "axis"], ["y"], reverse=1))
    with pytest.raises(legato.LegatoError, match=r"the memory for the buffers of one call would have \d+ bytes, more than the 2\*\*56"):
        legato.compile(import_(nodes, {"x": ("float32", [2**53])}, {"axis": np.array(0)}))


def outer_sum(count, reduced):
    """[n] -> [n] * count, summed up again if ``reduced``, so that no tensor of that size lies in memory."""
    nodes, constants, total = [], {}, None
    for i in range(count):
        constants[f"a{i}"] = np.array([axis for axis in range(count) if axis != i])
        nodes.append(helper.make_node("Unsqueeze", ["x", f"a{i}"], [f"u{i}"]))
        nodes += [helper.make_node("Add", [total, f"u{i}"], [f"s{i}"])] if total else []
        total = f"s{i}" if total else f"u{i}"
    nodes.append(helper.make_node("ReduceSum", [total], ["y"], keepdims=0) if reduced else helper.make_node("Exp", [total], ["y"]))
    return import_(nodes, {"x": ("float32", ["n"])}, constants)


@pytest.mark.parametrize("reduced", first_of([True, False]))
@pytest.mark.parametrize("count, sizes", [(3, (2**20, 2**22)), (6, (4096, 645, 10321)), (8, (256, 257, 1 << 10))])
def test_symbolic_sizes(count, sizes, reduced):
    """Before anything runs, also where the product wraps to a small number or to 0, and where the tensor would not lie in memory."""
    executable = legato.compile(outer_sum(count, reduced))
    small = executable(np.ones(2, np.float32))
    np.testing.assert_allclose(small, np.full((2,) * count, np.exp(np.float32(count))) if not reduced else count * 2**count, rtol=1e-5)
    assert executable(np.ones(0, np.float32)).size == reduced
    for n in sizes:
        with pytest.raises(ValueError, match=rf'relax.add "s{count - 1}" makes a tensor of \[n{", n" * (count - 1)}\] f32, more than 2'):
            executable(np.ones(n, np.float32))


def test_two_symbols_and_their_products():
    """The element count n * m * 2**20, whose factors are each harmless; the sizes as values wrap as ONNX's int64 does."""
    nodes = [helper.make_node("Tile", ["x", "r"], ["t"]), helper.make_node("Add", ["t", "y"], ["s"]),
             helper.make_node("ReduceSum", ["s"], ["z"], keepdims=0), helper.make_node("Size", ["s"], ["count"])]
    executable = legato.compile(import_(nodes, {"x": ("float32", ["n"]), "y": ("float32", ["m", 1])}, {"r": np.array([2**20])},
                                        ["z", "count"]))
    z, count = executable(np.ones(1, np.float32), np.ones((2, 1), np.float32))
    assert (z, count) == (2**22, 2**21)
    for n, m in ((2**17, 2**18), (2**22, 2**22), (2**20, 2**20 + 1)):
        with pytest.raises(ValueError, match=r'relax.add "s" makes a tensor of \[m, n \* 1048576\] f32, more than 2\*\*56 bytes'):
            executable(np.ones(n, np.float32), np.ones((m, 1), np.float32))


def test_sizes_that_data_determine():
    """The count of a NonZero is known in the middle of the call."""
    nodes = [helper.make_node("NonZero", ["x"], ["found"]), helper.make_node("Cast", ["found"], ["f"], to=1),
             helper.make_node("Transpose", ["f"], ["g"]), helper.make_node("Tile", ["f", "r"], ["h"]),
             helper.make_node("Add", ["h", "g"], ["s"]), helper.make_node("Exp", ["s"], ["y"])]
    executable = legato.compile(import_(nodes, {"x": ("float32", ["n"])}, {"r": np.array([1, 2**20])}))
    assert executable(np.array([0, 0], np.float32)).shape == (0, 0)
    for n in (2**18, 2**21):    # 2**18 * 2**38 * 4 bytes, 2**21 * 2**41 * 4, which wraps to 0
        with pytest.raises(ValueError, match=r'relax.add "s" makes a tensor of \[.*more than 2\*\*56 bytes'):
            executable(np.ones(n, np.float32))


def test_a_view_of_more_elements_than_memory():
    """The element count of an input without strides wraps to 0; it is no tensor without elements."""
    executable = legato.compile(import_([helper.make_node("Add", ["x", "x"], ["y"])], {"x": ("float32", ["n", "m"])}, {}))
    tensor = tvm_ffi.from_dlpack(np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (2**30, 2**30), (0, 0)))
    shape = (ctypes.c_int64 * 2).from_address(ctypes.c_int64.from_address(tensor.__chandle__() + SHAPE_AT).value)
    assert list(shape) == [2**30, 2**30]
    shape[0] = shape[1] = 2**32
    with pytest.raises(ValueError, match="not contiguous"):
        executable.function(tensor)


def test_negative_sizes():
    for op, inputs, constants in (("Expand", ["x", "s"], {"s": np.array([-2])}), ("Tile", ["x", "s"], {"s": np.array([-1])}),
                                  ("Reshape", ["x", "s"], {"s": np.array([-2**63])}), ("Pad", ["x", "s"], {"s": np.array([-9, -2**63])}),
                                  ("ConstantOfShape", ["s"], {"s": np.array([-3])})):
        with pytest.raises(legato.LegatoError, match=rf"y \({op}, opset 20\): "):
            import_([helper.make_node(op, inputs, ["y"])], {"x": ("float32", [4])}, constants)
    executable = legato.compile(import_([helper.make_node("Pad", ["x", "s"], ["y"])], {"x": ("float32", ["n"])}, {"s": np.array([-2, -1])}))
    np.testing.assert_array_equal(executable(np.arange(5, dtype=np.float32)), [2, 3])
    with pytest.raises(ValueError, match="needs n - 3 >= 0"):
        executable(np.ones(2, np.float32))


def test_calls_of_usual_sizes_are_not_checked_one_by_one():
    """Tensors linear in an input's bytes need no check; a small symbol passes all checks at once."""
    module = import_([helper.make_node("Tile", ["x", "r"], ["y"])], {"x": ("float32", ["n"])}, {"r": np.array([200])})
    assert "relax.bytes" not in str(legato.Pipeline("relax-require-sizes").run(module))


def test_what_a_size_is_a_small_part_of():
    """A tensor without elements may have a size near 2**63, whose thousandth part is harmless: the sum that is divided would wrap."""
    nodes = [helper.make_node("Slice", ["x", "zero", "end", "one", "step"], ["s"]), helper.make_node("Exp", ["s"], ["y"])]
    constants = {"zero": np.array([0]), "end": np.array([2**63 - 1]), "one": np.array([1]), "step": np.array([1000])}
    executable = legato.compile(import_(nodes, {"x": ("float32", ["b", "n"])}, constants))
    assert executable(np.ones((2, 1001), np.float32)).shape == (2, 2)
    tensor = tvm_ffi.from_dlpack(np.empty((0, 4), np.float32))
    shape = (ctypes.c_int64 * 2).from_address(ctypes.c_int64.from_address(tensor.__chandle__() + SHAPE_AT).value)
    for size in (2**60, 2**63 - 1):
        shape[1] = size
        with pytest.raises(ValueError, match=r"whose sizes are computed from n \+ 999, more than 2\*\*56"):
            executable(tensor)


def test_quotients_of_quotients():
    """What a quotient is, not a bound of it, says whether a call is too large; what it divides must not wrap."""
    text = """
func.func @main(%x: tensor<?xf32, #relax.dims<["n"]>> {{relax.name = "x"}}) -> tensor<?xf32, #relax.dims<["{0}"]>> {{
  %0 = "relax.sum"(%x) {{axis = array<i64: 0>, keepdims = true}} : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<1xf32>
  %1 = "relax.broadcast_to"(%0) {{shape = #relax.dims<["{0}"]>}} : (tensor<1xf32>) -> tensor<?xf32, #relax.dims<["{0}"]>> loc("wide")
  return %1 : tensor<?xf32, #relax.dims<["{0}"]>> }}"""
    executable = legato.compile(legato.Module.parse(text.format("n * n * n * n // (n // 4) // n // (n // 5 + 1)")))
    for n in (5, 1000, 4097):
        assert executable(np.ones(n, np.float32)).shape == (n**4 // (n // 4) // n // (n // 5 + 1),)
    for n, message in ((3, "which needs n // 4 >= 1"), (2**15, ", whose sizes are computed from .*, more than"), (2**22, "more than 2")):
        with pytest.raises(ValueError, match=message):
            executable(np.ones(n, np.float32))


def test_the_division_that_has_no_result():
    """Symbols whose products wrap to -2**63 and to -1."""
    executable = legato.compile(legato.Module.parse("""
func.func @main(%x: tensor<?x0x?xf32, #relax.dims<["n", 0, "m"]>> {relax.name = "x"}, %y: tensor<?x0x?xf32, #relax.dims<["k", 0, "l"]>>
    {relax.name = "y"}, %z: tensor<1xf32> {relax.name = "z"}) -> tensor<?xf32, #relax.dims<["(n * m) // (k * l)"]>> {
  %0 = "relax.broadcast_to"(%z) {shape = #relax.dims<["(n * m) // (k * l)"]>} : (tensor<1xf32>)
    -> tensor<?xf32, #relax.dims<["(n * m) // (k * l)"]>>
  return %0 : tensor<?xf32, #relax.dims<["(n * m) // (k * l)"]>> }"""))
    one = np.ones(1, np.float32)
    assert executable(np.ones((7, 0, 5), np.float32), np.ones((3, 0, 2), np.float32), one).shape == (5,)
    sizes = [(2, 2**62), (3, (2**64 - 1) // 3)]
    with pytest.raises(ValueError, match=r"which needs k \* l >= 1"):
        executable(*(_shaped((n, 0, m)) for n, m in sizes), one)


def _shaped(sizes):
    """A tensor of any sizes, one of them 0, also those that numpy does not make."""
    tensor = tvm_ffi.from_dlpack(np.empty([0] * len(sizes), np.float32))
    shape = (ctypes.c_int64 * len(sizes)).from_address(ctypes.c_int64.from_address(tensor.__chandle__() + SHAPE_AT).value)
    shape[:] = sizes
    return tensor
