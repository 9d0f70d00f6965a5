"""Shape inference: it agrees with the numpy semantics, and symbolic inference agrees with static inference."""

from dataclasses import replace

import numpy as np
import pytest
from cases import CASES, counted

from legato.core.dtypes import as_dtype, kind
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects import make_context, relax
from legato.dialects.relax import TensorType, dims

CONTEXT = make_context()


@pytest.fixture(autouse=True)
def _in_context():
    with CONTEXT, ir.Location.unknown():
        yield


def infer(case, types):
    return TensorType.of(relax.OPS[case.op].infer([t.ir() for t in types], case.attrs)[0])


def static_types(case):
    return [TensorType(shape, case.dtype(number)) for number, shape in enumerate(case.shapes)]


def test_every_op_has_a_case():
    assert {case.op for case in CASES} | {"constant"} == set(relax.OPS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_inferred_is_what_is_computed(case):
    result = relax.OPS[case.op].semantics(*case.arrays(), **case.attrs)
    assert counted(case.op, infer(case, static_types(case)), result.shape) == TensorType(result.shape, result.dtype)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f64", "i8", "ui16", "i64", "i1", "f8E4M3FN", "ui4"])
def test_every_op_keeps_or_refuses_the_element_type(dtype):
    for case in CASES:
        cls = relax.OPS[case.op]
        shared = [n for n in range(len(case.shapes)) if case.op == "concat" or not cls.OPERANDS[n].own_dtype]
        if not shared or case.dtype(shared[0]).kind != "f" or case.op == "bitcast":
            continue
        arrays = [np.abs(a).astype(as_dtype(dtype)) if n in shared else a for n, a in enumerate(case.arrays())]
        types = [TensorType(a.shape, a.dtype) for a in arrays]
        reduces = kind(dtype) == "narrow" and case.attrs.get("reduction", "none") != "none"
        if reduces or (case.op != "concat" and kind(dtype) not in cls.OPERANDS[shared[0]].kinds):
            with pytest.raises(LegatoError, match=r"nothing computes in" if reduces else r"must have .* elements"):
                infer(case, types)
            continue
        result = cls.semantics(*arrays, **case.attrs)
        assert counted(case.op, infer(case, types), result.shape) == TensorType(result.shape, result.dtype), case
        if kind(dtype) == "float" and result.dtype == arrays[shared[0]].dtype:
            wide = cls.semantics(*[a.astype(np.float64) if n in shared else a for n, a in enumerate(arrays)], **case.attrs)
            tolerance = {"f16": 2e-3, "bf16": 2e-2, "f64": 0}[dtype]
            with np.errstate(over="ignore"):  # too large for f16 is infinite
                wide = wide.astype(result.dtype).astype(np.float64)
            scale = np.abs(wide[np.isfinite(wide)]).max(initial=0)
            np.testing.assert_allclose(result.astype(np.float64), wide, tolerance, tolerance * scale, err_msg=str(case))


@pytest.mark.parametrize("case", [c for c in CASES if c.dynamic], ids=str)
def test_symbols_give_the_static_shape(case):
    values = {f"d{size}": size for size in case.dynamic}

    def symbolic(size):
        return dims.symbol(f"d{size}") if size in case.dynamic else size

    types = static_types(case)
    attrs = {name: [symbolic(s) for s in value] if name == "shape" else value for name, value in case.attrs.items()}
    inferred = infer(replace(case, attrs=attrs), [t.with_dims(map(symbolic, t.dims)) for t in types])
    assert dims.UNKNOWN not in inferred.dims
    assert tuple(dims.substitute(size, values) for size in inferred.dims) == infer(case, types).dims


@pytest.mark.parametrize("case", [c for c in CASES if c.op not in ("reshape", "squeeze")], ids=str)
def test_unknown_sizes_give_a_shape_that_fits(case):
    """Each size alone unknown: inference neither fails nor contradicts the static shape."""
    types = static_types(case)
    expected = infer(case, types)
    for number, operand in enumerate(types):
        for axis in range(operand.rank):
            if (number > 0 and case.op.startswith("conv")) or (
                case.op in ("gather_nd", "scatter_nd") and number == 1 and axis == operand.rank - 1
            ):
                continue  # kernels and index depths must be static
            unknown = operand.with_dims(dims.UNKNOWN if a == axis else s for a, s in enumerate(operand.dims))
            inferred = infer(case, [*types[:number], unknown, *types[number + 1 :]])
            assert all(map(dims.compatible, inferred.dims, expected.dims))


def test_sizes_in_attributes_may_be_symbols():
    x = TensorType((dims.symbol("n"), 768), np.dtype(np.float32))
    shape = relax.OPS["reshape"].infer([x.ir()], {"shape": ["n", 12, -1]})[0]
    assert str(shape) == 'tensor<?x12x64xf32, #relax.dims<["n", 12, 64]>>'
    part = relax.OPS["strided_slice"].infer([TensorType((512, 8), x.dtype).ir()], {"begin": ["k"], "end": ["n + k"]})[0]
    assert str(part) == 'tensor<?x8xf32, #relax.dims<["n", 8]>>'
