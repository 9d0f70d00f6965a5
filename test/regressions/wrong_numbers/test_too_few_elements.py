"""Symbolic axes with fewer elements than an op reads: computed as onnxruntime does, or refused before anything runs."""
import re

import numpy as np
import pytest
from onnx import helper
from onnx_check import model, reference, value
from thoroughly import first_of

import legato

REFUSAL = r"cannot run on inputs of these sizes: relax\.\w+ \"\w+\" .*>= "


def compiled(nodes, shape, constants):
    proto = model(nodes, [value("x", np.zeros(0, np.float32), shape)], ["y"], constants=constants)
    return proto, legato.compile(legato.from_onnx(proto))


def check(nodes, constants, fits, sizes=range(8), refusal=REFUSAL):
    """A call with n elements gives onnxruntime's result where ``fits(n)``, else a ValueError that names the op: ``refusal``."""
    proto, executable = compiled(nodes, ["n"], constants)
    for n in sizes:
        x = np.arange(n, dtype=np.float32) + 1
        if not fits(n):
            with pytest.raises(ValueError, match=refusal):
                executable(x)
            continue
        expected = reference(proto, {"x": x})[0]
        found = executable(x)
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("pads", [[1, 1], [3, 0], [0, 2], [-1, 2]])
@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_pads(mode, pads):
    """A reflection read memory around its input."""
    kept, needed = min(pads[0], 0), max(pads) + 1 if mode == "reflect" else 1
    check([helper.make_node("Pad", ["x", "p"], ["y"], mode=mode)], {"p": np.array(pads)}, lambda n: n + kept >= needed)


@pytest.mark.parametrize("pads", [[-2, 4], [4, -3], [-1, -1], [-2, 2]])
def test_pads_that_cut(pads):
    """The size of the result was checked, and not that of what is kept: -2 and 4 of one element wrote beyond memory."""
    cut = -sum(min(p, 0) for p in pads)
    check([helper.make_node("Pad", ["x", "p"], ["y"])], {"p": np.array(pads)}, lambda n: n >= cut)


@pytest.mark.parametrize("begin, end, step", [(2, 1, 2), (0, 1, 2), (1, 2, 3), (2, 1, 1), (-2, 2**62, 1), (0, -1, 1)])
def test_slices(begin, end, step):
    """Of an empty axis a slice that takes 1 of any other was given the size 1."""
    constants = {"b": np.array([begin]), "e": np.array([end]), "a": np.array([0]), "s": np.array([step])}
    proto, executable = compiled([helper.make_node("Slice", ["x", *constants], ["y"])], ["n"], constants)
    for n in range(5):
        x = np.arange(n, dtype=np.float32)
        try:
            found = executable(x)
        except ValueError as error:
            assert ">= " in str(error) and n < max(1, begin + 1)
        else:
            np.testing.assert_array_equal(found, reference(proto, {"x": x})[0])


def test_gathers():
    """A gather from an axis that became empty crashed."""
    constants = {"b": np.array([2]), "e": np.array([2**62]), "i": np.array([0, -1])}
    nodes = [helper.make_node("Slice", ["x", "b", "e"], ["t"]), helper.make_node("Gather", ["t", "i"], ["y"])]
    check(nodes, constants, lambda n: n >= 3, refusal="cannot run on these sizes: Gather 'y' needs .*, to hold its indices")
    nodes[1] = helper.make_node("GatherElements", ["t", "i"], ["y"])
    check(nodes, constants, lambda n: n >= 3)


def indexed(op, shapes):
    """A model of an op on symbolic shapes, and a call of both engines; None where onnxruntime refuses the sizes."""
    names, dtypes = ["x", "i", "u"][:len(shapes)], [np.float32, np.int64, np.float32]
    proto = model([helper.make_node(op, names, ["y"])],
                  [value(name, np.zeros(0, dtype), shape) for name, dtype, shape in zip(names, dtypes, shapes)], ["y"])
    executable = legato.compile(legato.from_onnx(proto))

    def call(*sizes):
        rng = np.random.default_rng(0)
        arrays = [np.zeros(s, d) if d == np.int64 else rng.standard_normal(s).astype(d) for s, d in zip(sizes, dtypes)]
        try:
            expected = reference(proto, dict(zip(names, arrays)))[0]
        except Exception:  # its exceptions have no common class
            expected = None
        return lambda: executable(*arrays), expected

    return call


