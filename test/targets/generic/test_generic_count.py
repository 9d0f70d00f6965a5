"""Ops whose results are as large as the data says, of all element types and ranks, compiled."""
import numpy as np
import pytest

import legato
from legato.core import dtypes
from legato.core.mlir import func, ir
from legato.dialects import Module, make_context, relax

DTYPES = ("f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "ui8", "ui64", "i1")
SHAPES = ((7,), (3, 5), (2, 3, 4), (1, 2, 1, 3), (0, 4))


def program(name: str, arrays: list[np.ndarray], symbolic: bool) -> Module:
    module = Module(ir.Module.create(make_context_location()))
    with module.context, ir.Location.unknown():
        types = []
        for number, array in enumerate(arrays):
            sizes = [f"d{number}_{axis}" if symbolic else size for axis, size in enumerate(array.shape)]
            types.append(relax.dims.tensor_type(sizes, dtypes.mlir_type(array.dtype)))
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", ir.FunctionType.get(types, []))
        with ir.InsertionPoint(main.add_entry_block()):
            results = [relax.OPS[name].build(argument) for argument in main.arguments]
            func.ReturnOp(results)
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [r.type for r in results]))
    return module


def make_context_location() -> ir.Location:
    return ir.Location.unknown(make_context())


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero(dtype, symbolic):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 2, shape).astype(dtypes.as_dtype(dtype)) for shape in SHAPES]
    if arrays[0].dtype.kind == "f":
        arrays[0][:3] = [-0.0, np.nan, np.inf]
    found = legato.compile(program("nonzero", arrays, symbolic))(*arrays)
    for array, one in zip(arrays, found, strict=True):
        np.testing.assert_array_equal(one, np.array(np.nonzero(array)).reshape(array.ndim, -1))
        assert one.dtype == np.int64
