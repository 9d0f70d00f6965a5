"""The host's part of a module whose kernels are launched on a device, as a program for ``runtime.vulkan.plan``.

Functions that main calls are part of it; what it computes are sizes, parts of buffers, and launches.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from legato.codegen.host_steps import VIEWS, Step, item_bytes, steps_of
from legato.core.errors import UnsupportedError
from legato.core.ir_helpers import everything, find, present, terminator
from legato.core.locations import describe
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.relax.markers import OPS, WORK
from legato.dialects.relax.requirements import requirements
from legato.dialects.tir.markers import LATE, LATE_ARENA, LATE_CHECK, LATE_RESULT, LATE_ROOM, LATE_TURN

MEMORY = {LATE_ARENA: "room", LATE_TURN: "turn", LATE_RESULT: "result"}    # the steps by which a run asks for memory
UNKNOWN_WORK = "?"      # of a call: tir-count-work


class Plan:
    """A program of steps on numbered registers. Each value of the IR has one; those of a function have others at each call."""

    def __init__(self, module: Module) -> None:
        self.functions = {f.name.value: f for f in module.functions()}
        self.count = 0
        self.calls: list[list[Any]] = []    # of kernels, that main makes: the fields of runtime.recorder.RecordedCall

    def of(self, name: str, wanted: Sequence[ir.Operation] | None = None) -> dict[str, Any]:
        """The program of a function: its arguments' registers and its steps; only those that lead to ``wanted`` ops, if given."""
        function = self.functions[name]
        registers = {argument: self.new() for argument in function.arguments}
        steps = self.block(function.body.blocks[0], registers, "", wanted)
        return {"arguments": [registers[a] for a in function.arguments], "steps": steps}

    def new(self) -> int:
        """A new register."""
        self.count += 1
        return self.count - 1

    def block(self, block: ir.Block, registers: dict[ir.Value, int], ops: str, wanted: Sequence[ir.Operation] | None = None) -> list[Step]:
        """The steps of a block. ``ops``: the graph ops that the launches in it compute."""
        steps: list[Step] = []
        for op in [one.operation for one in block.operations]:
            if wanted is None or op in wanted:
                self.add(op, steps, registers, ops)
        return steps

    def add(self, op: ir.Operation, steps: list[Step], registers: dict[ir.Value, int], ops: str) -> None:
        """Appends the steps of an op. UnsupportedError for one that the host does not run between launches."""
        if op.name in VIEWS:
            registers[op.results[0]] = registers[op.operands[0]]
            return
        if op.name == "func.call":
            self.call(op, steps, registers, ops)
            return
        taken = [registers[operand] for operand in op.operands]
        results = [self.new() for _ in op.results]
        registers.update(zip(op.results, results))
        if op.name in ("scf.for", "scf.if", "scf.while"):
            self.control(op, steps, registers, taken, results, ops)
        elif op.name not in ("func.return", "scf.yield", "scf.condition"):
            steps += steps_of(op, taken, results, ops)

    def call(self, op: ir.Operation, steps: list[Step], registers: dict[ir.Value, int], ops: str) -> None:
        """The steps of a called function, whose parameters are the arguments' registers. ``ops``: empty for a call that main makes."""
        callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
        late = ir.StringAttr(callee.attributes[LATE]).value if LATE in callee.attributes else None
        if late == LATE_CHECK:
            steps.append(self.requirement(op, registers))
            return
        if late in MEMORY:
            registers[op.results[0]] = self.new()
            number, *sizes = op.operands
            item = [item_bytes(op.results[0].type)] if late == LATE_RESULT else []
            steps.append([MEMORY[late], registers[op.results[0]], present(constant(number)), [registers[size] for size in sizes], *item])
            return
        if late == LATE_ROOM:
            (block,) = callee.body.blocks
            inner = {parameter: registers[argument] for parameter, argument in zip(callee.arguments, op.operands)}
            steps += self.block(block, inner, ops)
            registers.update(zip(op.results, [inner[value] for value in terminator(block).operands]))
            return
        if callee.is_external:
            raise UnsupportedError(f"{describe(op)}: the function @{callee.name.value} runs on the host, and its data are on the device")
        inner = {parameter: registers[argument] for parameter, argument in zip(callee.arguments, op.operands)}
        made = [ir.StringAttr(one).value for one in ir.ArrayAttr(op.attributes[OPS])] if OPS in op.attributes else []
        body = self.block(callee.body.blocks[0], inner, ", ".join(made) or callee.name.value)
        if ops:
            steps += body
            return
        work = [ir.StringAttr(one).value for one in ir.ArrayAttr(op.attributes[WORK])] if WORK in op.attributes else [UNKNOWN_WORK] * 2
        steps += [["call", len(self.calls)], *body, ["call", -1]]
        self.calls.append([callee.name.value, made, *(None if text == UNKNOWN_WORK else text for text in work)])

    def requirement(self, op: ir.Operation, registers: dict[ir.Value, int]) -> Step:
        """The check of what a branch or loop requires."""
        caller = op
        while caller.name != "func.func":
            caller = caller.parent.operation
        row = requirements(caller.opview)[present(constant(op.operands[0]))]
        return ["require", row.text, [registers[size] for size in list(op.operands)[1:]]]

    def control(self, op: ir.Operation, steps: list[Step], registers: dict[ir.Value, int], taken: list[int], results: list[int],
                ops: str) -> None:
        """A loop or a branch on the host."""
        for region in op.regions:
            registers.update({argument: self.new() for block in region.blocks for argument in block.arguments})

        def body(number: int, targets: list[int], skipped: int = 0) -> list[Step]:
            """The steps of a region, whose values at its end, but for the first ones, go to other registers."""
            if not len(op.regions[number].blocks):
                return []
            (block,) = op.regions[number].blocks
            inner = self.block(block, registers, ops)
            return [*inner, ["set", targets, [registers[value] for value in list(list(block.operations)[-1].operands)[skipped:]]]]

        if op.name == "scf.if":
            steps.append(["if", taken[0], body(0, results), body(1, results)])
            return
        first = op.regions[0].blocks[0]
        carried = [registers[argument] for argument in first.arguments]
        if op.name == "scf.for":
            steps += [["set", carried[1:], taken[3:]], ["for", carried[0], *taken[:3], body(0, carried[1:])], ["set", results, carried[1:]]]
            return
        again = [registers[argument] for argument in op.regions[1].blocks[0].arguments]
        tested = body(0, results, skipped=1)
        condition = registers[list(first.operations)[-1].operands[0]]
        steps += [["set", carried, taken], ["while", tested, condition, [["set", again, results], *body(1, carried)]]]


def size_steps(plan: Plan, count: int, name: str = "main_sizes") -> dict[str, Any]:
    """The program of the function of sizes, of which only the first ``count`` numbers that it writes are wanted: the arena's, then those of
    results."""
    function = plan.functions[name]
    stores = {constant(op.operands[2]): op for op in find(function.operation, "memref.store") if op.operands[1] == function.arguments[1]}
    wanted = [stores[number] for number in range(count)]
    for op in wanted:
        inner = [operand for one in everything(op) for operand in one.operands]
        wanted += [operand.owner.operation for operand in inner if isinstance(operand.owner, ir.OpView)
                   and operand.owner.operation not in wanted]
    return plan.of(name, wanted)


def constant(value: ir.Value) -> int | None:
    """The number of a constant."""
    owner = value.owner
    return ir.IntegerAttr(owner.operation.attributes["value"]).value if isinstance(owner, ir.OpView) and owner.operation.name == (
        "arith.constant") else None
