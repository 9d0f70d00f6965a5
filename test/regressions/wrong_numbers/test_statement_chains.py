"""Kernels whose statements are whole operations, which passes cut, transpose and fuse again, give what numpy gives."""
import numpy as np
import pytest
from statement_chains import statement_chain
from thoroughly import sampled

import legato
from legato.core.cpu import missing_features
from legato.script import parse

LEVELS = [f"llvm{{cpu={cpu}}}" for cpu in ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4") if not missing_features(cpu, "")]


@pytest.mark.parametrize("seed", sampled(range(16), 2))
def test_random_chains(seed):
    chain = statement_chain(seed)
    random = np.random.default_rng(seed)
    arrays = {name: random.standard_normal(shape, np.float32) for name, shape in chain.shapes.items()}
    executable = legato.compile(parse(chain.text), LEVELS[seed % len(LEVELS)])
    found = executable(*[arrays[one.name.removesuffix("_")] for one in executable.inputs])
    expected = chain.reference(arrays)
    for one, other in zip(found if len(expected) > 1 else [found], expected, strict=True):
        np.testing.assert_allclose(np.from_dlpack(one), other, rtol=1e-3, atol=1e-4 * max(1, np.abs(other).max()), err_msg=chain.text)
