"""A pattern with an op that its dialect lacks is refused, with the names that are near; it would never match."""
import pytest

import legato
from legato.core.mlir import ext
from legato.dialects import relax
from legato.dialects.relax.op import FLOAT, Operand
from legato.patterns import composite, is_op, wildcard
from legato.script import relax as R


class Dialect(ext.Dialect, name="named"):
    """A dialect of a user."""


class Pooled(relax.graph_op(Dialect), name="pooled"):
    """The operand."""

    x = Operand(FLOAT)
    result_type = staticmethod(lambda x: x)


@pytest.mark.parametrize("name, near", [
    ("relax.cnov2d", "relax.conv2d"), ("relax.nn.conv2d", "relax.conv2d"), ("relax.Softmax", "relax.softmax")])
def test_an_op_that_relax_lacks(name, near):
    with pytest.raises(legato.LegatoError, match=rf"^is_op: there is no op '{name}'; did you mean .*'{near}'"):
        is_op(name)
    with pytest.raises(legato.LegatoError, match=near):
        is_op("relax.add", name)


@pytest.mark.parametrize("pattern", [
    is_op("named.poled"), is_op("relax.relu")(is_op("named.poled")(wildcard())), is_op("relax.relu") | is_op("named.poled"),
    is_op("relax.relu").optional(lambda x: is_op("named.poled")(x)), is_op("relax.relu").repeated(lambda x: is_op("named.poled")(x))])
def test_an_op_that_a_users_dialect_lacks(pattern):
    """Found when the backend is used: a pattern may be written before the op."""
    class Mine(legato.Backend):
        name, patterns = "mine", [composite("pools", pattern)]

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return R.exp(x)

    said = r"the backend 'mine': the pattern 'pools': there is no op 'named\.poled'; did you mean 'named\.pooled'"
    with pytest.raises(legato.LegatoError, match=said):
        legato.compile(main, backends=[Mine])


@pytest.mark.parametrize("name", ["relax.add", "named.pooled", "tensor.concat", "relax.constant", "unknown.op", "arith.addf"])
def test_ops_that_there_are(name):
    legato.Backend.composites(type("Mine", (legato.Backend,), {"name": "mine", "patterns": [("one", is_op(name))]})())
