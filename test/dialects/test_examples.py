"""The example in each op's documentation parses, verifies, prints and parses to the same again, and computes what it infers."""

import numpy as np
import pytest
from cases import counted

from legato.dialects import Module, docs, make_context, relax
from legato.dialects.relax import TensorType

CONTEXT = make_context()
RNG = np.random.default_rng(7)


@pytest.mark.parametrize("name", relax.OPS)
def test_round_trip(name):
    text = str(Module.parse(docs.example_module(relax.OPS[name]), context=CONTEXT))
    assert str(Module.parse(text, context=CONTEXT)) == text
    assert f'"relax.{name}"' in text or "tensor.concat" in text


@pytest.mark.parametrize("name", relax.OPS)
def test_has_a_summary(name):
    first = docs.summary(relax.OPS[name]).split("\n")[0]
    assert first.endswith((".", ":")) and len(first) > 4


def random_array(sizes, dtype):
    sizes = [s if isinstance(s, int) else 3 for s in sizes]
    if dtype.kind == "f":
        return RNG.standard_normal(sizes).astype(dtype)
    return RNG.integers(0, 2, sizes).astype(dtype)


@pytest.mark.parametrize("name", [n for n in relax.OPS if n != "constant"])
def test_computes_what_it_infers(name):
    module = Module.parse(docs.example_module(relax.OPS[name]), context=CONTEXT)
    op = module.function("example").entry_block.operations[0]
    arrays = [random_array(t.dims, t.dtype) for t in map(TensorType.of, (v.type for v in op.operands))]
    (result,) = relax.evaluate(op, arrays, {"n": 3})
    inferred = counted(name, TensorType.of(relax.infer_op(op)[0]), result.shape)
    assert result.dtype == inferred.dtype
    assert result.shape == tuple(relax.dims.substitute(s, {"n": 3}) for s in inferred.dims)
