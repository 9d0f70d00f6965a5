"""Recurrent layers on several threads: rows of a batch, and directions, are loops that run side by side."""
import numpy as np
import pytest
from onnx import helper
from onnx_check import assert_same, model, reference, value

import legato
from legato.core.ir_helpers import find
from legato.dialects.module import Module

RNG = np.random.default_rng(0)
STEPS, WIDTH, HIDDEN = 9, 16, 64
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def floats(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / 8).astype(np.float32)


def layer(op: str, batch: int, directions: int, lengths: list[int] | None = None, states: bool = False):
    """A layer with all its results, and its inputs."""
    gates = GATES[op]
    constants = {"w": floats(directions, gates * HIDDEN, WIDTH), "r": floats(directions, gates * HIDDEN, HIDDEN),
                 "b": floats(directions, 2 * gates * HIDDEN)}
    arrays = {"x": floats(STEPS, batch, WIDTH)}
    names = ["x", "w", "r", "b", "", ""]
    if lengths is not None:
        arrays["lengths"], names[4] = np.array(lengths, np.int32), "lengths"
    if states:
        arrays["h"], names[5] = floats(directions, batch, HIDDEN), "h"
    outputs = ["y", "y_h", "y_c"][: 3 if op == "LSTM" else 2]
    node = helper.make_node(op, names, outputs, hidden_size=HIDDEN, direction="bidirectional" if directions == 2 else "forward")
    return model([node], [value(name, array) for name, array in arrays.items()], outputs, 14, constants), arrays


def side_by_side(module: Module, target: str) -> int:
    """The loops that threads run, each as a whole."""
    lowered = legato.lower(module, target, last="bufferized")
    return sum(len(op.regions) for op in find(lowered.function("main").operation, "scf.index_switch"))


@pytest.mark.parametrize(("op", "batch", "directions", "threads", "loops"), [
    ("LSTM", 7, 1, 2, 2),       # three rows, and four
    ("LSTM", 8, 2, 2, 2),       # a direction each
    ("GRU", 9, 2, 3, 6),        # three threads share two directions: three rows of each
    ("RNN", 64, 1, 2, 2),
    ("LSTM", 1, 1, 2, 0),       # one row of one direction
])
def test_rows_and_directions(op, batch, directions, threads, loops):
    proto, arrays = layer(op, batch, directions)
    module, target = legato.from_onnx(proto), f"llvm{{threads={threads}}}"
    assert side_by_side(module, target) == loops
    exe = legato.compile(module, target)
    for _ in range(3):
        assert_same(exe(**arrays), reference(proto, arrays))


@pytest.mark.parametrize(("op", "directions"), [("LSTM", 2), ("GRU", 1)])
def test_free_lengths(op, directions):
    proto, arrays = layer(op, 32, directions)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "length"
    module = legato.from_onnx(proto)
    assert side_by_side(module, "llvm{threads=2}") == 2
    exe = legato.compile(module, "llvm{threads=2}")
    for length in (9, 1, 5):
        shorter = {"x": arrays["x"][:length]}
        assert_same(exe(**shorter), reference(proto, shorter))


@pytest.mark.parametrize(("op", "directions", "threads", "loops"), [("GRU", 1, 2, 2), ("LSTM", 2, 4, 4)])
def test_free_batches(op, directions, threads, loops):
    """From so many rows on as pay, each part of them is a loop."""
    proto, arrays = layer(op, 33, directions, lengths=[1 + number % STEPS for number in range(33)], states=True)
    for given, axis in zip(proto.graph.input, (1, 0, 1), strict=True):
        given.type.tensor_type.shape.dim[axis].dim_param = "batch"
    module, target = legato.from_onnx(proto), f"llvm{{threads={threads}}}"
    assert side_by_side(module, target) == loops
    exe = legato.compile(module, target)
    for rows in (33, 1, 2, 7):
        fewer = {name: array[:rows] if name == "lengths" else array[:, :rows] for name, array in arrays.items()}
        assert_same(exe(**fewer), reference(proto, fewer))
    exe(**{name: array[:0] if name == "lengths" else array[:, :0] for name, array in arrays.items()})


def test_lengths_and_states():
    proto, arrays = layer("LSTM", 6, 2, lengths=[9, 2, 4, 5, 9, 1], states=True)
    module = legato.from_onnx(proto)
    assert side_by_side(module, "llvm{threads=4}") == 4
    assert_same(legato.compile(module, "llvm{threads=4}")(**arrays), reference(proto, arrays))


def test_one_thread_computes_the_same():
    proto, arrays = layer("LSTM", 8, 2)
    module = legato.from_onnx(proto)
    one, two = (legato.compile(module, target)(**arrays) for target in ("llvm", "llvm{threads=2}"))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_kernels_of_such_loops_are_for_one_thread():
    proto, _ = layer("LSTM", 256, 1)
    lowered = legato.lower(legato.from_onnx(proto), "llvm{threads=2}", last="bufferized")
    callees = {call.attributes["callee"].value for loop in find(lowered.function("main").operation, "scf.forall")
               for call in find(loop, "func.call")}
    assert callees and not any(find(lowered.function(name).operation, "scf.forall") for name in callees)
    outside = {call.attributes["callee"].value for call in find(lowered.function("main").operation, "func.call")} - callees
    assert any(find(lowered.function(name).operation, "scf.forall") for name in outside)
