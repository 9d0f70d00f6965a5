"""The op base: builders, accessors, what one can ask of an op, and ops of a user's own."""

import inspect
import time
from pathlib import Path

import numpy as np
import pytest

from legato.core.errors import LegatoError
from legato.core.mlir import ext, ir, passmanager
from legato.dialects import Module, docs, make_context, relax
from legato.dialects.relax import TensorType
from legato.dialects.relax.attributes import Bool, Float
from legato.dialects.relax.op import FLOAT, Operand

CONTEXT = make_context()
FOLDER = Path(__file__).parent


@pytest.fixture(autouse=True)
def _in_context():
    with CONTEXT, ir.Location.unknown():
        yield


def function_of(*types):
    """An empty function of those argument types: its module, its arguments, and the insertion point in it."""
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    module = Module.parse(f"func.func @main({arguments}) {{ return }}", context=CONTEXT)
    block = module.function("main").entry_block
    return module, list(block.arguments), ir.InsertionPoint(block.operations[0])


def test_builders_infer_and_leave_defaults_out():
    module, (x,), ip = function_of("tensor<2x3xf32>")
    with ip:
        assert str(relax.softmax(x).owner) == '%0 = "relax.softmax"(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>'
        assert "{axis = 0 : i64}" in str(relax.softmax(x, axis=np.int64(0)).owner)
        assert relax.sum(x, axis=1, keepdims=True).type == relax.sum(x, [1], 1).type == ir.Type.parse("tensor<2x1xf32>")
        assert relax.astype(x, "bf16").type == relax.astype(x, dtype="bfloat16").type == ir.Type.parse("tensor<2x3xbf16>")
        assert relax.concat([x, x, x], -1).type == ir.Type.parse("tensor<2x9xf32>")
        assert relax.softmax(relax.exp(x).owner).type == x.type
    assert module.operation.verify()


def test_builders_take_insertion_point_and_location():
    _module, (x,), ip = function_of("tensor<2x3xf32>")
    y = relax.exp(x, ip=ip, loc=ir.Location.name("conv_1"))
    assert relax.exp(y, ip=ip).owner.location == ir.Location.unknown() and '"conv_1"' in str(y.owner.location)


def test_constants():
    _module, _, ip = function_of()
    with ip:
        small = relax.constant(np.array([[1, 2]], np.int64))
        big = relax.weight("w", "f16", (4, "n"))
        assert small.owner.opview.value.tolist() == [[1, 2]] and small.owner.opview.weight is None
        assert big.owner.opview.weight == "w" and big.owner.opview.value is None
        assert str(big.type) == 'tensor<4x?xf16, #relax.dims<[4, "n"]>>'
        assert relax.evaluate(small.owner, [])[0].tolist() == [[1, 2]]
        with pytest.raises(LegatoError, match=r"cannot be computed: the elements of the weight 'w' stand in the module's weight store"):
            relax.evaluate(big.owner, [])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda x: relax.matmul(x, x),
            r'relax.matmul "fc/MatMul": the inner sizes differ: 3 .* and 2 .*\(a: tensor<2x3xf32>, b: tensor<2x3xf32>\)',
        ),
        (lambda x: relax.softmax(x, axis=2), "attribute 'axis' is 2, expected a value from -2 to 1 for rank 2"),
        (lambda x: relax.softmax(x, axsi=1), r"relax.softmax: has no attribute 'axsi'; did you mean 'axis'\?"),
        (lambda x: relax.softmax(x, axis="1"), r"attribute 'axis' must be an integer \(i64\), found '1'"),
        (lambda x: relax.softmax(x, axis=None), r"attribute 'axis' must be an integer \(i64\), found None"),
        (lambda x: relax.softmax(x, 1, 2), r"relax.softmax takes at most 2 arguments \(x, axis\), 3 were given"),
        (lambda x: relax.softmax(x, x=x), "relax.softmax: 'x' is given twice"),
        (lambda x: relax.add(x), "operand 'b' must be an ir.Value, found None"),
        (lambda x: relax.add(x, 1.0), r"operand 'b' must be an ir.Value, found 1.0 \(a: tensor<2x3xf32>\)"),
        (lambda x: relax.permute_dims(x), "needs attribute 'axes'"),
        (
            lambda x: relax.pad(x, [1, 0], mode="around"),
            "attribute 'mode' must be one of 'constant', 'reflect', 'edge', 'wrap', found 'around'",
        ),
        (lambda x: relax.astype(x, "f7"), "attribute 'dtype' must be an element type, found 'f7'"),
        (lambda x: relax.reshape(x, ["?", 3]), "attribute 'shape' must be a list of sizes"),
        (lambda x: relax.sum(x, keepdims=2), "attribute 'keepdims' must be true or false, found 2"),
        (lambda x: relax.concat([x, relax.expand_dims(x, 0)], 0), 'tensor.concat "fc/MatMul": operand 1 has rank 3, operand 0 has rank 2'),
        (lambda x: relax.concat([x, relax.permute_dims(x, [1, 0])], 0), "axis 1 has size 2 in operand 1, 3 in those before"),
        (lambda x: relax.concat([], 0), "needs one operand at least"),
    ],
)
def test_builders_say_what_is_wrong(build, message):
    _module, (x,), ip = function_of("tensor<2x3xf32>")
    with ip, ir.Location.name("fc/MatMul"), pytest.raises(LegatoError, match=message):
        build(x)


def test_unknown_ops_and_signatures():
    with pytest.raises(AttributeError, match=r"relax has no op or function 'sofmax'"):
        getattr(relax, "sofmax")  # noqa: B009
    assert str(inspect.signature(relax.gelu)) == "(x, *, approximate='none', loc=None, ip=None)"
    assert str(inspect.signature(relax.permute_dims)) == "(x, axes, *, loc=None, ip=None)"
    assert relax.gelu.__doc__ == relax.OPS["gelu"].__doc__


