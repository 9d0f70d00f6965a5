"""``legato.from_onnx`` imports what a compile needs while it waits for weights."""
import subprocess
import sys

IMPORT = """
import sys, time
import numpy as np
import onnx
import legato
from legato.frontends.onnx.reads import Reads

weight = onnx.numpy_helper.from_array(np.full((256, 128), 2, np.float32), "w")
tensor = onnx.helper.make_tensor_value_info
graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [tensor("x", 1, [1, 256])],
                               [tensor("y", 1, [1, 128])], [weight])
onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
fill, seen = Reads._fill, []

def slow(self, *given):
    end = time.time() + 60
    while wanted not in sys.modules and time.time() < end:
        time.sleep(0.01)
    seen.append(wanted in sys.modules)
    fill(self, *given)

Reads._fill, wanted = slow, "legato.passes.cpu.mark_functions"
module = legato.from_onnx(sys.argv[1])
made = legato.compile(module, cache=False)
print(seen, made(np.ones((1, 256), np.float32))[0, 0])
"""


def test_imports_while_weights_are_read(tmp_path) -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORT, str(tmp_path / "model.onnx")], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["[True]", "512.0"]
