"""Symbolic axes with fewer elements than an op reads: computed as onnxruntime does, or refused before anything runs."""
import numpy as np
import pytest
from onnx import helper
from onnx_check import model, reference, value

import legato


def compiled(nodes, shape, constants):
    proto = model(nodes, [value("x", np.zeros(0, np.float32), shape)], ["y"], constants=constants)
    return proto, legato.compile(legato.from_onnx(proto))


def check(nodes, constants, fits, sizes=range(8)):
    """A call with n elements gives onnxruntime's result where ``fits(n)``, else a ValueError that names the op."""
    proto, executable = compiled(nodes, ["n"], constants)
    for n in sizes:
        x = np.arange(n, dtype=np.float32) + 1
        if not fits(n):
            with pytest.raises(ValueError, match=r"cannot run on inputs of these sizes: relax\.\w+ \"\w+\" .*>= "):
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
    kept, most = min(pads[0], 0), max(pads)
    needed = {"reflect": most + 1, "edge": 1, "wrap": most}[mode]
    check([helper.make_node("Pad", ["x", "p"], ["y"], mode=mode)], {"p": np.array(pads)}, lambda n: n + kept >= needed)


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
    check(nodes, constants, lambda n: n >= 3)
    nodes[1] = helper.make_node("GatherElements", ["t", "i"], ["y"])
    check(nodes, constants, lambda n: n >= 3)
