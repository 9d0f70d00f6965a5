"""tir-split-blocks: long blocks of functions that call kernels become calls of functions that each have a part of them.

Works on the LLVM dialect. LLVM allocates registers in a time that grows with the square of a block's calls: each value that lives across
many of them is compared with all.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import body
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.markers import PRIM_FUNC
from legato.passes.cpu.outlining import CONSTANTS, call, declare_part, is_constant, short_type
from legato.passes.pipeline.base import ModulePass, PassContext, option
from legato.passes.pipeline.rounding import EXACT, Rounding

OF_THE_STACK = ("llvm.alloca", "llvm.intr.stacksave", "llvm.intr.stackrestore")     # of the function that they stand in


@dataclass(frozen=True)
class SplitBlocks(ModulePass):
    """Moves the ops of long blocks to functions, all but those of kernels, whose blocks are computations: LLVM compiles them in a time that
    grows with the number of ops, not with its square."""

    name: ClassVar[str] = "tir-split-blocks"
    rounding: ClassVar[Rounding] = EXACT
    longest: int = option(1500, "ops of a block that stays as it is; of ResNet-50's main 130")
    part: int = option(600, "ops of a function that is made: more than of those that tir-emit-entry has LLVM optimize")

    def run(self, module: Module, context: PassContext) -> None:
        functions = [op.operation for op in module.module.body.operations if op.operation.name == "llvm.func"]
        kernels = {function.attributes["sym_name"].value for function in functions if PRIM_FUNC in function.attributes}
        with module.context, ir.Location.unknown():
            for function in functions:
                if PRIM_FUNC not in function.attributes:
                    number = 0
                    for block in function.regions[0].blocks:
                        ops = body(block)
                        if len(ops) <= self.longest or not any(callee(op) in kernels for op in ops):
                            continue
                        for part in list(parts(ops, self.part)):
                            outline(function, part, number)
                            number += 1
                        for op in ops:
                            if op.name in CONSTANTS and next(iter(op.results[0].uses), None) is None:
                                op.erase()


def callee(op: ir.Operation) -> str | None:
    """The function that an op calls by its name."""
    return op.attributes["callee"].value if op.name == "llvm.call" and "callee" in op.attributes else None


def parts(ops: Sequence[ir.Operation], size: int) -> Iterator[list[ir.Operation]]:
    """Runs of ``size`` ops that may stand in another function; constants, which that has of its own, are not among them."""
    part: list[ir.Operation] = []
    for op in ops:
        if op.name in CONSTANTS:
            continue
        stays = op.name in OF_THE_STACK or len(op.regions) > 0 or not op.name.startswith("llvm.")
        if not stays:
            part.append(op)
        if len(part) == size or (stays and part):
            yield part
            part = []
    if part:
        yield part


def outline(function: ir.Operation, part: Sequence[ir.Operation], number: int) -> None:
    """Moves consecutive ops to a function of their own, which is called where the last of them stood. Its arguments are the values
    that they use, but for constants; its result is what others use, in a struct if that is several values."""
    inside, taken, returned = set(part), dict[ir.Value, None](), dict[ir.Value, list[tuple[ir.Operation, int]]]()
    for op in part:
        taken.update(dict.fromkeys(value for value in op.operands if isinstance(value.owner, ir.Block) or value.owner not in inside))
        for result in op.results:
            uses = [(use.owner.operation, use.operand_number) for use in result.uses if use.owner.operation not in inside]
            if uses:
                returned[result] = uses
    given = [value for value in taken if not is_constant(value)]
    types = [short_type(value.type) for value in returned]
    struct = None if len(types) < 2 else ir.Type.parse(f"!llvm.struct<({', '.join(types)})>")
    result = "void" if not types else types[0] if struct is None else short_type(struct)
    with ir.InsertionPoint(function):
        made = declare_part(function, f"block_{number}", f"!llvm.func<{result} ({', '.join(short_type(value.type) for value in given)})>")
    with ir.InsertionPoint(part[-1]):
        found = call(made.attributes["sym_name"].value, given, [struct] if struct else [value.type for value in returned]).results
        if struct is not None:
            found = [_extracted(found[0], place, value.type) for place, value in enumerate(returned)]
    for uses, value in zip(returned.values(), found, strict=True):
        for user, place in uses:
            user.operands[place] = value

    entry = ir.Block.create_at_start(made.regions[0], [value.type for value in given])
    with ir.InsertionPoint(entry):
        mapping = dict(zip(given, entry.arguments, strict=True))
        mapping |= {value: value.owner.operation.clone().results[0] for value in taken if is_constant(value)}
        end = ir.Operation.create("llvm.return")
    for op in part:
        op.move_before(end)
        for place, value in enumerate(op.operands):
            if value in mapping:
                op.operands[place] = mapping[value]
    if returned:
        with ir.InsertionPoint(end):
            whole = next(iter(returned)) if struct is None else _struct(struct, list(returned))
            ir.Operation.create("llvm.return", [], [whole])
        end.erase()


def _struct(type_: ir.Type, values: Sequence[ir.Value]) -> ir.Value:
    whole = ir.Operation.create("llvm.mlir.poison", [type_]).results[0]
    for place, value in enumerate(values):
        whole = ir.Operation.create("llvm.insertvalue", [type_], [whole, value], {"position": ir.DenseI64ArrayAttr.get([place])}).results[0]
    return whole


def _extracted(whole: ir.Value, place: int, type_: ir.Type) -> ir.Value:
    return ir.Operation.create("llvm.extractvalue", [type_], [whole], {"position": ir.DenseI64ArrayAttr.get([place])}).results[0]
