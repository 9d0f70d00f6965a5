"""The dialect of a user's device is known wherever its target is: after an import, in the tools, in pipelines, in backends."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import legato
from legato import kernels
from legato.artifacts import Lowered
from legato.core.mlir import ext
from legato.dialects import Module, make_context
from legato.targets.registry import isolated

DEVICE = Path(__file__).parent / "inputs" / "coprocessor.py"
GRAPH = """func.func @main(%x: tensor<4x8xf32> {relax.name = "x"}) -> (tensor<4x8xf32> {relax.name = "y"}) {
  %0 = "relax.relu"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
"""
X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)


class Stated(ext.Dialect, name="stated"):
    """A dialect whose ops have no rule: a target states it."""


class Note(Stated.Operation, name="note"):
    """Erased by a pass."""


class Ruled(ext.Dialect, name="ruled"):
    """A dialect whose op has a rule: known by that."""


class Fence(Ruled.Operation, name="fence"):
    """Lowered to nothing."""


def onnx_model():
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 8]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", info[:1], info[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def fenced_relu(k, x, out):
    Fence()
    return kernels.pointwise(k, out, [x], lambda e, x: e.max(x, e.const(0)))


def noted_relu(k, x, out):
    Note()
    return kernels.pointwise(k, out, [x], lambda e, x: e.max(x, e.const(0)))


def drop(op):
    return []


@pytest.fixture
def device():
    with isolated():
        target = legato.register_target(legato.Target("own", parents=("llvm",)))
        legato.legalize("relax.relu", target=target)(fenced_relu)
        legato.lower_intrinsic("ruled.fence", target=target)(drop)
        yield target


@pytest.mark.parametrize("given", ["own", legato.Target("heir", parents=("own",))], ids=["by name", "of a parent"])
def test_a_model_from_onnx_meets_the_dialect_at_compile(device, given):
    executable = legato.compile(legato.from_onnx(onnx_model()), given)
    np.testing.assert_array_equal(executable(X), np.maximum(X, 0))
    assert '"ruled.fence"' in str(legato.lower(legato.from_onnx(onnx_model()), given, last="legalized"))
    assert "fenced_relu" in str(legato.explain(legato.from_onnx(onnx_model()), given))


def test_a_dialect_that_the_target_states(device):
    target = legato.Target("noting", parents=("llvm",), dialects=(Stated,))
    lowered = legato.lower(legato.from_onnx(onnx_model()), target, rules=[legato.kernel("relax.relu")(noted_relu)], last="legalized")
    assert '"stated.note"' in str(lowered)


@pytest.mark.parametrize("passes", ["relax-infer-shapes,relax-legalize{target=own}", 'external<"none">(relax-legalize{target=own})'])
def test_a_pipeline_that_names_the_target(device, passes):
    module = legato.from_onnx(onnx_model())
    assert not module.context.is_dialect_loaded("ruled")
    legato.Pipeline(passes).run(module)
    assert module.context.is_dialect_loaded("ruled")


def test_a_backend_that_states_a_dialect():
    from legato.patterns import is_op, wildcard

    class Noting(legato.Backend):
        name = "noting"
        patterns = [("relu", is_op("relax.relu")(wildcard()))]
        dialects = (Stated,)

        def codegen(self, module, options):
            assert module.context.is_dialect_loaded("stated")
            return Lowered(module)

    executable = legato.compile(legato.from_onnx(onnx_model()), backends=[Noting])
    np.testing.assert_array_equal(executable(X), np.maximum(X, 0))


def test_a_module_with_its_own_ops_from_text(device):
    text = 'func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  "ruled.fence"() : () -> ()\n  return %x : tensor<4xf32>\n}'
    with pytest.raises(legato.LegatoError, match="unregistered dialect"):
        Module.parse(text)
    assert "ruled.fence" in str(Module.parse(text, context=make_context([Ruled])))


def run_tool(name: str, *arguments: str, folder: Path) -> str:
    command = [sys.executable, "-m", f"legato.tools.{name}", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_tools_take_a_device_from_a_file_and_the_module_beside_it(tmp_path):
    onnx.save(onnx_model(), tmp_path / "model.onnx")
    (tmp_path / "graph.mlir").write_text(GRAPH)
    device = ["--load", str(DEVICE), "--target", "coprocessor", "-q"]
    for model in ("graph.mlir", "model.onnx"):
        run_tool("legato_compile", model, *device, "--emit", "legalized", "-o", "legalized.mlir", folder=tmp_path)
        text = (tmp_path / "legalized.mlir").read_text()
        assert '"coprocessor.wait"' in text and "coprocessor.functions = 2" in text
        after = ["--from-stage", "legalized", "--emit", "llvm"]
        assert "llvm.func" in run_tool("legato_compile", "legalized.mlir", *device, *after, folder=tmp_path)
        assert "float32[" in run_tool("legato_run", model, *device, "--random", folder=tmp_path)
    passes = run_tool("legato_compile", "--print-pipeline=legalized", *device, folder=tmp_path)
    text = run_tool("legato_opt", "graph.mlir", "--load", str(DEVICE), f"--pass-pipeline={passes}", folder=tmp_path)
    assert '"coprocessor.wait"' in text and "coprocessor.functions = 2" in text
