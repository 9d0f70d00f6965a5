"""Graphs with many sizes that depend on data: what a compile does for each does not grow with their number."""
from collections import Counter

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.dialects.relax import dims
from legato.dialects.relax.requirements import Requirement
from legato.passes.graph import require_sizes


def graph(count):
    """The elements of x that are positive, one added, of those the ones above -1, and so on."""
    nodes, constants = [], [numpy_helper.from_array(np.float32(1), "one")]
    for i in range(count):
        constants.append(numpy_helper.from_array(np.float32(-i), f"c{i}"))
        nodes += [helper.make_node("Greater", [f"x{i}", f"c{i}"], [f"b{i}"]), helper.make_node("NonZero", [f"b{i}"], [f"n{i}"]),
                  helper.make_node("Transpose", [f"n{i}"], [f"t{i}"]), helper.make_node("GatherND", [f"x{i}", f"t{i}"], [f"g{i}"]),
                  helper.make_node("Add", [f"g{i}", "one"], [f"x{i + 1}"])]
    infos = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [size])] for name, size in (("x0", "n"), (f"x{count}", None))]
    proto = helper.make_graph(nodes, "g", infos[0], infos[1], constants)
    return legato.from_onnx(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


@pytest.fixture
def calls(monkeypatch):
    found = Counter()

    def counted(name, function):
        def count(*args):
            found[name] += 1
            return function(*args)

        return count

    monkeypatch.setattr(require_sizes, "never_negative", counted("never_negative", require_sizes.never_negative))
    monkeypatch.setattr(Requirement, "known_by", counted("known_by", Requirement.known_by))
    return found


def test_work_grows_with_the_number_of_sizes_only(calls):
    numbers = []
    for count in (10, 20):
        calls.clear()
        legato.lower(graph(count))
        numbers.append(dict(calls))
    for name, number in numbers[0].items():
        assert 10 <= number < numbers[1][name] <= 2.5 * number, name


def caches(count):
    """A cache in each layer, of one type: each is joined with x, and its squares with what comes of the layer before."""
    nodes, inputs, outputs = [], [helper.make_tensor_value_info("x0", TensorProto.FLOAT, ["batch", 4, "seq", 8])], []
    for i in range(count):
        nodes += [helper.make_node("Concat", [f"past{i}", f"x{i}"], [f"all{i}"], axis=2),
                  helper.make_node("Mul", [f"all{i}", f"all{i}"], [f"square{i}"]),
                  helper.make_node("ReduceMax", [f"square{i}"], [f"most{i}"], axes=[2], keepdims=1),
                  helper.make_node("Add", [f"x{i}", f"most{i}"], [f"x{i + 1}"])]
        inputs.append(helper.make_tensor_value_info(f"past{i}", TensorProto.FLOAT, ["batch", 4, "past", 8]))
        outputs.append(helper.make_tensor_value_info(f"all{i}", TensorProto.FLOAT, ["batch", 4, "all", 8]))
    outputs.append(helper.make_tensor_value_info(f"x{count}", TensorProto.FLOAT, ["batch", 4, "seq", 8]))
    proto = helper.make_graph(nodes, "g", inputs, outputs)
    return legato.from_onnx(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def test_arguments_of_one_type_are_read_once(monkeypatch):
    """A Llama has a cache in each layer: each op looked for its symbols in all of them."""
    found, given_by = Counter(), dims.given_by

    def counted(sizes):
        found[None] += 1
        return given_by(sizes)

    monkeypatch.setattr(dims, "given_by", counted)
    numbers = []
    for count in (8, 16):
        found.clear()
        legato.lower(caches(count), last="bufferized")
        numbers.append(found[None])
    assert 20 <= numbers[0] < numbers[1] <= 2.5 * numbers[0], numbers


def test_each_size_is_right():
    x = np.linspace(-9, 9, 37, dtype=np.float32)
    expected = x
    for number in range(10):
        expected = expected[expected > -number] + np.float32(1)
    assert np.asarray(legato.compile(graph(10))(x)).tolist() == expected.tolist()


def test_equal_sizes_of_other_symbols_are_checked_by_one_function():
    """For a detector's 91 classes: a third of main's ops computed what their arenas leave of 2**56 bytes."""
    text = str(legato.lower(graph(20), last="bufferized").module)
    main = text[text.index("func.func @main("):]
    main = main[:main.index("\n  }\n")]
    functions = text.count("func.func private @legato.late_room_")
    assert 1 <= functions <= 4 and main.count("call @legato.late_room_") >= 20
    assert "arith.maxnumf" not in main


def test_a_size_of_a_late_arena_that_is_too_large_is_an_error():
    """By a function that its arena shares with that of another size."""
    nodes, infos = [], []
    for i in range(2):
        nodes += [helper.make_node("ConstantOfShape", [f"s{i}"], [f"z{i}"]), helper.make_node("Exp", [f"z{i}"], [f"e{i}"]),
                  helper.make_node("CumSum", [f"e{i}", "axis"], [f"c{i}"]), helper.make_node("ReduceMax", [f"c{i}"], [f"y{i}"], keepdims=0)]
        infos.append(helper.make_tensor_value_info(f"s{i}", TensorProto.INT64, [1]))
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, []) for i in range(2)]
    proto = helper.make_graph(nodes, "g", infos, outputs, [numpy_helper.from_array(np.int64(0), "axis")])
    module = legato.from_onnx(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert str(legato.lower(module, last="bufferized").module).count("func.func private @legato.late_room_") < 4
    executable = legato.compile(module)
    small = np.array([3])
    assert [float(value) for value in executable(small, small)] == [3, 3]
    for sizes in ((small, np.array([1 << 55])), (np.array([1 << 55]), small), (small, np.array([1 << 62]))):
        with pytest.raises(ValueError, match="2\\*\\*56"):
            executable(*sizes)
