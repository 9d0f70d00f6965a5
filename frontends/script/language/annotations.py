"""The values of words in annotations: ``T.Buffer``, ``T.handle``, ``R.Tensor``, ``R.Shape``, ``R.Tuple``."""

import math
from typing import Any

from legato.core.errors import LegatoError
from legato.frontends.script.language.types import DTYPES, BufferType, HandleType, ScalarType, ShapeInfo, TensorInfo, TupleInfo

MOST_DIMENSIONS = 64  # of a tensor that only its rank is given for


def buffer(shape: Any = (), dtype: Any = "float32", data: Any = None, strides: Any = None, elem_offset: Any = None,
           scope: str = "global", align: Any = None, offset_factor: Any = None, buffer_type: Any = None,
           axis_separators: Any = None) -> BufferType:
    """``T.Buffer((n, 128), "float32")``. ``strides`` have to be those of a row-major buffer without gaps; alignment is ignored.

    LegatoError for other strides, and for ``data`` or ``elem_offset``: a parameter has its own memory.
    """
    del align, offset_factor, buffer_type, axis_separators
    dtype = dtype.dtype if isinstance(dtype, ScalarType) else dtype
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if data is not None or elem_offset not in (None, 0):
        raise LegatoError("T.Buffer: a parameter is memory of its own: data and elem_offset say nothing here")
    for axis, stride in enumerate(strides or ()):
        behind = shape[axis + 1:]
        if all(isinstance(s, int) for s in (stride, *behind)) and stride != math.prod(behind):
            raise LegatoError(f"T.Buffer: the stride {stride} of dimension {axis}: buffers lie in memory row by row, without gaps, so that "
                              f"it is {math.prod(behind)}")
    return BufferType(shape, dtype, scope)


class BufferWord:
    """``T.Buffer(...)`` and the older ``T.Buffer[(128, 128), "float32"]``."""

    def __call__(self, *args: Any, **kwargs: Any) -> BufferType:
        return buffer(*args, **kwargs)

    def __getitem__(self, arguments: Any) -> BufferType:
        if isinstance(arguments, tuple) and len(arguments) == 2 and isinstance(arguments[1], str):
            return buffer(*arguments)
        return buffer(arguments)


class HandleWord(HandleType):
    """``T.handle``, and ``T.handle("float32")``, which means the same."""

    def __call__(self, *_: Any, **__: Any) -> HandleType:
        return self


def tensor(shape: Any = None, dtype: Any = None, vdevice: Any = None, ndim: int = -1) -> TensorInfo:
    """``R.Tensor((n, 128), "float32")``, ``R.Tensor("float32", ndim=2)``. LegatoError for a device, or a rank other than the shape's."""
    if isinstance(shape, str) and shape in DTYPES:
        shape, dtype, vdevice = None, shape, dtype if vdevice is None else vdevice
    if vdevice is not None:
        raise LegatoError(f"R.Tensor: the device {vdevice!r}: a module is compiled for one target, legato.compile(module, target=...)")
    if shape is not None and not isinstance(shape, (tuple, list, ShapeInfo)):
        raise LegatoError(f"R.Tensor takes a shape, a tuple of sizes, and a type of elements; not {shape!r}")
    if isinstance(shape, ShapeInfo):
        shape = shape.sizes
    dtype = dtype.dtype if isinstance(dtype, ScalarType) else dtype
    if not isinstance(ndim, int) or not -1 <= ndim <= MOST_DIMENSIONS:
        raise LegatoError(f"R.Tensor: ndim={ndim!r}: a tensor has 0 to {MOST_DIMENSIONS} dimensions")
    if shape is not None and ndim not in (-1, len(shape)):
        raise LegatoError(f"R.Tensor: {len(shape)} sizes, and ndim={ndim}")
    return TensorInfo(tuple(shape) if shape is not None else None, dtype, ndim if shape is None else len(shape))


def shape_info(sizes: Any = None, ndim: int = -1) -> ShapeInfo:
    """``R.Shape(["n", 4])``, ``R.Shape(ndim=2)``."""
    if sizes is None:
        return ShapeInfo(None, ndim)
    return ShapeInfo(tuple(sizes), len(sizes))


def tuple_info(*fields: Any) -> TupleInfo:
    """``R.Tuple(R.Tensor(...), R.Tensor(...))``, ``R.Tuple([R.Tensor(...), ...])``."""
    return TupleInfo(tuple(fields[0]) if len(fields) == 1 and isinstance(fields[0], (list, tuple)) else fields)
