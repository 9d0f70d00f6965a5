"""Models from files, whose large initializers are read apart from the protobuf: as from the files' bytes, which are parsed as a whole."""
import os
import threading
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import legato
from legato.frontends.onnx.model_file import GRAPH, INITIALIZER, _message, read_model_file
from legato.frontends.onnx.reads import Reads

SIDE = 300     # of square initializers that are large, in bytes each
RNG = np.random.default_rng(0)


def model(*initializers: TensorProto, large: bool = True, late: Sequence[str] = ()) -> bytes:
    """A model whose outputs are its initializers, with those of all types. ``late``: names of further ones of f32, which are missing."""
    values = RNG.standard_normal((SIDE, SIDE))
    made = [numpy_helper.from_array(values.astype(dtype), f"w{n}") for n, dtype in enumerate(
        (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.uint16, np.int64, np.bool_))] if large else []
    made += [numpy_helper.from_array(np.float32([1, 2, 3]), "small"), *initializers]
    types = {one.name: one.data_type for one in made} | dict.fromkeys(late, TensorProto.FLOAT)
    nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name in types]
    outputs = [helper.make_tensor_value_info(f"{name}_out", type_, None) for name, type_ in types.items()]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])], outputs, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def outcome(source) -> tuple:
    """What is imported, or the error, without the model's name."""
    try:
        module = legato.from_onnx(source)
    except legato.LegatoError as error:
        return "error", str(error).replace(str(source) if isinstance(source, os.PathLike) else "the model", "MODEL")
    return str(module), {key: (str(array.dtype), array.shape, array.tobytes()) for key, array in module.weights.items()}


def same(data: bytes, path) -> tuple:
    """The outcome, of a file and of its bytes."""
    path.write_bytes(data)
    found = outcome(path)
    assert found == outcome(data)
    return found


def test_all_types_of_elements(tmp_path):
    data = model()
    text, weights = same(data, tmp_path / "m.onnx")
    assert text.count('{weight = "w') == 8 and len(weights) == 8
    rest, reads = read_model_file(tmp_path / "m.onnx")
    reads.finish()
    arrays = reads.arrays
    assert sorted(arrays) == [f"w{n}" for n in range(8)] and len(rest) < 5000 and all(a.flags.aligned for a in arrays.values())


def test_initializers_that_are_stored_otherwise(tmp_path):
    """As numbers, in 4 bits, with more or fewer bytes than their shape takes, without a shape, in segments."""
    whole = numpy_helper.from_array(RNG.standard_normal((SIDE, SIDE)).astype(np.float32), "w")
    numbers = TensorProto(name="numbers", data_type=TensorProto.FLOAT, dims=[SIDE, SIDE])
    numbers.float_data.extend(RNG.standard_normal(SIDE * SIDE))
    four = helper.make_tensor("four", TensorProto.INT4, (2 * SIDE, SIDE), RNG.integers(-8, 8, 2 * SIDE * SIDE))
    assert "weight" in same(model(whole, numbers, four), tmp_path / "m.onnx")[0]
    for change in (lambda t: t.dims.append(2), lambda t: t.dims.__setitem__(0, SIDE - 1), lambda t: t.dims.__setitem__(0, -SIDE),
                   lambda t: setattr(t, "data_type", 99), lambda t: setattr(t.segment, "end", 1), lambda t: t.dims.clear()):
        broken = TensorProto()
        broken.CopyFrom(whole)
        change(broken)
        assert same(model(broken), tmp_path / "m.onnx")[0] == "error"


def test_fields_that_occur_twice(tmp_path):
    """Graphs are joined, and of two fields of data the last one counts, as protobuf says; two initializers of one name are an error."""
    tensor = numpy_helper.from_array(np.zeros((SIDE, SIDE), np.float32), "late").SerializeToString()
    ones = TensorProto(raw_data=np.ones((SIDE, SIDE), np.float32).tobytes()).SerializeToString()
    for data, number in ((tensor, 0), (tensor + ones, 1), (ones + tensor, 0)):
        more = b"".join(_message(GRAPH, b"".join(_message(INITIALIZER, data))))
        weights = same(model(late=["late"]) + more, tmp_path / "m.onnx")[1]
        assert weights["late"] == ("float32", (SIDE, SIDE), np.full((SIDE, SIDE), number, np.float32).tobytes())
    assert same(model(numpy_helper.from_array(np.zeros((SIDE, SIDE), np.float32), "w0")), tmp_path / "m.onnx")[0] == "error"


def test_files_that_are_damaged(tmp_path):
    """Bytes that changed, and files that are cut off: the same errors, or the same model."""
    data, kinds = model(numpy_helper.from_array(np.zeros((SIDE, SIDE), np.float32), "w"), large=False), set()
    small = [n for n in range(len(data)) if data[n]]     # not in the middle of the weight
    for _ in range(150):
        changed = bytearray(data)
        for place in RNG.choice(small, RNG.integers(1, 3)):
            changed[place] = RNG.integers(0, 256)
        kinds.add(same(bytes(changed), tmp_path / "m.onnx")[0] == "error")
        kinds.add(same(data[:RNG.integers(0, len(data))], tmp_path / "m.onnx")[0] == "error")
    assert kinds == {True, False}


def test_a_file_that_is_written_again(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(model())
    module = legato.from_onnx(path)
    before = outcome(path)[1]
    path.write_bytes(b"")
    assert {key: array.tobytes() for key, array in module.weights.items()} == {key: value[2] for key, value in before.items()}


def test_a_pipe(tmp_path):
    data, path = model(), tmp_path / "pipe"
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: path.write_bytes(data))
    thread.start()
    found = outcome(path)
    thread.join()
    assert found == outcome(data)


@pytest.mark.parametrize("location", ["memory", "elsewhere"])
def test_external_data_of_a_file_with_any_name(tmp_path, location):
    """Also of the name that marks initializers in arrays."""
    array = RNG.standard_normal((SIDE, SIDE)).astype(np.float32)
    array.tofile(tmp_path / location)
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=array.shape, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    (tmp_path / "m.onnx").write_bytes(model(tensor))
    assert np.array_equal(legato.from_onnx(tmp_path / "m.onnx").weights["w"], array)


def test_a_file_that_is_cut_off_while_it_is_read(tmp_path):
    path = tmp_path / "w"
    path.write_bytes(np.arange(100, dtype=np.float32).tobytes())
    reads = Reads(path)
    for name, place in (("whole", 0), ("late", 4), ("cut", 8)):
        reads.add(name, np.empty((7, 14) if name != "cut" else (9, 11), np.float32), place)
    reads.begin()
    with pytest.raises(legato.LegatoError, match="cut off while it was read"):
        reads.finish()
    assert reads.file.closed
    assert np.array_equal(reads.arrays["late"], np.arange(1, 99, dtype=np.float32).reshape(7, 14))


def test_the_file_is_closed_when_the_import_fails(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(model(late=["missing"]))
    with pytest.raises(legato.LegatoError):
        legato.from_onnx(path)
    assert not any(os.path.realpath(f"/proc/self/fd/{fd}") == str(path) for fd in os.listdir("/proc/self/fd"))
