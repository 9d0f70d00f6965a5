"""Inputs that mutations found: each ended in an error that was none of ours. They were made small by legato-reduce where that applies."""
import onnx
import pytest
from onnx import TensorProto, helper

import legato
from legato.core.errors import LegatoError
from legato.dialects import Module
from legato.tools import legato_opt


def test_a_location_of_external_data_with_a_zero_byte(tmp_path):
    """It was a ValueError of os.path."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xy"]
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[8], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="weights\0.bin")
    model = helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", info[:1], info[1:], [weight]))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(LegatoError, match=r"its external data lies in 'weights\\x00.bin', which no file can be called"):
        legato.from_onnx(tmp_path / "m.onnx")
    assert onnx.load(tmp_path / "m.onnx", load_external_data=False).graph.initializer[0].name == "w"


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_a_path_without_a_name(path, capsys):
    """It was an internal error of legato-opt, about pathlib."""
    assert legato_opt.main(["--cse", path]) == 1
    assert f"legato-opt: error: '{path}' is no file" in capsys.readouterr().err


def test_a_kernel_without_a_body():
    """tir-init-outputs asked for its entry block: an IndexError of the bindings."""
    module = Module.parse("""func.func private @f(tensor<8xf32>, tensor<8xf32> {tir.out}) -> tensor<8xf32> attributes {tir.prim_func}
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @f(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}""")
    legato.Pipeline("tir-init-outputs").run(module)
    assert "call @f(%arg0, %arg1)" in str(module)
