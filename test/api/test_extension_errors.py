"""What a user's target, rule, pattern, pass or schedule cannot be: an error that says what was expected."""
from pathlib import Path

import numpy as np
import pytest

import legato
from legato import kernels
from legato import relax as R
from legato import tir as T
from legato.patterns import composite, is_op, wildcard
from legato.targets.rule import intrinsic
from legato.tools import legato_compile


@R.function
def main(x: R.Tensor((4, 8), "float32")):
    return R.nn.softmax(x)


@T.prim_func
def twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)


class Nothing(legato.ModulePass):
    """Does nothing."""

    name = "nothing"

    def run(self, module, context):
        pass


class NoRun(legato.ModulePass):
    """Has only a name."""

    name = "no-run"


class OneArgument(legato.ModulePass):
    """Takes the module only."""

    name = "one-argument"

    def run(self, module):  # pyright: ignore[reportIncompatibleMethodOverride]
        pass


def target(**fields):
    return legato.compile(main, legato.Target(**{"name": "npu", "parents": ("llvm",), **fields}))


def rules(given):
    return legato.compile(main, rules=given)


def copied(k, x, out):
    return kernels.elementwise(out, [x], lambda x: x)


def split(factors):
    sch = legato.Schedule(twice)
    return sch.split(sch.get_loops(sch.get_block("B"))[0], factors)


