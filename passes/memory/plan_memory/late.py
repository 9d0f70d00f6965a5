"""Main's requests to the entry in the middle of a call, for data-dependent sizes. tir-lower-packed defines these functions."""
from collections.abc import Iterator, Mapping, Sequence

from legato.core.mlir import arith, func, ir
from legato.dialects.relax.dims import Dim, Size, substitute, symbol
from legato.dialects.relax.requirements import Room
from legato.dialects.tir.markers import LATE, LATE_ARENA, LATE_CHECK, LATE_RESULT, LATE_ROOM, LATE_TURN
from legato.passes.memory.plan_memory.arguments import DYNAMIC, SizeValues, with_shape
from legato.passes.memory.plan_memory.room import room

ARENA, RESULT, TURN = LATE_ARENA, LATE_RESULT, LATE_TURN


def check(main: func.FuncOp, number: int, sizes: Sequence[ir.Value]) -> None:
    """Checks a requirement of main: one size must not be negative, or two must be equal."""
    _call(main, LATE_CHECK, [_index(number), *sizes], [], f"_{len(sizes)}")


class SharedRooms:
    """Computes the rooms of sizes in functions, one for all that are equal but for their symbols: those of a detector's classes are."""

    def __init__(self, module: ir.Block) -> None:
        self._module = module
        self._made: dict[Size, str] = {}    # by the size with numbered symbols

    def __call__(self, size: Size, values: Mapping[str, ir.Value]) -> ir.Value:
        """``LARGEST`` less the size's bytes, as an ``index`` at the insertion point: see room.py."""
        names = list(dict.fromkeys(names_in(size)))
        numbered = [f"s{number}" for number in range(len(names))]
        form = substitute(size, {name: symbol(new) for name, new in zip(names, numbered)})
        if form not in self._made:
            self._made[form] = self._function(form, numbered)
        return func.CallOp([ir.IndexType.get()], ir.FlatSymbolRefAttr.get(self._made[form]), [values[name] for name in names]).results[0]

    def _function(self, size: Size, names: Sequence[str]) -> str:
        index, symbol_name = ir.IndexType.get(), f"{LATE_ROOM}_{len(self._made)}"
        with ir.InsertionPoint.at_block_begin(self._module), ir.Location.unknown():
            made = func.FuncOp(symbol_name, ir.FunctionType.get([index] * len(names), [index]), visibility="private")
        made.attributes[LATE] = ir.StringAttr.get(LATE_ROOM)
        block = made.add_entry_block()
        with ir.InsertionPoint(block), ir.Location.unknown():
            func.ReturnOp([room(Room(size), dict(zip(names, block.arguments)))])
        return symbol_name


def names_in(size: Size) -> Iterator[str]:
    """The names in an expression, in the order of its text, with repetitions."""
    for variable in size.variables() if isinstance(size, Dim) else ():
        if isinstance(variable, str):
            yield variable
        else:
            yield from (*names_in(variable.a), *names_in(variable.b))


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
