"""Broadcasting of axes of which only a call can tell whether they have size 1."""
from collections.abc import Sequence
from itertools import starmap

from legato.core.mlir import arith, bufferization, ir, memref, scf
from legato.dialects import tir
from legato.dialects.relax import dims as relax_dims
from legato.dialects.tir.plain import plain_type
from legato.targets.builders.sizes import dims, index, minus
from legato.targets.builders.structured import compute, extract, is_empty, loop_index, names
from legato.targets.rule import rewrite

DYNAMIC = ir.ShapedType.get_dynamic_size()


@rewrite("relax.dynamic_broadcast_to")
def dynamic_broadcast_to(op, x):
    """Where all sizes are the wanted ones already, x itself: nothing is copied, but for what main returns. Else a kernel clamps the indices
    of these axes."""
    x, result = op.plain(x), plain_type(op.output_types[0])
    shape, given = relax_dims.dims(op.output_types[0]), relax_dims.dims(op.input_types[0])
    known = [1 if size == 1 else 2 if size == wanted else 0 for size, wanted in zip(given, shape[len(shape) - len(given):])]
    if len(given) != len(shape) or any(is_one == 1 and wanted != 1 for is_one, wanted in zip(known, shape)):
        return _stretched(op, x, known)
    is_same = None
    for size, wanted, kind in zip(given, shape, known):
        if kind == 0:
            equal = arith.CmpIOp(arith.CmpIPredicate.eq, op.index(size), op.index(wanted)).result
            is_same = equal if is_same is None else arith.AndIOp(is_same, equal).result
    if is_same is None:
        return x
    if any(use.owner.name == "func.return" for use in op.op.operation.results[0].uses):
        return _stretched(op, x, known)
    either = scf.IfOp(is_same, [result], has_else=True)
    with ir.InsertionPoint(either.then_block):
        scf.YieldOp([_resized(x, result, [op.index(size) for size in shape])])
    with ir.InsertionPoint(either.else_block):
        scf.YieldOp(_stretched(op, x, known if known.count(0) > 1 else [kind or 1 for kind in known]))
    return either.results


def _stretched(op, x: ir.Value, known: list[int]) -> Sequence[ir.Value]:
    """``x`` by a kernel; where only a call can tell whether its rows have one element, by one of two, each of which reads vectors."""
    result, sizes = plain_type(op.output_types[0]), op.sizes(op.output_types[0])

    def call(known: list[int]) -> Sequence[ir.Value]:
        return op.call_built(_clamped(known), [x], [result], [sizes])

    if not known or known[-1] != 0:
        return call(known)
    row = [op.index(relax_dims.dims(type_)[-1]) for type_ in (op.output_types[0], op.input_types[0])]
    either = scf.IfOp(arith.CmpIOp(arith.CmpIPredicate.eq, *row).result, [result], has_else=True)
    for block, kind in ((either.then_block, 2), (either.else_block, 1)):
        with ir.InsertionPoint(block):
            scf.YieldOp(call([*known[:-1], kind]))
    return either.results


def _resized(x: ir.Value, type_: ir.RankedTensorType, sizes: list[ir.Value]) -> ir.Value:
    """The memory of ``x``, whose sizes are these, with them as the sizes of its type, so that they can be read off both branches."""
    one = arith.ConstantOp(ir.IndexType.get(), 1).result
    strides, static = [one], [1]
    for size, number in zip(reversed(sizes[1:]), reversed(type_.shape[1:])):
        strides.insert(0, arith.MulIOp(size, strides[0]).result)
        static.insert(0, DYNAMIC if DYNAMIC in (number, static[0]) else number * static[0])
    buffer = bufferization.ToBufferOp(ir.MemRefType.get(x.type.shape, x.type.element_type), x, read_only=True).result
    shaped = ir.MemRefType.get(type_.shape, type_.element_type)
    again = memref.ReinterpretCastOp(shaped, buffer, [], [s for s, n in zip(sizes, type_.shape) if n == DYNAMIC],
                                     [s for s, n in zip(strides, static) if n == DYNAMIC], [0], list(type_.shape), static).result
    return bufferization.ToTensorOp(type_, again, restrict=True).result


def _clamped(known: list[int]) -> tir.KernelBody:
    """The kernel. ``known``: for each axis of x whether its size is 1 (1), the result's (2), or one of these (0)."""
    def body(ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        (x,), (out,) = ins, outs
        if is_empty(out):
            return outs
        before, last = out.type.rank - len(known), [minus(size, 1) for size in dims(x)]

        def place(axis: int, kind: int) -> ir.Value:
            if kind == 1:
                return index(0)
            number = loop_index(before + axis)
            return number if kind == 2 else arith.minsi(number, index(last[axis]))

        return [compute(out, ", ".join(names(out.type.rank)), [], lambda _: extract(x, list(starmap(place, enumerate(known)))))]

    return body


RULES = (dynamic_broadcast_to,)