RELU = is_op("relax.relu")
CASES = {
    "parents that are a text": (lambda: legato.Target("npu", parents="llvm"), r"parents are a tuple .*, parents=\('llvm',\); found 'llvm'"),
    "a parent of another type": (lambda: legato.Target("npu", parents=(3,)), "parents are a tuple of targets or their names.*found 3"),
    "stages that are a text": (lambda: target(stages="relax"), "'npu': stages are pairs of a name and passes as text.*found 'relax'"),
    "no stages": (lambda: target(stages=lambda one: None), "'npu': stages are pairs of a name and passes as text.*found None"),
    "stages that raise": (lambda: target(stages=lambda one: one.nothing), r"the stages of target 'npu' \(.*raised AttributeError"),
    "a schedule that is no text": (lambda: target(schedule_function=lambda function, machine: 3),
                                   "the schedule_function of target 'npu' returns a transform script as text, several, or None.*3"),
    "a target that is a name": (lambda: legato.register_target("npu"), r"a target is a value, legato.Target\('npu'.*not 'npu'"),
    "a form": (lambda: legato.legalize("relax.softmax", target="llvm", form="kernels"),
               "there is no form 'kernels'; the forms are kernel, rewrite, intrinsic"),
    "a predicate": (lambda: legato.kernel("relax.softmax", when="f32")(lambda k, x, out: x), "when=: a predicate is a function.*'f32'"),
    "several predicates": (lambda: legato.kernel("relax.softmax", when=(len, 3))(lambda k, x, out: x), "when=: .*found 3"),
    "a rule": (lambda: legato.kernel("relax.softmax")(3), "the rule of relax.softmax is no function: 3"),
    "a dtype": (lambda: legato.lower_intrinsic("math.exp", target="llvm", dtypes=("float32",))(lambda op, x: x),
                r"dtypes=: a tuple of element types as IR spells them.*\('float32',\)"),
    "dtypes that are a text": (lambda: legato.lower_intrinsic("math.exp", target="llvm", dtypes="f32")(lambda op, x: x), "found 'f32'"),
    "operands of a pattern": (lambda: RELU(wildcard(), wildcard()), "a pattern with 2 operands matches nothing: relax.relu has 1: x"),
    "no operands": (lambda: is_op("relax.add", "relax.multiply")(), "with 0 operands matches nothing: relax.add has 2: .*; relax.multiply"),
    "a check": (lambda: composite("relu", RELU(wildcard()), "f32"), "the check of the pattern 'relu' is a function of the match; .*'f32'"),
    "the class of a pass": (lambda: legato.Pipeline(["cse", Nothing]), r"Nothing is the class of one: write Nothing\(\)"),
    "the name of an op": (lambda: legato.legalize(["relax.exp"], target="llvm"), "@legato.legalize: ops are named by text.*'relax.exp'"),
    "several targets": (lambda: legato.legalize("relax.exp", target=["llvm", "nvvm"]), "target= is the name of one target, .*'nvvm'"),
    "a target with options": (lambda: legato.legalize("relax.exp", target="llvm{threads=2}"), "write target='llvm', and not 'llvm{thr"),
    "no names of ops": (lambda: legato.kernel(len), r"@kernel\(...\) takes the names of ops, such as .*found <built-in function len>"),
    "a priority": (lambda: legato.kernel("relax.exp", priority="high")(len), "priority=: an int, .*found 'high'"),
    "an operand to update": (lambda: legato.kernel("relax.exp", updates="x")(len), "updates=: the number of an operand.*found 'x'"),
    "no dtypes": (lambda: legato.lower_intrinsic("math.exp", target="llvm", dtypes=None)(len), "dtypes=: a tuple of .*found None"),
    "rules that are a function": (lambda: rules(len), "rules= takes a list of rules, or a map .*found <built-in function len>"),
    "one rule": (lambda: rules(legato.kernel("relax.exp")(len)), "rules= takes a list of rules, or a map .*found Rule"),
    "a rule of no op": (lambda: rules([legato.kernel("relax.exq")(len)]), "rules=: there is no op 'relax.exq'; did you mean"),
    "a rule of the wrong form": (lambda: rules([legato.kernel("math.exp")(len)]), "rules=: the rule len .*math.exp is no graph op: form"),
    "an operand beyond the last": (lambda: rules([legato.kernel("relax.softmax", updates=1)(len)]), "updates=1, and the op has 1 oper"),
    "a predicate without return": (lambda: rules([legato.kernel("relax.softmax", when=lambda op: None)(len)]),
                                   r"its predicate <lambda> \(api/test_extension_errors.py:\d+\) must return True or the reason.*None"),
    "a schedule in no file": (lambda: rules([legato.kernel("relax.softmax", schedule=Path("/none"))(copied)]), "there is no file /none"),
    "a name of a target": (lambda: target(name=3), "3 cannot name a target"),
    "options that are a list": (lambda: target(options=["tile"]), r"'npu': options are a dict of their defaults.*found \['tile'\]"),
    "the name of an option": (lambda: target(options={1: 2}), "'npu': 1 cannot name an option"),
    "the default of an option": (lambda: target(options={"tile": []}), "'npu': the default of the option 'tile' is a text, .*found \\[\\]"),
    "a function of a target": (lambda: target(make_machine=3), "'npu': make_machine is a function, found 3"),
    "a machine that fails": (lambda: target(make_machine=lambda options: options["lanes"]), "the make_machine of target 'npu' .*KeyError"),
    "a machine of no kind": (lambda: target(make_machine=lambda options: "fast"), "its machine, which describes no CPU either, is 'fast'"),
    "whether it runs": (lambda: target(runs="no"), "'npu': runs is True, False, or None .*found 'no'"),
    "one rule of a target": (lambda: target(rules=legato.kernel("relax.exp")(len)), "'npu': rules are a tuple, .*found Rule"),
    "rules of one decorator": (lambda: target(rules=(legato.kernel("relax.exp", "relax.tanh")(copied),)), r"write rules=\(\*copied, ...\)"),
    "a target's rule of no op": (lambda: target(rules=(legato.kernel("relax.exq")(len),)), "target 'npu': there is no op 'relax.exq'"),
    "a target's pass": (lambda: target(passes=(Nothing(),)), "'npu': passes are classes, such as .*, and no values of them"),
    "a target's dialect": (lambda: target(dialects=("mine",)), "'npu': dialects are classes.*found 'mine'"),
    "two stages of a name": (lambda: target(stages=(("relax", "cse"), ("relax", "cse"))), "'npu': two stages are named 'relax'"),
    "a pass of a stage": (lambda: target(stages=(("relax", "relax-cs"),)), "'npu': its stage 'relax': there is no pass \"relax-cs\""),
    "a pass without run": (lambda: legato.Pipeline([NoRun()]).run(main.module()), r"NoRun has no method run\(self, module, context\)"),
    "the arguments of a pass": (lambda: legato.Pipeline([OneArgument()]), r"OneArgument: its method is run\(self, module, context\)"),
    "a registered pass": (lambda: legato.register_pass(OneArgument), r"OneArgument: its method .* and not run\(self, module\)"),
    "one backend of a pipeline": (lambda: legato.Pipeline("cse", backends=3), "backends= takes several, and found 3: write backends="),
    "a name of a target of a pipeline": (lambda: legato.Pipeline("cse", targets=["llvm"]), "targets= takes values, .*found 'llvm'"),
    "a further pass of a pipeline": (lambda: legato.Pipeline("cse", extra_passes=[3]), "a pass is a subclass of legato.Module.*found 3"),
    "a function to partition": (lambda: legato.partition(main, []), "partition works on a legato.Module, in place, not on RelaxFunc"),
    "a factor that is no list": (lambda: split(4), r"split: the factors are a list, outermost first, such as \[None, 4\]; not 4"),
    "a knob without options": (lambda: legato.Schedule(twice).knob("width", []), "knob: 'width' has no options to choose from"),
    "a name that no op has": (lambda: legato.replace(main.module(), "/conv", twice), "no op is '/conv'; the model's ops have no names"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused(case):
    make, message = CASES[case]
    with pytest.raises(legato.LegatoError, match=message):
        make()


def test_a_file_that_is_cut_off_is_named(tmp_path, capsys):
    """By the class and by the tools."""
    (tmp_path / "cut.mlir").write_text("func.func @main(%x: tensor<4x8xf32>")
    with pytest.raises(legato.LegatoError, match=r'cut.mlir":1:\d+: expected'):
        legato.Module.load(tmp_path / "cut.mlir")
    assert legato_compile.main([str(tmp_path / "cut.mlir"), "--explain"]) != 0
    assert f"{tmp_path / 'cut.mlir'}:1:" in capsys.readouterr().err


def test_what_the_number_of_operands_is_not_known_of():
    """An op of a dialect that is not defined in Python, and one of several ops that fits."""
    is_op("linalg.matmul")(wildcard())
    is_op("relax.relu", "relax.add")(wildcard())


def test_a_predicate_may_answer_as_numpy_does():
    """A numpy.bool of a comparison of sizes; it was taken for a refusal with the reason True."""
    exe = legato.compile(main, rules=[legato.kernel("relax.softmax", when=lambda op: np.prod([4, 8]) > 4)(copied)])
    x = np.ones((4, 8), np.float32)
    np.testing.assert_array_equal(exe(x), x)


def test_all_element_types_are_known():
    """Of a rule for an intrinsic, as IR spells them."""
    spelled = ("f16", "bf16", "f32", "f64", "i1", "i8", "ui8", "i64", "ui64", "i4", "f8E4M3FN", "f6E2M3FN", "f4E2M1FN", "index")
    intrinsic("math.exp", dtypes=spelled)(lambda op, x: x)
