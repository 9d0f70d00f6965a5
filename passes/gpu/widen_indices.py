"""tir-widen-indices: indices and buffers of 32 bits become those of 64 bits where lowered ops take them so."""
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

CAST = "builtin.unrealized_conversion_cast"
STRUCT = "!llvm.struct<(ptr"


@dataclass(frozen=True)
class WidenIndices(ModulePass):
    """Resolves casts of an index of 32 bits, or a buffer's descriptor with such ones, to one of 64 bits, by sign extensions: upstream
    lowers ops of the dialect nvgpu with indices of 64 bits whatever the width of ``index`` is.
    """

    name: ClassVar[str] = "tir-widen-indices"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for holder in find(module.operation, "gpu.module"):
                for cast in find(holder, CAST):
                    widen(cast)


def widen(cast: ir.Operation) -> None:
    """Resolves a cast of a cast, if it is to 64 bits."""
    inner = cast.operands[0].owner
    if len(cast.operands) != 1 or isinstance(inner, ir.Block) or inner.operation.name != CAST:
        return
    given, wanted = inner.operation.operands[0], cast.results[0].type
    with ir.InsertionPoint(cast), cast.location:
        if str(given.type) == "i32" and str(wanted) == "i64":
            cast.results[0].replace_all_uses_with(extended(given))
        elif str(given.type).startswith(STRUCT) and str(wanted).startswith(STRUCT) and given.type != wanted:
            cast.results[0].replace_all_uses_with(descriptor(given, wanted))
        else:
            return
    cast.erase()


def extended(value: ir.Value) -> ir.Value:
    """An integer of 32 bits as one of 64."""
    return ir.Operation.create("llvm.sext", [ir.IntegerType.get_signless(64)], [value]).results[0]


def descriptor(given: ir.Value, wanted: ir.Type) -> ir.Value:
    """A buffer's descriptor with wider integers."""
    made = ir.Operation.create("llvm.mlir.poison", [wanted]).results[0]
    for place, type_ in fields(str(given.type)):
        at = ir.DenseI64ArrayAttr.get(place)
        value = ir.Operation.create("llvm.extractvalue", [type_], [given], {"position": at}).results[0]
        wide = extended(value) if str(type_) == "i32" else value
        made = ir.Operation.create("llvm.insertvalue", [wanted], [made, wide], {"position": at}).results[0]
    return made


def fields(struct: str) -> Iterator[tuple[list[int], ir.Type]]:
    """The places and types of a descriptor's fields: two pointers, the offset, and arrays of sizes and strides."""
    parts = struct.removeprefix("!llvm.struct<(").removesuffix(")>").split(", ")
    for number, part in enumerate(parts):
        if part.startswith("array<"):
            count, element = part.removeprefix("array<").removesuffix(">").split(" x ")
            for index in range(int(count)):
                yield [number, index], ir.Type.parse(element)
        else:
            yield [number], ir.Type.parse(f"!llvm.{part}" if part.startswith("ptr") else part)
