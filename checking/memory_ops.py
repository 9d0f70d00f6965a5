"""Ops of tensor, memref and bufferization as main has them, on arrays and on memory."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from legato.checking.buffers import Memory, contiguous, memory_dtype, poison
from legato.checking.errors import Misbehaved, NotEvaluated
from legato.core.dtypes import array_of
from legato.core.mlir import ir

DYNAMIC = ir.ShapedType.get_dynamic_size()


def shape_of(type_: ir.Type, sizes: Sequence[int]) -> tuple[int, ...]:
    """The shape of a type whose dynamic sizes are given, in order."""
    given = iter(sizes)
    return tuple(int(next(given)) if size == DYNAMIC else size for size in type_.shape)


def _slice(op: ir.Operation, dynamic: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Offsets, sizes and strides of an op that has them as static arrays, and their dynamic ones as operands."""
    given = iter(dynamic)
    return tuple([int(next(given)) if n == DYNAMIC else n for n in op.attributes[f"static_{what}"]]
                 for what in ("offsets", "sizes", "strides"))  # pyright: ignore[reportReturnType]


def _slices(op: ir.Operation, dynamic: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    offsets, sizes, strides = _slice(op, dynamic)
    for offset, size, stride, extent in zip(offsets, sizes, strides, shape):
        if size and (offset < 0 or offset + (size - 1) * stride >= extent):
            raise Misbehaved(f"{op.name} takes {size} elements from {offset} in steps of {stride}, of {extent}")
    return tuple(slice(o, o + (n - 1) * s + 1 if n else o, s) for o, n, s in zip(offsets, sizes, strides))


def _fresh(op: ir.Operation, sizes: Sequence[int]) -> np.ndarray:
    type_ = op.results[0].type
    return poison(np.empty(shape_of(type_, sizes), memory_dtype(type_.element_type)))


def _groups(op: ir.Operation) -> list[list[int]]:
    return [[n.value for n in ir.ArrayAttr(group)] for group in op.attributes["reassociation"]]


def _expanded(op: ir.Operation, given: Sequence[int]) -> tuple[int, ...]:
    dynamic = iter(given)
    return tuple(int(next(dynamic)) if n == DYNAMIC else n for n in op.attributes["static_output_shape"])


def _collapsed(op: ir.Operation, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(np.prod([shape[n] for n in group], dtype=np.int64)) for group in _groups(op))


def _insert(op: ir.Operation, source: np.ndarray, into: np.ndarray, *dynamic: int) -> np.ndarray:
    result = into.copy()
    chosen = _slices(op, dynamic, into.shape)
    result[chosen] = source.reshape(result[chosen].shape)
    return result


def _bitcast(op: ir.Operation, x: np.ndarray) -> np.ndarray:
    dtype = memory_dtype(op.results[0].type.element_type)
    return x if x.dtype == dtype else x.view(dtype)


def _from_elements(op: ir.Operation, *values: Any) -> np.ndarray:
    type_ = op.results[0].type
    return np.array(values, memory_dtype(type_.element_type)).reshape(type_.shape)


def _alloc_tensor(op: ir.Operation, *operands: Any) -> np.ndarray:
    arrays = [one for one in operands if isinstance(one, np.ndarray)]
    return arrays[0].copy() if arrays else _fresh(op, operands)


def _materialize(op: ir.Operation, source: Any, into: Any) -> Any:
    if isinstance(into, Memory):
        into.array()[...] = source
        return None
    return source


def _reinterpret(op: ir.Operation, source: Memory, *dynamic: int) -> Memory:
    (offset,), sizes, strides = _slice(op, dynamic)
    return replace(source, offset=offset, sizes=tuple(sizes), strides=tuple(strides))


def _subview(op: ir.Operation, source: Memory, *dynamic: int) -> Memory:
    offsets, sizes, steps = _slice(op, dynamic)
    start = source.offset + sum(o * s for o, s in zip(offsets, source.strides))
    strides = [step * stride for step, stride in zip(steps, source.strides)]
    kept = kept_axes(sizes, op.results[0].type.shape)
    return replace(source, offset=start, sizes=tuple(sizes[n] for n in kept), strides=tuple(strides[n] for n in kept))


def kept_axes(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The axes of ``sizes`` that remain in a type of less rank: sizes of 1 are dropped."""
    kept, drop = [], len(sizes) - len(shape)
    for n, size in enumerate(sizes):
        at = len(kept)
        fits = at < len(shape) and shape[at] in (size, DYNAMIC)
        if drop and size == 1 and not (fits and len(sizes) - n - drop > len(shape) - at - 1 and shape[at] == 1):
            drop -= 1
        else:
            kept.append(n)
    return kept


def _memory_shape(op: ir.Operation, source: Memory, sizes: tuple[int, ...]) -> Memory:
    if source.strides == contiguous(source.sizes) or 0 in source.sizes:
        return replace(source, sizes=sizes, strides=contiguous(sizes))
    view = source.array()
    reshaped = view.view()
    reshaped.shape = sizes   # an AttributeError would be a copy
    return replace(source, sizes=sizes, strides=tuple(s // source.dtype.itemsize for s in reshaped.strides))


def _view(op: ir.Operation, source: Memory, shift: int, *sizes: int) -> Memory:
    type_ = op.results[0].type
    dtype, shape = memory_dtype(type_.element_type), shape_of(type_, sizes)
    base = source.base + source.offset * source.dtype.itemsize + shift
    return Memory(source.root, dtype, 0, shape, contiguous(shape), base)


def _load(op: ir.Operation, source: Memory, *indices: int) -> Any:
    found = source.array()[_inside(op, source, indices)]
    return int(found) if isinstance(op.results[0].type, ir.IndexType) else found


def _store(op: ir.Operation, value: Any, into: Memory, *indices: int) -> None:
    into.array()[_inside(op, into, indices)] = value


def _inside(op: ir.Operation, memory: Memory, indices: Sequence[int]) -> tuple[int, ...]:
    if any(not 0 <= i < size for i, size in zip(indices, memory.sizes)):
        raise Misbehaved(f"{op.name} at {list(indices)} of a buffer of {list(memory.sizes)}")
    return tuple(indices)


def _copy(op: ir.Operation, source: Memory, into: Memory) -> None:
    into.array()[...] = source.array().copy()


def _metadata(op: ir.Operation, source: Memory) -> tuple[Any, ...]:
    base = replace(source, offset=0, sizes=(), strides=())
    rank = op.operands[0].type.rank   # an argument of main is a bare pointer, of no axes
    return (base, source.offset, *source.sizes[:rank], *source.strides[:rank])


def _dim(op: ir.Operation, x: Any, axis: int) -> int:
    sizes = x.sizes if isinstance(x, Memory) else x.shape
    return int(sizes[axis])


def _fill(op: ir.Operation, value: Any, into: Any) -> Any:
    if isinstance(into, Memory):
        into.array()[...] = value
        return None
    return np.full_like(into, value)


def _same(op: ir.Operation, x: Any, *_: Any) -> Any:
    return x


def _memory_of_array(op: ir.Operation, x: np.ndarray) -> Memory:
    return Memory.holding(x)


Work = Callable[..., Any]
OPS: dict[str, Work] = {
    "tensor.empty": lambda op, *sizes: _fresh(op, sizes), "tensor.dim": _dim, "memref.dim": _dim,
    "tensor.cast": _same, "tensor.bitcast": _bitcast, "builtin.unrealized_conversion_cast": _same,
    "tensor.extract_slice": lambda op, x, *d: x[_slices(op, d, x.shape)].reshape(
        tuple(_slice(op, d)[1][n] for n in kept_axes(_slice(op, d)[1], op.results[0].type.shape))),
    "tensor.insert_slice": _insert, "tensor.from_elements": _from_elements,
    "tensor.expand_shape": lambda op, x, *d: x.reshape(_expanded(op, d)),
    "tensor.collapse_shape": lambda op, x: x.reshape(_collapsed(op, x.shape)),
    "tensor.reshape": lambda op, x, shape: x.reshape([int(n) for n in shape]),
    "tensor.extract": lambda op, x, *i: int(x[i]) if isinstance(op.results[0].type, ir.IndexType) else x[i],
    "tensor.splat": lambda op, x, *sizes: np.full(shape_of(op.results[0].type, sizes), x),
    "bufferization.alloc_tensor": _alloc_tensor, "bufferization.materialize_in_destination": _materialize,
    "bufferization.to_tensor": lambda op, m: m.array().copy(), "bufferization.to_buffer": _memory_of_array,
    "bufferization.dealloc_tensor": lambda op, x: None,
    "linalg.fill": _fill,
    "linalg.copy": lambda op, a, b: _copy(op, a, b) if isinstance(a, Memory) else a,
    "memref.alloc": lambda op, *sizes: Memory.fresh(memory_dtype(op.results[0].type.element_type), shape_of(op.results[0].type, sizes)),
    "memref.alloca": lambda op, *sizes: Memory.fresh(memory_dtype(op.results[0].type.element_type), shape_of(op.results[0].type, sizes)),
    "memref.dealloc": lambda op, m: None, "memref.cast": _same, "memref.memory_space_cast": _same, "memref.assume_alignment": _same,
    "memref.reinterpret_cast": _reinterpret, "memref.subview": _subview, "memref.view": _view,
    "memref.expand_shape": lambda op, m, *d: _memory_shape(op, m, _expanded(op, d)),
    "memref.collapse_shape": lambda op, m: _memory_shape(op, m, _collapsed(op, m.sizes)),
    "memref.load": _load, "memref.store": _store, "memref.copy": _copy,
    "memref.extract_strided_metadata": _metadata,
    "ub.poison": lambda op: 0,
}


def global_value(module: ir.Operation, name: str) -> Memory:
    """The memory of a memref.global. NotEvaluated for one without a value."""
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "memref.global" and op.attributes["sym_name"].value == name:
            value = op.attributes["initial_value"]
            if isinstance(value, ir.DenseElementsAttr):
                return Memory.holding(array_of(value))
    raise NotEvaluated(f"memref.global @{name} has no value")
