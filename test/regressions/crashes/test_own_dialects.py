"""The dialect of a user's device is known wherever its target is: after an import, in the tools, in pipelines, in backends."""
import io
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
from legato.dialects import Module, make_context, relax
from legato.dialects.relax.attributes import Float
from legato.dialects.relax.op import FLOAT, Operand
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


class Gates(ext.Dialect, name="gates"):
    """The dialect of a graph op."""


class Gate(relax.graph_op(Gates), name="gate"):
    """x * factor."""

    x = Operand(FLOAT)
    factor = Float(1.0)

    @staticmethod
    def result_type(x, factor):
        return x


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
    with pytest.raises(legato.LegatoError, match=r"unregistered dialect\. Import the Python module that defines the dialect first"):
        Module.parse(text.replace("ruled.", "unruled."))
    module = Module.parse(text)
    assert module.context.is_registered_operation("ruled.fence") and not module.context.is_dialect_loaded("stated")
    bytecode = io.BytesIO()
    module.module.operation.write_bytecode(bytecode)
    for again in (Module.parse(bytecode.getvalue()), Module.parse(text, context=make_context([Ruled]))):
        assert '"ruled.fence"()' in str(again)
    np.testing.assert_array_equal(legato.compile(module, device)(X[0, :4]), X[0, :4])


@pytest.mark.parametrize("names_it", [True, False], ids=["a target with its rule", "a target without"])
def test_an_op_that_an_import_builds_is_of_its_dialect(device, names_it):
    """The dialect is not in the context into which the model is imported. An op that is made before its dialect is loaded would end the
    process when it is loaded."""
    def build(node):
        return Gate.build(node.x(0), factor=2.0)

    model = onnx_model()
    model.graph.node[0].domain, model.graph.node[0].op_type = "gates", "Gate"
    model.opset_import.append(helper.make_opsetid("gates", 1))
    module = legato.from_onnx(model, entries=[legato.frontends.onnx.op("Gate", 1, domain="gates")(build)])
    assert module.context.is_registered_operation("gates.gate")
    rule = legato.kernel("gates.gate")(lambda k, x, out: kernels.pointwise(k, out, [x], lambda e, x: e.mul(x, e.const(k.attrs["factor"]))))
    target = legato.Target("gated", parents=("llvm",), rules=(rule,)) if names_it else "llvm"
    np.testing.assert_array_equal(legato.compile(module, target, rules=() if names_it else [rule])(X), 2 * X)


def test_an_op_that_was_made_before_its_dialect_was_defined():
    context = make_context()
    context.allow_unregistered_dialects = True
    module = Module.parse('func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { "late.nop"() : () -> () return %x : tensor<4xf32> }',
                          context=context)

    class Late(ext.Dialect, name="late"):
        pass

    class Nop(Late.Operation, name="nop"):
        pass

    with pytest.raises(legato.LegatoError, match=r"^late\.nop was made before the dialect 'late' was defined.* import the Python module"):
        legato.compile(module, legato.Target("lately", parents=("llvm",), dialects=(Late,)))


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
