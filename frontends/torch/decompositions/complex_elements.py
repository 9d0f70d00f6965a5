"""Moves of complex numbers, and tensors of one, in terms of their real and imaginary parts."""
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten
_PLACES = ("index", "indices", "mask", "condition", "repeats")    # what such operands are called: no numbers of the result


def _apart(op: Any) -> Callable[..., Any]:
    """A linear op, or one that moves elements, of the parts of all complex tensors among its operands. A real operand has no imaginary
    part; numbers that are no values (axes, sizes) and the places of elements are the same for both."""
    values = [str(argument.type) == "number" for argument in op._schema.arguments]
    places = [argument.name in _PLACES for argument in op._schema.arguments]

    def linear(*operands: Any, **options: Any) -> Any:
        dtypes = [x.dtype for operand in operands for x in (operand if isinstance(operand, (list, tuple)) else [operand])
                  if isinstance(x, torch.Tensor) and x.dtype.is_complex]
        if not dtypes or (isinstance(operands[0], torch.Tensor) and op is aten.copy.default and not operands[0].is_complex()):
            return NotImplemented
        if isinstance(options.get("dtype"), torch.dtype):
            options["dtype"] = options["dtype"].to_real()

        def part(operand: Any, real: bool, at: int) -> Any:
            if places[at] or operand is None:
                return operand
            if isinstance(operand, (list, tuple)):
                return [part(one, real, at) for one in operand]
            if isinstance(operand, torch.Tensor):
                dtype = dtypes[0].to_real()
                if operand.is_complex():
                    return operand.real if real else operand.imag
                return operand.to(dtype) if real else torch.zeros_like(operand, dtype=dtype)
            return (operand.real if real else operand.imag) if values[at] else operand

        real, imaginary = (op(*(part(operand, which, at) for at, operand in enumerate(operands)), **options) for which in (True, False))
        if isinstance(real, (list, tuple)):
            return [torch.complex(a, b) for a, b in zip(real, imaginary, strict=True)]
        return torch.complex(real, imaginary)

    return linear


def _filled(sizes: Any, value: Any, dtype: Any) -> Any:
    """NotImplemented unless ``dtype``, or without one the number, is complex."""
    if dtype is None and isinstance(value, complex):
        dtype = torch.get_default_dtype().to_complex()
    if dtype is None or not dtype.is_complex:
        return NotImplemented
    value = complex(value)
    return torch.complex(*(torch.full(sizes, part, dtype=dtype.to_real()) for part in (value.real, value.imag)))


def _where(condition: Any, *choices: Any) -> Any:
    """Of a complex tensor and a number."""
    dtype = next((x.dtype for x in choices if isinstance(x, torch.Tensor) and x.is_complex()), None)
    if dtype is None:
        return NotImplemented
    return aten.where.self(condition, *(x if isinstance(x, torch.Tensor) else _filled((), x, dtype) for x in choices))


def _full(value: Any) -> Callable[..., Any]:
    return lambda sizes, *, dtype=None, **options: _filled(sizes, value, dtype)


def _full_like(value: Any) -> Callable[..., Any]:
    return lambda x, *, dtype=None, **options: _filled(x.shape, value, dtype or x.dtype)


def _new_full(value: Any) -> Callable[..., Any]:
    return lambda x, sizes, *, dtype=None, **options: _filled(sizes, value, dtype or x.dtype)


_LINEAR = (aten.unsqueeze.default, aten.select.int, aten.gather.default, aten.index_select.default, aten.index.Tensor, aten.where.self,
           aten.cumsum.default, aten.constant_pad_nd.default, aten.expand.default, aten.repeat.default, aten.tril.default,
           aten.triu.default, aten.diagonal.default, aten.scatter.src, aten.squeeze.default, aten.squeeze.dims,
           aten.select_scatter.default, aten.slice_scatter.default, aten.index_put.default, aten.scatter.value, aten.scatter_add.default,
           aten.index_add.default, aten.index_copy.default, aten.index_fill.int_Scalar, aten.index_fill.int_Tensor,
           aten.masked_fill.Scalar, aten.masked_fill.Tensor, aten.masked_scatter.default, aten.fill.Scalar, aten.fill.Tensor,
           aten.copy.default, aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int, aten.unfold.default,
           aten.repeat_interleave.self_int, aten.repeat_interleave.self_Tensor, aten.tile.default, aten.embedding.default,
           aten.pad.default, aten.diag_embed.default, aten.diagonal_scatter.default,
           aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default,
           aten.replication_pad1d.default, aten.replication_pad2d.default, aten.replication_pad3d.default)
COMPLEX_ELEMENTS = {
    **{op: _apart(op) for op in _LINEAR},
    aten.full.default: lambda sizes, value, *, dtype=None, **options: _filled(sizes, value, dtype),
    aten.full_like.default: lambda x, value, *, dtype=None, **options: _filled(x.shape, value, dtype or x.dtype),
    aten.new_full.default: lambda x, sizes, value, *, dtype=None, **options: _filled(sizes, value, dtype or x.dtype),
    aten.scalar_tensor.default: lambda value, *, dtype=None, **options: _filled((), value, dtype),
    aten.where.ScalarSelf: _where, aten.where.ScalarOther: _where,
    aten.zeros.default: _full(0), aten.ones.default: _full(1), aten.empty.memory_format: _full(0),
    aten.zeros_like.default: _full_like(0), aten.ones_like.default: _full_like(1), aten.empty_like.default: _full_like(0),
    aten.new_zeros.default: _new_full(0), aten.new_ones.default: _new_full(1), aten.new_empty.default: _new_full(0),
}
