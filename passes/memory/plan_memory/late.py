"""Main's requests to the entry in the middle of a call, for data-dependent sizes. tir-lower-packed defines these functions."""
from collections.abc import Sequence

from legato.core.mlir import arith, func, ir
from legato.dialects.relax.dims import Size
from legato.dialects.tir.markers import LATE, LATE_ARENA, LATE_CHECK, LATE_RESULT, LATE_TURN
from legato.passes.memory.plan_memory.arguments import DYNAMIC, SizeValues, with_shape

ARENA, RESULT, TURN = LATE_ARENA, LATE_RESULT, LATE_TURN


def check(main: func.FuncOp, number: int, sizes: Sequence[ir.Value]) -> None:
    """Checks a requirement of main: one size must not be negative, or two must be equal."""
    _call(main, LATE_CHECK, [_index(number), *sizes], [], f"_{len(sizes)}")


def arena(main: func.FuncOp, number: int, bytes_: Size, values: SizeValues) -> ir.Value:
    """Memory for the buffers of a stage."""
    return _memory(main, ARENA, number, bytes_, values)


def turn(main: func.FuncOp, number: int, bytes_: Size, values: SizeValues) -> ir.Value:
    """Memory for what a loop carries to its next step: in turn one of two arenas, of which ``number`` is the first."""
    return _memory(main, TURN, number, bytes_, values)


def _memory(main: func.FuncOp, kind: str, number: int, bytes_: Size, values: SizeValues) -> ir.Value:
    type_ = ir.MemRefType.get([], ir.IntegerType.get_signless(8))
    memory = _call(main, kind, [_index(number), values(bytes_)], [type_])
    shaped = ir.MemRefType.get([bytes_ if isinstance(bytes_, int) else DYNAMIC], type_.element_type)
    return with_shape(memory, shaped, (bytes_,), values)


def result(main: func.FuncOp, number: int, shape: Sequence[Size], type_: ir.MemRefType, values: SizeValues) -> ir.Value:
    """Memory for a result of main. ``type_``: a rank-0 memref."""
    return _call(main, RESULT, [_index(number), *map(values, shape)], [type_], f"_{number}")


def _index(value: int) -> ir.Value:
    return arith.ConstantOp(ir.IndexType.get(), value).result


def _call(main: func.FuncOp, name: str, operands: Sequence[ir.Value], results: Sequence[ir.Type], suffix: str = "") -> ir.Value | None:
    """A call of a declaration, which is made at its first use."""
    module = main.operation.parent.regions[0].blocks[0]
    symbol = name + suffix
    if not any(isinstance(op, func.FuncOp) and op.name.value == symbol for op in module.operations):
        with ir.InsertionPoint.at_block_begin(module), ir.Location.unknown():
            made = func.FuncOp(symbol, ir.FunctionType.get([v.type for v in operands], list(results)), visibility="private")
            made.attributes[LATE] = ir.StringAttr.get(name)
    call = func.CallOp(list(results), ir.FlatSymbolRefAttr.get(symbol), list(operands))
    return call.results[0] if results else None
