"""The pattern language: what matches, what does not, and the reason that is given."""
from typing import Any

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
    (is_op("relax.exp")(wildcard().has_attr(axes=0)), None, "it has no attribute 'axes'"),
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


def raises(*_):
    raise KeyError("oops")


MISSING = "must be a pattern"
NOTHING: Any = None
REFUSED = {
    "an op without its dialect": (lambda: is_op("conv2d"), "takes full names of ops: 'relax.conv2d'"),
    "an op that is a list": (lambda: is_op(["relax.exp"]), r"is_op takes names of ops, .*found \['relax.exp'\]"),
    "an operand": (lambda: is_op("relax.exp")("x"), f"an operand of the pattern relax.exp {MISSING}.*found 'x'"),
    "operands twice": (lambda: is_op("relax.exp")(wildcard())(wildcard()), "the pattern relax.exp has operands already: anything"),
    "operands, and each": (lambda: is_op("relax.add")(each_operand(wildcard), wildcard()), "each_operand.* stands alone in the operands"),
    "what makes operands": (lambda: each_operand(wildcard()), "each_operand takes a function .*found <pattern anything>"),
    "operands that are made": (lambda: each_operand(lambda: None), f"makes {MISSING}.*found None"),
    "several outputs as an operand": (lambda: is_op("relax.exp")(outputs(VALUE, VALUE)), r"outputs\(...\) are several"),
    "several outputs with a name": (lambda: outputs(VALUE, VALUE).named("x"), r"outputs\(...\) is no value: names and requirements"),
    "an output": (lambda: outputs(VALUE, 3), f"an output {MISSING}.*found 3"),
    "outputs that share nothing": (lambda: outputs(MATMUL, SOFTMAX), r"the output 1 \(relax.softmax\) shares no part with those before it"),
    "an alternative": (lambda: MATMUL | NOTHING, f"an alternative {MISSING}.*found None"),
    "an epilogue": (lambda: MATMUL.optional(3), "optional takes a function that makes a pattern.*found 3"),
    "an epilogue without return": (lambda: MATMUL.optional(lambda x: None), f"given to optional returns {MISSING}.*found None"),
    "an epilogue of something else": (lambda: MATMUL.optional(lambda x: SOFTMAX), r"\(relax.softmax\) must be made of the one that it is"),
    "a step that does nothing": (lambda: MATMUL.repeated(lambda x: x), r"to repeated returns \(relax.matmul\) must be made of"),
    "a number of steps": (lambda: MATMUL.repeated(is_op("relax.exp"), 5, 2), "0 <= at_least <= at_most, found at_least=5, at_most=2"),
    "a name": (lambda: VALUE.named(3), "the name of a part of a pattern is a text, .*found 3"),
    "a constraint": (lambda: VALUE.where("f32"), "where takes a function of the value that returns None or .*'f32'"),
    "an attribute": (lambda: SOFTMAX.has_attr(axes=0), "has_attr: relax.softmax has no attribute 'axes'; did you mean 'axis'"),
    "no element type": (lambda: VALUE.has_dtype(), "has_dtype takes the element types that match, .*found none"),
    "a shape that is a list": (lambda: VALUE.has_shape([2, 8]), r"has_shape takes sizes: .*found \[2, 8\]"),
    "a rank": (lambda: VALUE.has_rank("2"), "has_rank takes ranks, .*found '2'"),
    "a name of a composite": (lambda: composite("a b", SOFTMAX), "'a b' cannot name a pattern"),
    "a composite in reverse": (lambda: composite(SOFTMAX, "p"), "<pattern relax.softmax> cannot name a pattern"),
    "a composite without an op": (lambda: composite("p", wildcard() | is_const()), "the pattern 'p' has no op that defines its value"),
    "a composite with a name twice": (lambda: composite("p", is_op("relax.add")(VALUE.named("x"), is_const().named("x"))),
                                      "the pattern 'p' has two parts named 'x'"),
    "the answer of a check": (lambda: outcome(SOFTMAX, lambda m: None), "must return True or the reason"),
    "the answer of a constraint": (lambda: outcome(SOFTMAX.where(lambda ref: True)),
                                   r"constraint of a pattern on relax.softmax \(dialects/test_patterns.py:\d+\) must return None .*True"),
    "a constraint that raises": (lambda: outcome(SOFTMAX.where(raises)), "the constraint of a pattern on relax.softmax .*raised KeyError"),
    "a predicate that raises": (lambda: outcome(SOFTMAX.has_attr(axis=raises)), "on the attribute 'axis' of relax.softmax .*KeyErr"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors(case):
    make, message = REFUSED[case]
    with pytest.raises(legato.LegatoError, match=message):
        make()


def test_what_is_no_error():
    """An op as the step of a chain, one value by one name in two places, a name in two alternatives, and chains of many alternatives."""
    x = VALUE.named("x")
    many = is_op("relax.exp")(wildcard())
    for _ in range(40):
        many = many.optional(is_op("relax.exp"))
    assert outcome(many)[0] == [["exp", "exp"]]
    assert outcome(is_op("relax.multiply")(x, x) | is_op("relax.exp")(wildcard().named("x")))[0] == [["multiply"], ["exp"], ["exp"]]
    assert outcome(is_op("relax.exp")(wildcard()).repeated(is_op("relax.exp")))[0] == [["exp", "exp"]]