@pytest.mark.parametrize(("op", "shapes", "fit", "beyond"), [
    ("Gather", (("n", 3), ("m",)), [((0, 3), (0,)), ((2, 3), (2,))], [((0, 3), (2,))]),
    ("Gather", ((0, 3), ("m",)), [((0, 3), (0,))], [((0, 3), (1,))]),
    ("GatherElements", (("n", "k"), ("m", "l")), [((0, 3), (0, 3)), ((2, 3), (4, 2)), ((2, 3), (4, 0))],
     [((0, 3), (2, 3)), ((2, 3), (2, 4))]),
    ("GatherND", (("n", "k"), ("m", 2)), [((0, 3), (0, 2)), ((2, 3), (2, 2))], [((0, 3), (2, 2)), ((2, 0), (2, 2))]),
    ("ScatterElements", (("n", "k"), ("m", "l"), ("m", "l")), [((0, 3), (0, 3), (0, 3)), ((2, 3), (1, 3), (1, 3))],
     [((0, 3), (2, 3), (2, 3)), ((2, 3), (1, 4), (1, 4))]),
    ("ScatterND", (("n", "k"), ("m", 1), ("m", "k")), [((0, 3), (0, 1), (0, 3)), ((2, 3), (1, 1), (1, 3))], [((0, 3), (2, 1), (2, 3))]),
])
def test_indices_into_axes_without_elements(op, shapes, fit, beyond):
    """A count of indices that only a call knows was not compared with the axis: gathers read beyond it, scatters wrote there."""
    call = indexed(op, shapes)
    for sizes in fit:
        run, expected = call(*sizes)
        np.testing.assert_array_equal(run(), expected)
    for sizes in beyond:
        run, expected = call(*sizes)
        assert expected is None
        with pytest.raises(ValueError, match=r"cannot run on inputs of these sizes: relax\.\w+ \"y\" needs \w+ >= "):
            run()


def test_indices_into_a_static_axis_without_elements():
    with pytest.raises(legato.LegatoError, match=r"y .*: axis 0 of operand 'x' has no elements, and there are 2 indices into it"):
        indexed("Gather", ((0,), (2,)))


FAR = 2**62


@pytest.mark.parametrize("start, end", [(-1, -FAR), (FAR, -(2**31)), (3, 0), (-1, 1), (-2, -FAR), (-3, -5), (-FAR, -FAR), (1, -2), (0, 3)])
@pytest.mark.parametrize("step", first_of([-2, -1, -3]))
def test_slices_backwards(start, end, step):
    """With a number of elements, static or not: ONNX clips a start before the axis to its first element, numpy to none."""
    constants = {"b": np.array([start]), "e": np.array([end]), "a": np.array([0]), "s": np.array([step])}
    nodes = [helper.make_node("Slice", ["x", *constants], ["y"])]
    proto, executable = compiled(nodes, ["n"], constants)
    for n in range(8):
        x = np.arange(n, dtype=np.float32)
        expected = reference(proto, {"x": x})[0]
        if n == 0 and (start, end) != (-1, -FAR):
            try:
                found = executable(x)
            except ValueError as error:
                assert re.search(r'strided_slice "y" .*needs .* (>=|<=) .*off by', str(error))
                continue
        else:
            found = executable(x)
        np.testing.assert_array_equal(found, expected)
    for n in (1, 4):
        x = np.arange(n, dtype=np.float32)
        static, executable = compiled(nodes, [n], constants)
        np.testing.assert_array_equal(executable(x), reference(static, {"x": x})[0])


@pytest.mark.parametrize("step", first_of([-1, -2]))
@pytest.mark.parametrize("start, end", [(0, -FAR), (-1, -FAR), (-2, -FAR), (-1, 1), (5, 2), (FAR, 1), (-9, -4)])
def test_slices_backwards_from_computed_places(start, end, step):
    """Starts and ends that hang on another axis: they are clipped as numbers are."""
    nodes = [helper.make_node("Shape", ["z"], ["m"]), helper.make_node("Add", ["m", "b"], ["from"]),
             helper.make_node("Neg", ["m"], ["back"]), helper.make_node("Add", ["back", "e"], ["to"]),
             helper.make_node("Slice", ["x", "from" if start < 0 or start == 5 else "b", "to" if end > 0 else "e", "a", "s"], ["y"])]
    constants = {"b": np.array([start]), "e": np.array([end]), "a": np.array([0]), "s": np.array([step])}
    proto = model(nodes, [value("x", np.zeros(0, np.float32), ["n"]), value("z", np.zeros(0, np.float32), ["m"])], ["y"],
                  constants=constants)
    executable = legato.compile(legato.from_onnx(proto))
    for n in (1, 2, 5, 8):
        for m in (0, 1, 2, 5, 9):
            x, z = np.arange(n, dtype=np.float32), np.zeros(m, np.float32)
            try:
                found = executable(x, z)
            except ValueError as error:     # the sign of a place is known only at a call
                assert ">= " in str(error) or "< " in str(error)
                continue
            np.testing.assert_array_equal(found, reference(proto, {"x": x, "z": z})[0], err_msg=f"{n, m}")
