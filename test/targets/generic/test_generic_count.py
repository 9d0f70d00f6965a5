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


def sized(dtype: str) -> Module:
    """An add of two reshapes of x to sizes that another argument says."""
    element = {"ui8": "ui8", "i32": "i32", "i64": "i64", "ui64": "ui64"}[dtype]
    type_ = 'tensor<?x?xf32, #relax.dims<["h", "w"]>>'
    return legato.Module.parse(f"""func.func @main(%x: tensor<6x4xf32>, %k: tensor<2x{element}>, %z: tensor<{element}>) -> {type_} {{
      %a = "relax.size_of"(%k) {{sizes = #relax.dims<["h", "w"]>}} : (tensor<2x{element}>) -> tensor<?x?x0xi8, #relax.dims<["h", "w", 0]>>
      %b = "relax.size_of"(%z) {{sizes = #relax.dims<["unread"]>}} : (tensor<{element}>) -> tensor<?x0xi8, #relax.dims<["unread", 0]>>
      %y = "relax.reshape"(%x) {{shape = #relax.dims<["h", "w"]>}} : (tensor<6x4xf32>) -> {type_} loc("the reshape")
      %r = "relax.add"(%y, %y) : ({type_}, {type_}) -> {type_}
      return %r : {type_}
    }}""")


@pytest.mark.parametrize("dtype", ["ui8", "i32", "i64", "ui64"])
def test_size_of(dtype):
    exe, numpy = legato.compile(sized(dtype)), dtypes.as_dtype(dtype)
    x, zero = np.arange(24, dtype=np.float32).reshape(6, 4), np.array(0, numpy)
    for shape in ((3, 8), (24, 1), (1, 24)):
        np.testing.assert_array_equal(exe(x, np.array(shape, numpy), zero), x.reshape(shape) * 2)
    with pytest.raises(ValueError, match=r"the reshape.* needs h \* w to be 24.*\(expected 24, found 25\)"):
        exe(x, np.array((5, 5), numpy), zero)
    if dtype[0] == "i":
        with pytest.raises(ValueError, match="the size h, which they give, must be 0 or more"):
            exe(x, np.array((-3, -8), numpy), zero)
        with pytest.raises(ValueError, match="the size unread, which they give, must be 0 or more"):
            exe(x, np.array((3, 8), numpy), zero - 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_name_sizes(dtype):
    element, at = dtypes.spelling(dtype), 'tensor<?xi64, #relax.dims<["n"]>>'
    taken, named = (f'tensor<?x4x{element}, #relax.dims<["{rows}", 4]>>' for rows in ("n", "rows"))
    exe = legato.compile(legato.Module.parse(f"""func.func @main(%x: tensor<5x4x{element}>, %at: {at}) -> {named} {{
      %taken = "relax.take"(%x, %at) {{axis = 0 : i64}} : (tensor<5x4x{element}>, {at}) -> {taken}
      %y = "relax.name_sizes"(%taken) {{sizes = #relax.dims<["rows", 4]>}} : ({taken}) -> {named}
      return %y : {named}
    }}"""))
    x = np.arange(20).reshape(5, 4).astype(dtypes.as_dtype(dtype))
    for rows in (np.array(some, np.int64) for some in ([0, 3, 3], [], [4])):
        np.testing.assert_array_equal(exe(x, rows), x[rows])
