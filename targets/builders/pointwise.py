"""Elementwise kernels of relax ops from a scalar expression; element types and broadcasting are handled here."""
from collections.abc import Callable, Sequence
from typing import Any

from legato.core.mlir import arith, ir
from legato.dialects.relax import dims as relax_dims
from legato.targets.builders.element import Element
from legato.targets.builders.sizes import dim, index
from legato.targets.builders.structured import broadcast_indices, compute, elementwise, extract, loop_index, names

Expression = Callable[..., ir.Value]


def element(type_: ir.Type) -> Element:
    """The element of a relax tensor type."""
    return Element(type_.element_type)


def read(scalar: ir.Value, kind: Element, contract: bool = False) -> ir.Value:
    """Converts a scalar from memory to the element to compute in: f16 and bf16 to f32, a boolean stored as a byte to i1. ``contract``: as
    in ``pointwise``."""
    if kind.is_bool and scalar.type != kind.type:
        return arith.cmpi(arith.CmpIPredicate.ne, scalar, arith.ConstantOp(scalar.type, 0).result)
    return kind.contracted(scalar, kind.wide) if contract else kind.cast(scalar, kind.wide)


def stored(scalar: ir.Value, kind: Element, memory: ir.Type, contract: bool = False) -> ir.Value:
    """Converts a computed scalar to the memory type ``memory``, for the relax element ``kind``: the inverse of ``read``."""
    if scalar.type == memory:
        return scalar
    if kind.is_bool:
        return arith.extui(memory, scalar)
    return kind.wide.contracted(scalar, kind) if contract else kind.wide.cast(scalar, kind)


def pointwise(k: Any, out: ir.Value, operands: Sequence[ir.Value], expression: Expression, contract: bool = False) -> ir.Value:
    """``out`` computed by a scalar expression of the op's operands, with numpy's broadcasting.

    ``expression(e, *scalars)``: ``e`` is the element to compute in (the first operand's; f32 for f16 and bf16, rounded once at the end);
    the scalars are converted by ``read``. It returns the result in that element, or an i1 if the op's result is boolean. ``contract``: the
    first operand need not be rounded to f16 or bf16 where the same kernel computes it, nor the result where the same kernel reads it so.
    """
    kinds = [element(t) for t in k.input_types[: len(operands)]]
    result = element(k.output_types[0])

    def body(*scalars: ir.Value) -> ir.Value:
        values = [read(s, kind, contract and place == 0) for place, (s, kind) in enumerate(zip(scalars, kinds))]
        return stored(expression(kinds[0].wide, *values), result, out.type.element_type, contract)

    unknown = [_unproven_axes(t, k.output_types[0]) for t in k.input_types[: len(operands)]] if len(operands) > 1 else []
    if any(unknown):
        return _broadcast_at_run_time(out, operands, unknown, body)
    return elementwise(out, operands, body)


def _unproven_axes(type_: ir.Type, out: ir.Type) -> list[int]:
    """The axes of an operand of unknown size, which may be 1 and broadcast at run time. A symbol never is 1."""
    sizes, out_sizes = relax_dims.dims(type_), relax_dims.dims(out)[out.rank - type_.rank:]
    return [i for i, (size, full) in enumerate(zip(sizes, out_sizes)) if size is relax_dims.UNKNOWN and full != 1]


def _broadcast_at_run_time(out: ir.Value, operands: Sequence[ir.Value], unknown: Sequence[Sequence[int]], body: Expression) -> ir.Value:
    """The loop nest for operands with sizes that may be 1 at run time: indices are clamped to their last element."""
    known = [v for v, axes in zip(operands, unknown) if not axes]
    lasts = [{a: arith.subi(index(dim(v, a)), index(1)) for a in axes} for v, axes in zip(operands, unknown)]

    def picking(*scalars: ir.Value) -> ir.Value:
        given, values = iter(scalars), []
        for value, axes, last in zip(operands, unknown, lasts):
            if not axes:
                values.append(next(given))
                continue
            offset = out.type.rank - value.type.rank
            places = [index(0) if value.type.shape[a] == 1 else loop_index(a + offset) for a in range(value.type.rank)]
            values.append(extract(value, [arith.minsi(p, last[a]) if a in last else p for a, p in enumerate(places)]))
        return body(*values)

    return compute(out, ", ".join(names(out.type.rank)), [(v, broadcast_indices(v, out.type.shape)) for v in known], picking)
