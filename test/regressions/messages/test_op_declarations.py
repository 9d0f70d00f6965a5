"""What the class of a user's graph op declares is checked where it is defined."""
import pytest

import legato
from legato.core.mlir import ext
from legato.dialects import relax
from legato.dialects.relax.attributes import Float
from legato.dialects.relax.op import FLOAT, Operand


class Declared(ext.Dialect, name="declared"):
    """A dialect of a user."""


OP = relax.graph_op(Declared)


def define(name="op", **members):
    return type("Op", (OP,), {"x": Operand(FLOAT), "result_type": staticmethod(lambda x: x), **members}, name=name)


class Taken(OP, name="taken"):
    """The operand."""

    x = Operand(FLOAT)
    result_type = staticmethod(lambda x: x)


def folded(**members):
    """An op on a constant, folded."""
    cls = define(f"op_{len(Declared.OPS)}", **members)
    graph = f"@R.function\ndef main():\n    return R.declared.{cls.OPERATION_NAME.split('.')[1]}(R.const([1.0, 2.0]))\n"
    legato.Pipeline("relax-fold-constants").run(legato.script.parse(graph))


CASES = {
    "a type that is none": (lambda: folded(result_type=staticmethod(lambda x: [3])), r"result_type of declared.op_.* it returned 3"),
    "nothing computed": (lambda: folded(compute=staticmethod(lambda x: None)), r"compute of declared.op_\d+ \(.*\) returns None: a return"),
    "a dialect": (lambda: relax.graph_op("acme"), r"graph_op takes a dialect, class Acme\(.*found 'acme'"),
    "kinds": (lambda: Operand("float"), "the kinds of elements that an operand accepts are FLOAT.*found 'float'"),
    "no kinds": (lambda: Operand(frozenset()), "the kinds of elements that an operand accepts"),
    "the class of operands": (lambda: define(y=Operand), r"Op: 'y' is the class Operand: write y = Operand\(...\)"),
    "the class of an attribute": (lambda: define(y=Float), r"Op: 'y' is the class Float: write y = Float\(...\)"),
    "a builder's parameter": (lambda: define(loc=Float(1.0)), "Op: an operand or attribute cannot be called 'loc'"),
    "results as a text": (lambda: define(RESULTS="values"), "Op: RESULTS are names, .*found 'values'"),
    "an op twice": (lambda: define("taken"), r"two ops of a dialect are named 'taken': .*\.Taken and .*\.Op"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused(case):
    make, message = CASES[case]
    with pytest.raises(legato.LegatoError, match=message):
        make()
