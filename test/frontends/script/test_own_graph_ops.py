"""Graph ops of a user's dialect in scripts: ``R.acme.scaled_relu(x, factor=2.0)``."""
import re

import numpy as np
import pytest

import legato
from legato.dialects import relax
from legato.dialects.relax.attributes import Float
from legato.dialects.relax.op import FLOAT, Operand
from legato.mlir import ext
from legato.script import parse, print_script
from legato.script import relax as R
from legato.targets.rule import kernel


class OwnWords(ext.Dialect, name="own_words"):
    """A dialect of graph ops."""


class ScaledRelu(relax.graph_op(OwnWords), name="scaled_relu"):
    """max(x, 0) * factor."""

    x = Operand(FLOAT)
    factor = Float(1.0)

    @staticmethod
    def result_type(x, factor):
        return x

    @staticmethod
    def compute(x, factor):
        return np.maximum(x, 0) * x.dtype.type(factor)


class Parts(relax.graph_op(OwnWords), name="parts"):
    """The positive and the negative part."""

    RESULTS = ("positive", "negative")
    x = Operand(FLOAT)

    @staticmethod
    def result_type(x):
        return x, x

    @staticmethod
    def compute(x):
        return np.maximum(x, 0), np.minimum(x, 0)


@kernel("own_words.parts")
def both(k, x, positive, negative):
    e = legato.kernels.element(k.input_types[0])
    return (legato.kernels.elementwise(positive, [x], lambda x: e.max(x, e.const(0))),
            legato.kernels.elementwise(negative, [x], lambda x: e.min(x, e.const(0))))


@kernel("own_words.scaled_relu")
def rule(k, x, out):
    return legato.kernels.pointwise(k, out, [x], lambda e, x: e.mul(e.max(x, e.const(0)), e.const(k.attrs["factor"])))


X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    with R.dataflow():
        y = R.own_words.scaled_relu(x + 0.5, factor=2.0)
        R.output(y)
    return y


def test_it_is_built_and_compiled():
    np.testing.assert_array_equal(legato.compile(main, rules=[rule])(X), np.maximum(X + np.float32(0.5), 0) * 2)


@R.function
def parts(x: R.Tensor(("n", 4), "float32")):
    positive, negative = R.own_words.parts(x)
    return positive, negative


def test_an_op_of_two_results():
    for function in (parts, parse(print_script(parts.module()))):
        positive, negative = legato.compile(function, rules=[both])(X)
        np.testing.assert_array_equal(positive, np.maximum(X, 0))
        np.testing.assert_array_equal(negative, np.minimum(X, 0))


def test_it_is_printed_as_a_script_that_parses():
    text = print_script(main.module())
    assert "R.own_words.scaled_relu(" in text and "factor=2.0" in text
    again = parse(text)
    np.testing.assert_array_equal(legato.compile(again, rules=[rule])(X), np.maximum(X + np.float32(0.5), 0) * 2)


@pytest.mark.parametrize(("call", "message"), [
    ("R.own_words.scaled(x)", "the dialect 'own_words' has no graph op 'scaled'; it has R.own_words.scaled_relu, R.own_words.parts"),
    ("R.own_words.scaled_relu(x, by=2.0)", "R.own_words.scaled_relu has no argument 'by'; it has x, factor"),
    ("R.no_words.scaled_relu(x)", "there is no op R.no_words.scaled_relu"),
])  # fmt: skip
def test_mistakes_are_told_at_their_line(call, message):
    with pytest.raises(legato.LegatoError, match=rf"own.py:4:\d+: {re.escape(message)}"):
        parse(f'\n@R.function\ndef f(x: R.Tensor((4,), "float32")):\n    return {call}\n', "own.py")
