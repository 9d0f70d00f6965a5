"""Rules of a user's: given to a call, registered for a target, written by hand, ranked; and what is refused."""
import numpy as np
import pytest

import legato
from legato import kernels
from legato.core.mlir import arith, ir, math
from legato.dialects import relax, tir
from legato.targets import registry
from legato.targets.catalog import Catalog

SOFTMAX = """
func.func @main(%x: tensor<4x16xf32> {relax.name = "x"}) -> tensor<4x16xf32> {
  %0 = "relax.exp"(%x) : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("/Exp")
  %1 = "relax.softmax"(%0) : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("/Softmax")
  return %1 : tensor<4x16xf32>
}
"""
X = np.linspace(-1, 1, 64, dtype=np.float32).reshape(4, 16)
E = np.exp(np.exp(X))
EXPECTED = E / E.sum(-1, keepdims=True)
NPU = legato.Target("npu", parents=("llvm",))


@pytest.fixture(autouse=True)
def registered():
    """Each test begins with a registry that knows ``npu``, and leaves it as it was."""
    with registry.isolated():
        legato.register_target(NPU)
        yield


@pytest.fixture
def module():
    return legato.Module.parse(SOFTMAX)


def doubled(k, x, out):
    """What the tests can tell from exp: 2 x."""
    return kernels.pointwise(k, out, [x], lambda e, x: e.add(x, x))


def functions(module):
    return {f.name.value: str(f) for f in module.functions()}


def fired(explanation, op):
    return next((r.target, r.rule) for r in explanation.records if r.op == op)


