"""An error in the user's code that Legato calls names that code: file, line and function, and the backend or rule."""
import re

import numpy as np
import pytest

import legato
from legato import kernels
from legato.artifacts import Closure
from legato.core.mlir import ext
from legato.dialects import Module, make_context, relax
from legato.dialects.relax.op import FLOAT, Operand
from legato.patterns import is_op, wildcard
from legato.script import relax as R
from legato.script import tir as T

HERE = r"messages/test_user_code\.py:\d+"


@R.function
def exponential(x: R.Tensor((4, 8), "float32")):
    return R.nn.relu(R.exp(x))


@T.prim_func
def of_three(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        B[i] = A[i]


def message(*arguments, **options):
    with pytest.raises(legato.LegatoError) as caught:
        legato.compile(*arguments, **options)
    return str(caught.value)


def returns(value):
    return lambda *_: value


def forgets(k, x, out):
    kernels.pointwise(k, out, [x], lambda e, x: e.add(x, x))


def helper():
    return {}["x"]


def fails(*_):
    return helper()


NONE, NO_VALUE = "it returns None: a return statement is missing", "a rule returns values, one for each result of the op"


@pytest.mark.parametrize("rules, name, said", [
    ({"relax.exp": forgets}, "forgets", NONE),
    ([legato.rewrite("relax.exp")(returns(None))], "<lambda>", NONE),
    ({"math.exp": returns(None)}, "<lambda>", NONE),
    ({"relax.exp": returns(3)}, "<lambda>", f"it returns 3: {NO_VALUE}"),
    ([legato.rewrite("relax.exp")(returns([3]))], "<lambda>", f"it returns [3]: {NO_VALUE}"),
    ({"math.exp": returns(1.0)}, "<lambda>", f"it returns 1.0: {NO_VALUE}"),
    ({"relax.exp": fails}, "fails", "KeyError"),
    ({"math.exp": fails}, "fails", "KeyError"),
    ([legato.kernel("relax.exp", when=fails)(forgets)], "forgets", "KeyError"),
])
def test_a_rule(rules, name, said):
    found = message(exponential, rules=rules)
    assert re.search(rf"the rule {name} \({HERE}\) of target 'llvm'", found) and said in found
    if said == "KeyError":
        assert re.search(rf"raised KeyError on (relax|math)\.exp: 'x' \(at {HERE} in helper\)", found)


@pytest.mark.parametrize("given, said", [
    ("no mlir", "custom op 'no' is unknown"),
    (None, "call_prim_func takes the MLIR text of a prim_func or a script's @T.prim_func, found None"),
    (exponential, "call_prim_func takes the MLIR text of a prim_func or a script's @T.prim_func, found"),
    (of_three, "'of_three' has (3) of f32 for argument 0; here it is (4, 8) of f32"),
    ("func.func @g(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }", "the prim_func for relax.exp takes tensor<4xf32>"),
])
def test_a_wrong_call_prim_func(given, said):
    @legato.rewrite("relax.exp")
    def calls(op, x):
        return op.call_prim_func(given)

    found = message(exponential, rules=[calls])
    assert re.search(rf"the rule calls \({HERE}\) of target 'llvm' on relax\.exp: ", found) and said in found


def backend(code=fails, check=None, passes=""):
    class Mine(legato.Backend):
        name, patterns, pipeline = "mine", [("exp", is_op("relax.exp")(wildcard()), check)], passes

        def codegen(self, module, options):
            return code(module)

    return Mine


def refuses(*_):
    raise legato.UnsupportedError("no exponentials")


@pytest.mark.parametrize("made, said", [
    (backend(), rf"its codegen \({HERE}\) raised KeyError: 'x' \(at {HERE} in helper\)"),
    (backend(refuses), "no exponentials"),
    (backend(returns(None)), "codegen returns artifacts"),
    (backend(check=fails), rf"the check of the pattern 'exp' \({HERE}\) raised KeyError: 'x' \(at {HERE} in helper\)"),
    (backend(check=lambda match: match["w"]), rf"the check of the pattern 'exp' \({HERE}\): this match .* has no part named 'w'"),
    (backend(check=returns(None)), "the check of the pattern 'exp' must return True"),
    (backend(passes="relax-nonsense"), 'there is no pass "relax-nonsense"'),
])
def test_a_backend(made, said):
    assert re.match(f"the backend 'mine': {said}", message(exponential, backends=[made]))


def test_a_refusal_of_a_backend_stays_of_its_kind():
    with pytest.raises(legato.UnsupportedError):
        legato.compile(exponential, backends=[backend(refuses)])


def test_a_backend_at_run_time():
    def negative(x, out):
        raise ValueError("negative")

    exe = legato.compile(exponential, backends=[backend(returns(Closure(negative)))])
    with pytest.raises(ValueError, match=r"^negative \(in 'mine\.exp_0' of the backend 'mine'\)"):
        exe(np.ones((4, 8), np.float32))


@pytest.mark.parametrize("attribute", ["schedule_function", "packing_function", "prepare_function"])
def test_a_function_of_a_target(attribute):
    @R.function
    def product(x: R.Tensor((64, 64), "float32")):
        return R.matmul(x, R.const(np.ones((64, 64), np.float32)))

    target = legato.Target("mine", parents=("llvm",), **{attribute: fails})
    said = rf"the {attribute} of target 'mine' \({HERE}\) raised KeyError: 'x' \(at {HERE} in helper\)"
    assert re.search(said, message(product, target))


class Dialect(ext.Dialect, name="blamed"):
    """Ops whose inference or semantics fail."""


class Breaks(relax.graph_op(Dialect), name="breaks"):
    """Fails in inference."""

    x = Operand(FLOAT)
    result_type = staticmethod(fails)


class Forgets(relax.graph_op(Dialect), name="forgets"):
    """Infers nothing."""

    x = Operand(FLOAT)
    result_type = staticmethod(returns(None))


class Computes(relax.graph_op(Dialect), name="computes"):
    """Fails when it is computed."""

    x = Operand(FLOAT)
    result_type = staticmethod(lambda x: x)
    compute = staticmethod(fails)


TEXT = """func.func @main() -> tensor<2xf32> {
  %x = "relax.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "blamed.NAME"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32> }"""


@pytest.mark.parametrize("name, said", [
    ("breaks", rf"result_type of blamed\.breaks \({HERE}\) raised KeyError: 'x' \(at {HERE} in helper\)"),
    ("forgets", rf"result_type of blamed\.forgets \({HERE}\) returns None: a return statement is missing"),
    ("computes", rf"compute of blamed\.computes \({HERE}\) raised KeyError: 'x' \(at {HERE} in helper\)"),
])
def test_an_op(name, said):
    with pytest.raises(legato.LegatoError, match=said):
        legato.compile(Module.parse(TEXT.replace("NAME", name), context=make_context([Dialect])))
