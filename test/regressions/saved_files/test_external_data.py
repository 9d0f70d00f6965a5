"""External data of an ONNX model is read from the model's folder only, whatever links lead out of it."""
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import legato

W = np.arange(12, dtype=np.float32).reshape(3, 4)


def model_file(path, location):
    """A model at the path: y = x + w, whose data lies at a location."""
    tensor = numpy_helper.from_array(W, "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", info[:1], info[1:], [tensor])
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "w.bin").write_bytes(W.tobytes())
    return tmp_path / "outside"


def refused(path):
    with pytest.raises(legato.LegatoError, match="outside the model's folder"):
        legato.from_onnx(path)


def test_out_of_the_folder(tmp_path, outside):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "inner").mkdir()
    os.symlink(outside / "w.bin", folder / "link.bin")
    os.symlink("../outside/w.bin", folder / "relative.bin")
    os.symlink("link.bin", folder / "twice.bin")
    os.symlink(outside, folder / "linked")
    os.symlink("../..", folder / "inner" / "up")
    for location in ("../outside/w.bin", str(outside / "w.bin"), "inner/../../outside/w.bin", "link.bin", "relative.bin", "twice.bin",
                     "linked/w.bin", "inner/up/outside/w.bin"):
        refused(model_file(folder / "model.onnx", location))


def test_into_the_folder(tmp_path, outside):
    folder = tmp_path / "folder"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "w.bin").write_bytes(W.tobytes())
    os.symlink("data/w.bin", folder / "link.bin")
    os.symlink(folder, tmp_path / "alias")
    for location in ("data/w.bin", "link.bin", "./data/w.bin"):
        model_file(folder / "model.onnx", location)
        for path in (folder / "model.onnx", tmp_path / "alias" / "model.onnx"):
            legato.from_onnx(path)


def test_a_cache_that_links_model_and_data_to_one_folder(tmp_path, outside):
    """As Hugging Face's hub keeps files: snapshots/REVISION/model.onnx -> ../../blobs/HASH, and so the data."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "1"
    model_file(blobs / "0123", "model.onnx_data")
    (blobs / "4567").write_bytes(W.tobytes())
    snapshot.mkdir(parents=True)
    os.symlink("../../blobs/0123", snapshot / "model.onnx")
    os.symlink("../../blobs/4567", snapshot / "model.onnx_data")
    legato.from_onnx(snapshot / "model.onnx")
    os.unlink(snapshot / "model.onnx_data")
    os.symlink(outside / "w.bin", snapshot / "model.onnx_data")
    refused(snapshot / "model.onnx")