def test_a_map_given_to_one_call_overrides_the_rule_for_an_op(module):
    plain = functions(legato.lower(module, last="legalized"))
    mapped = functions(legato.lower(module, last="legalized", rules={"relax.exp": doubled}))
    assert {name for name in plain if plain[name] != mapped[name]} == {"kernel_exp"}
    assert "math.exp" in plain["kernel_exp"] and "arith.addf" in mapped["kernel_exp"]
    exe = legato.compile(module, rules={"relax.exp": doubled})
    powers = np.exp(2 * X)
    np.testing.assert_allclose(exe(X), powers / powers.sum(-1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(legato.compile(module)(X), EXPECTED, rtol=1e-5)


def test_rule_values_given_to_one_call(module):
    rule = legato.rewrite("relax.exp")(lambda op, x: relax.add(x, x))
    assert fired(legato.explain(module, rules=[rule], last="legalized"), "relax.add")[0] == "generic"


def test_a_map_may_be_about_intrinsics_and_a_target_need_not_be_registered(module):
    here = legato.Target("here", parents=("llvm",))
    exe = legato.compile(module, here, rules={"math.exp": lambda op, x: arith.addf(x, x)})
    assert any((r.op, r.target) == ("math.exp", "here") for r in exe.explain().records)


@pytest.mark.parametrize("rules, message", [
    ({"relax.sofmax": doubled}, r"rules=: there is no op 'relax.sofmax'; did you mean 'relax.softmax'"),
    ({"relax.exp": 3}, "rules=: expected rules"), ([doubled], "rules=: expected rules"),
])
def test_a_map_is_checked(module, rules, message):
    with pytest.raises(legato.LegatoError, match=message):
        legato.compile(module, rules=rules)


def test_registered_rules_are_reached_by_the_standard_pipeline(module):
    legato.legalize("relax.exp", target="npu")(doubled)
    exe = legato.compile(module, target="npu")
    assert fired(exe.explain(), "relax.exp") == ("npu", "doubled") and fired(exe.explain(), "relax.softmax") == ("generic", "softmax")
    powers = np.exp(2 * X)
    np.testing.assert_allclose(exe(X), powers / powers.sum(-1, keepdims=True), rtol=1e-5)
    assert fired(legato.explain(module, "llvm", last="legalized"), "relax.exp")[0] == "generic"


class Replace(legato.ModulePass):
    """A user's own pass: exp becomes a call of a kernel of the user's."""

    name = "user-replace"

    def run(self, module, context):
        text = """
func.func private @mine(%x: tensor<4x16xf32>, %out: tensor<4x16xf32> {tir.out}) -> tensor<4x16xf32> attributes {tir.prim_func} {
  %0 = linalg.add ins(%x, %x : tensor<4x16xf32>, tensor<4x16xf32>) outs(%out : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}"""
        for op in list(module.function("main").entry_block.operations):
            if op.operation.name == "relax.exp":
                module.body.append(ir.Module.parse(text).body.operations[0].operation.clone(ip=False))
                with ir.InsertionPoint(op):
                    op.result.replace_all_uses_with(tir.call_tir("mine", [op.operands[0]], [op.result.type], [[]])[0])
                op.operation.erase()


@pytest.mark.parametrize("first", [True, False])
def test_a_pass_of_the_users_before_legalization_wins(module, first):
    legato.legalize("relax.exp", target="npu")(doubled)
    context = legato.PassContext(resolve_target=Catalog().resolve)
    passes = ["relax-legalize{target=npu}"]
    passes.insert(0 if first else 1, Replace())
    legato.Pipeline(passes, extra_passes=(Replace,)).run(module, context)
    assert ("call @mine" in str(module)) == first
    assert [r.rule for r in context.report["legalize"]] == (["softmax"] if first else ["doubled", "softmax"])


LOOPS = """
func.func @add_one(%x: tensor<4x16xf32>, %out: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %out) -> (tensor<4x16xf32>) {
    %z = scf.for %j = %c0 to %c16 step %c1 iter_args(%b = %a) -> (tensor<4x16xf32>) {
      %v = tensor.extract %x[%i, %j] : tensor<4x16xf32>
      %w = arith.addf %v, %one {by = "hand"} : f32
      %t = tensor.insert %w into %b[%i, %j] : tensor<4x16xf32>
      scf.yield %t : tensor<4x16xf32>
    }
    scf.yield %z : tensor<4x16xf32>
  }
  return %y : tensor<4x16xf32>
}
"""


def by_hand(op, x):
    return op.call_prim_func(LOOPS)


def test_a_prim_func_written_by_hand_survives_as_written(module):
    legato.legalize("relax.exp", target="npu", form="rewrite")(by_hand)
    scheduled = str(legato.lower(module, "npu", last="scheduled"))
    body = scheduled.split("@kernel_exp(")[-1].split("\n  }\n")[0]
    for line in ("scf.for", "tensor.extract", 'by = "hand"', "tensor.insert", 'tir.state = "written"'):
        assert line in body
    assert "vector" not in body
    powers = np.exp(X + 1)
    np.testing.assert_allclose(legato.compile(module, "npu")(X), powers / powers.sum(-1, keepdims=True), rtol=1e-5)


STRUCTURED = """
func.func @add_twice(%x: tensor<4x16xf32>, %out: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x16xf32>) outs(%out : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
"""


def test_structured_kernels_written_by_hand_are_not_scheduled_nor_fused(module):
    legato.legalize("relax.exp", target="npu", form="rewrite")(lambda op, x: op.call_prim_func(STRUCTURED))
    kernels_then = functions(legato.lower(module, "npu", last="scheduled"))
    assert "linalg.generic" in kernels_then["kernel_exp"]
    powers = np.exp(2 * X)
    np.testing.assert_allclose(legato.compile(module, "npu")(X), powers / powers.sum(-1, keepdims=True), rtol=1e-5)


def test_a_prim_func_of_other_types_is_refused(module):
    other = LOOPS.replace("4x16", "4x8")
    legato.legalize("relax.exp", target="npu", form="rewrite")(lambda op, x: op.call_prim_func(other))
    with pytest.raises(legato.LegatoError, match=r"the prim_func for relax\.exp takes tensor<4x8xf32>"):
        legato.compile(module, "npu")


def test_strategies_are_ranked_and_predicates_flip_the_choice(module):
    @legato.legalize("relax.exp", target="npu", when=(kernels.dtype("f32"), kernels.static_shape()))
    def second(k, x, out):
        return doubled(k, x, out)

    legato.legalize("relax.exp", target="npu", priority=1, when=kernels.rank(3))(doubled)
    explanation = legato.explain(module, "npu", last="legalized")
    record = next(r for r in explanation.records if r.op == "relax.exp")
    assert (record.rule, record.refused) == ("second", [("npu", "doubled", "operand 0 has rank 2, not 3")])
    cube = legato.Module.parse(SOFTMAX.replace("4x16", "4x4x4"))
    assert fired(legato.explain(cube, "npu", last="legalized"), "relax.exp") == ("npu", "doubled")
    half = legato.Module.parse(SOFTMAX.replace("f32", "f16"))
    record = next(r for r in legato.explain(half, "npu", last="legalized").records if r.op == "relax.exp")
    assert record.target == "generic" and record.refused[1] == ("npu", "second", "operand 0 is f16, not f32")


def test_a_compute_definition_and_a_direct_kernel_agree():
    text = """
func.func @main(%a: tensor<24x40xf32> {relax.name = "a"}, %b: tensor<40x32xf32> {relax.name = "b"}) -> tensor<24x32xf32> {
  %0 = "relax.matmul"(%a, %b) : (tensor<24x40xf32>, tensor<40x32xf32>) -> tensor<24x32xf32>
  return %0 : tensor<24x32xf32>
}"""
    direct = """
func.func @direct(%a: tensor<24x40xf32>, %b: tensor<40x32xf32>, %out: tensor<24x32xf32>) -> tensor<24x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = arith.constant 24 : index
  %n = arith.constant 32 : index
  %k = arith.constant 40 : index
  %y = scf.for %i = %c0 to %m step %c1 iter_args(%p = %out) -> (tensor<24x32xf32>) {
    %z = scf.for %j = %c0 to %n step %c1 iter_args(%q = %p) -> (tensor<24x32xf32>) {
      %s = scf.for %l = %c0 to %k step %c1 iter_args(%acc = %zero) -> (f32) {
        %u = tensor.extract %a[%i, %l] : tensor<24x40xf32>
        %v = tensor.extract %b[%l, %j] : tensor<40x32xf32>
        %w = arith.mulf %u, %v : f32
        %x = arith.addf %acc, %w : f32
        scf.yield %x : f32
      }
      %t = tensor.insert %s into %q[%i, %j] : tensor<24x32xf32>
      scf.yield %t : tensor<24x32xf32>
    }
    scf.yield %z : tensor<24x32xf32>
  }
  return %y : tensor<24x32xf32>
}"""

    def defined(k, a, b, out):
        e = kernels.element(k.input_types[0])
        return kernels.compute(kernels.filled(out, e.const(0)), "i, j, +l", [(a, "i, l"), (b, "l, j")], kernels.multiply_add(e))

    module = legato.Module.parse(text)
    a, b = np.random.default_rng(0).random((2, 40, 40), dtype=np.float32)
    a, b = a[:24], np.ascontiguousarray(b[:, :32])
    by_definition = legato.compile(module, rules={"relax.matmul": defined})
    by_hand = legato.compile(module, rules=[legato.rewrite("relax.matmul")(lambda op, a, b: op.call_prim_func(direct))])
    assert "linalg" not in str(legato.lower(module, rules={"relax.matmul": defined}, last="scheduled")), "the definition got no schedule"
    np.testing.assert_allclose(by_definition(a, b), by_hand(a, b), rtol=1e-5)
    np.testing.assert_allclose(by_definition(a, b), a @ b, rtol=1e-5)


def test_a_packed_call_is_a_declaration(module):
    legato.legalize("relax.exp", target="npu", form="rewrite")(lambda op, x: op.call_packed("npu.exp"))
    text = str(legato.lower(module, "npu", last="legalized"))
    assert 'relax.packed = "npu.exp"' in text and "call @npu_exp(%arg0" in text


def test_a_rule_that_gives_its_own_op_is_refused(module):
    legato.legalize("relax.exp", target="npu", form="rewrite")(lambda op, x: relax.exp(x))
    with pytest.raises(legato.LegatoError, match=r"gives for relax\.exp '/Exp' the same op again"):
        legato.compile(module, "npu")


def test_rules_that_undo_each_other_are_named(module):
    @legato.legalize("relax.exp", target="npu", form="rewrite")
    def to_tanh(op, x):
        return relax.tanh(x)

    @legato.legalize("relax.tanh", target="npu", form="rewrite")
    def to_exp(op, x):
        return relax.exp(x)

    with pytest.raises(legato.LegatoError, match="undo each other, or build what they replace: to_"):
        legato.compile(module, "npu")


def test_explain_lists_what_no_rule_takes(module):
    lonely = legato.Target("lonely", stages=(("legalized", "relax-legalize{target=%s}"),))
    explanation = legato.explain(module, lonely)
    assert [r.op for r in explanation.missing] == ["relax.exp", "relax.softmax"] and "no rule" in str(explanation)


def test_several_kernels_for_one_op(module):
    def parts(op, x):
        return relax.multiply(relax.exp(x), relax.constant(np.float32(1)))

    rules = [legato.rewrite("relax.softmax")(parts)]
    np.testing.assert_allclose(legato.compile(module, rules=rules)(X), np.exp(np.exp(X)), rtol=1e-5)


def test_math_is_at_hand_in_a_kernel(module):
    def raw(k, x, out):
        return kernels.elementwise(out, [x], lambda x: math.exp(arith.negf(x)))

    powers = np.exp(np.exp(-X))
    np.testing.assert_allclose(legato.compile(module, rules={"relax.exp": raw})(X), powers / powers.sum(-1, keepdims=True), rtol=1e-5)