def test_what_one_can_ask_of_an_op():
    _module, (x, y), ip = function_of("tensor<2x?xf32>", 'tensor<?x3xf32, #relax.dims<["n", 3]>>')
    with ip:
        op = relax.softmax(x, axis=0).owner
        assert relax.attributes_of(op) == op.opview.attrs() == {"axis": 0} and op.opview.axis == 0 and op.opview.x == x
        assert relax.op_class(op) is relax.OPS["softmax"] and relax.infer_op(op) == [x.type]
        joined = relax.concat([y, y], 1).owner
        assert relax.attributes_of(joined) == {"axis": 1} and relax.op_class(joined) is relax.OPS["concat"]
        part = relax.strided_slice(y, [1], ["n - 1"]).owner
        assert relax.evaluate(part, [np.zeros((5, 3), np.float32)], {"n": 5})[0].shape == (3, 3)
        with pytest.raises(LegatoError, match=r"attribute 'end' needs the value of n - 1"):
            relax.evaluate(part, [np.zeros((5, 3), np.float32)])
        constant = ir.Operation.create(
            "arith.constant", results=[ir.F32Type.get()], attributes={"value": ir.FloatAttr.get(ir.F32Type.get(), 1)}
        )
        assert relax.op_class(constant) is None
        with pytest.raises(LegatoError, match=r"arith.constant is not a graph op"):
            relax.attributes_of(constant)


def test_inference_notices_operands_that_changed():
    _module, (x, y), ip = function_of("tensor<2x3xf32>", "tensor<4x5xf32>")
    with ip, ir.Location.name("layer"):
        op = relax.permute_dims(x, [1, 0]).owner
        product = relax.matmul(op.results[0], x).owner
    op.operands[0] = y
    assert [str(t) for t in relax.infer_op(op)] == ["tensor<5x4xf32>"]
    op.results[0].set_type(relax.infer_op(op)[0])
    with pytest.raises(LegatoError, match=r'relax.matmul "layer": the inner sizes differ: 4'):
        relax.infer_op(product)


def test_upstream_passes_see_pure_ops():
    module, (x,), ip = function_of("tensor<2x3xf32>")
    with ip:
        relax.exp(x)
        relax.constant(np.zeros(3, np.float32))
    passmanager.PassManager.parse("builtin.module(canonicalize)").run(module.operation)
    assert [op.operation.name for op in module.function("main").entry_block.operations] == ["func.return"]


def test_building_and_verifying_is_fast():
    module, (x, w, b), ip = function_of('tensor<?x8x16xf32, #relax.dims<["n", 8, 16]>>', "tensor<16x16xf32>", "tensor<16xf32>")
    start = time.process_time()
    with ip:
        for _ in range(300):
            y = relax.add(relax.matmul(x, w), b)
            relax.softmax(relax.layer_norm(relax.gelu(y), b, b, epsilon=1e-12), axis=-1)
    assert module.operation.verify()
    assert time.process_time() - start < 2.0, "1,500 ops take 0.25 s on a quiet machine"


class Npu(ext.Dialect, name="npu_test"):
    """A user's dialect."""


class ScaledRelu(relax.graph_op(Npu), name="scaled_relu"):
    """max(x, 0) * scale.

    ```mlir
    %y = "npu_test.scaled_relu"(%x) {scale = 2.0 : f64} : (tensor<2xf32>) -> tensor<2xf32>
    ```
    """

    x = Operand(FLOAT)
    scale = Float()
    halve = Bool(False)

    @staticmethod
    def result_type(x: TensorType, scale, halve) -> TensorType:
        return x

    @staticmethod
    def compute(x, scale, halve):
        return np.maximum(x, 0) * x.dtype.type(scale / 2 if halve else scale)


def test_a_users_own_op():
    context = make_context([Npu])
    module = Module.parse(docs.example_module(ScaledRelu), context=context)
    op = module.function("example").entry_block.operations[0]
    assert relax.op_class(op) is ScaledRelu and relax.attributes_of(op) == {"scale": 2.0, "halve": False}
    assert relax.evaluate(op, [np.array([-1, 3], np.float32)])[0].tolist() == [0, 6]
    assert ScaledRelu.semantics(np.array([1], np.float16), scale=4, halve=True).dtype == np.float16
    with context, ir.Location.unknown(), ir.InsertionPoint(op):
        assert ScaledRelu.build(op.x, scale=3).type == op.x.type
    with pytest.raises(LegatoError, match=r"'npu_test.scaled_relu' op needs attribute 'scale': a number"):
        Module.parse(docs.example_module(ScaledRelu).replace("{scale = 2.0 : f64}", ""), context=context)
    assert "scaled_relu" not in relax.OPS and list(Npu.OPS) == ["scaled_relu"]


def test_the_reference_is_up_to_date():
    for name, text in docs.references().items():
        assert (FOLDER.parents[1] / "docs" / name).read_text() == text, "run: python -m legato.dialects.docs docs"
    assert all(f"\n### {name}\n" in docs.op_reference() for name in relax.OPS)


@pytest.mark.parametrize("kind", ["round_trip", "invalid"])
def test_every_op_has_a_lit_test(kind):
    text = "".join(f.read_text() for f in (FOLDER / "relax").glob("*.mlir") if f.stem.endswith("_invalid") == (kind == "invalid"))
    assert [n for n in relax.OPS if f'"relax.{n}"(' not in text and f"tensor.{n} " not in text] == []
