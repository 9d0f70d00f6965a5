"""The pattern language: what matches, what does not, and the reason that is given."""
import pytest

import legato
from legato.analysis.patterns import Graph, Matcher, composite, each_operand, is_const, is_op, outputs, wildcard

TEXT = """
func.func @main(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<4x8xf32>) {
  %w = "relax.constant"() {value = dense<1.0> : tensor<8x8xf32>} : () -> tensor<8x8xf32>
  %m = "relax.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %a = "relax.add"(%y, %m) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %e = "relax.exp"(%a) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %t = "relax.exp"(%e) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %s = "relax.softmax"(%t) {axis = 1 : i64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %q = "relax.multiply"(%s, %s) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %c = tensor.concat dim(0) %q, %s : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  return %q, %a, %c : tensor<2x8xf32>, tensor<2x8xf32>, tensor<4x8xf32>
}"""
MATMUL = is_op("relax.matmul")(wildcard(), is_const())
SOFTMAX = is_op("relax.softmax")(wildcard())
VALUE = wildcard()


def outcome(pattern, check=None):
    """The ops of each match, and the reasons of those that failed."""
    module = legato.Module.parse(TEXT)
    with module.context:
        matcher = Matcher(Graph(module.function()))
        matches = [[n.name.split(".")[1] for n in m.nodes] for m in matcher.matches(composite("p", pattern, check))]
        return matches, [a.reason for a in matcher.attempts if a.reason]


@pytest.mark.parametrize("pattern, expected", [
    (MATMUL, [["matmul"]]),
    (is_op("relax.add")(MATMUL, wildcard()), [["matmul", "add"]]),                        # either order
    (MATMUL.optional(lambda x: is_op("relax.add")(x, wildcard())), [["matmul", "add"]]),
    (MATMUL | SOFTMAX, [["softmax"], ["matmul"]]),
    (is_op("relax.add")(wildcard(), MATMUL).exposed().repeated(lambda x: is_op("relax.exp")(x)), [["matmul", "add", "exp", "exp"]]),
    (is_op("relax.exp")(wildcard()).repeated(lambda x: is_op("relax.exp")(x)), [["exp", "exp"]]),
    (is_op("relax.exp")(wildcard()).repeated(lambda x: is_op("relax.exp")(x), at_most=0), [["exp"], ["exp"]]),
    (is_op("relax.multiply")(VALUE, VALUE), [["multiply"]]),                              # one value, twice
    (SOFTMAX.has_attr(axis=1), [["softmax"]]),
    (SOFTMAX.has_attr(axis=lambda axis: axis > 0).has_dtype("f32").has_shape(2, None).has_rank(2), [["softmax"]]),
    (is_op("tensor.concat")(each_operand(wildcard)), [["concat"]]),
    (outputs(is_op("relax.multiply")(VALUE, wildcard()), is_op("tensor.concat")(wildcard(), VALUE)), [["multiply", "concat"]]),
])
def test_matches(pattern, expected):
    assert outcome(pattern)[0] == expected


@pytest.mark.parametrize("pattern, check, reason", [
    (is_op("relax.exp")(SOFTMAX), None, "expected relax.softmax, found relax.add"),
    (is_op("relax.matmul")(is_const(), wildcard()), None, "expected a constant, found an argument"),
    (is_op("relax.add")(VALUE, VALUE), None, "stands for one value, and would be both an argument and relax.matmul"),
    (SOFTMAX.has_attr(axis=0), None, "its attribute 'axis' is 1, expected 0"),
    (SOFTMAX.has_attr(axes=0), None, "it has no attribute 'axes'"),
    (SOFTMAX.has_dtype("f16"), None, "its elements are float32, expected float16"),
    (SOFTMAX.has_shape("n", 8), None, r"its shape is \[2, 8\], expected \[n, 8\]"),
    (SOFTMAX.has_rank(3), None, "its rank is 2, expected 3"),
    (is_op("relax.exp")(is_op("relax.add")(wildcard(), wildcard())), None, "the result of relax.add is also read outside, by func.return"),
    (SOFTMAX, lambda m: "not today", "not today"),
])
def test_reasons(pattern, check, reason):
    matches, reasons = outcome(pattern, check)
    assert matches == []
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError("\n".join(reasons))


def test_labels():
    seen = []
    pattern = MATMUL.named("mm").optional(lambda x: is_op("relax.add")(x, wildcard().named("bias")))
    outcome(pattern, lambda m: seen.append((m["mm"].type.dims, "bias" in m, [o.name for o in m.ops])) or True)
    assert seen == [((2, 8), True, ["relax.matmul", "relax.add"])]
    with pytest.raises(legato.LegatoError, match="has no part named 'mn'; it has: mm, bias"):
        outcome(pattern, lambda m: m["mn"])


@pytest.mark.parametrize("make, message", [
    (lambda: is_op("conv2d"), "takes full names of ops: 'relax.conv2d'"),
    (lambda: is_op("relax.exp")("x"), "must be a pattern"),
    (lambda: composite("a b", wildcard()), "cannot name a pattern"),
    (lambda: outcome(SOFTMAX, lambda m: None), "must return True or the reason"),
])
def test_errors(make, message):
    with pytest.raises(legato.LegatoError, match=message):
        make()
