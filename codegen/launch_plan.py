"""The host's part of a module whose kernels are launched on a device, as a program for ``runtime.vulkan.plan``.

Functions that main calls are part of it; what it computes are sizes, parts of buffers, and launches.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from legato.core.errors import LegatoError
from legato.core.ir_helpers import find, present
from legato.core.locations import describe
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.relax.markers import OPS, WORK
from legato.dialects.relax.requirements import requirements
from legato.dialects.tir.markers import LATE, LATE_CHECK

Step = list[Any]
UNKNOWN_WORK = "?"      # of a call: tir-count-work
BINARY = {
    "arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul", "arith.divsi": "div", "arith.remsi": "rem", "arith.divui": "floordiv",
    "arith.remui": "mod", "arith.floordivsi": "floordiv", "arith.ceildivsi": "ceildiv", "arith.ceildivui": "ceildiv", "arith.maxsi": "max",
    "arith.minsi": "min", "arith.maxui": "max", "arith.minui": "min", "arith.andi": "and", "arith.ori": "or", "arith.xori": "xor",
}
SAME = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "builtin.unrealized_conversion_cast", "memref.cast",
        "memref.memory_space_cast")
COMPARED = ("eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt", "ge")   # by the number of arith's predicate


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
        """Appends the steps of an op. LegatoError for one that the host cannot run before the device has."""
        if op.name in SAME:
            registers[op.results[0]] = registers[op.operands[0]]
            return
        if op.name == "func.call":
            self.call(op, steps, registers, ops)
            return
        taken = [registers[operand] for operand in op.operands]
        results = [self.new() for _ in op.results]
        registers.update(zip(op.results, results))
        if op.name in ("scf.for", "scf.if"):
            self.control(op, steps, registers, taken, results, ops)
        elif op.name not in ("func.return", "scf.yield"):
            steps += step_of(op, taken, results, ops)

    def call(self, op: ir.Operation, steps: list[Step], registers: dict[ir.Value, int], ops: str) -> None:
        """The steps of a called function, whose parameters are the arguments' registers. ``ops``: empty for a call that main makes."""
        callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
        if LATE in callee.attributes and ir.StringAttr(callee.attributes[LATE]).value == LATE_CHECK:
            steps.append(self.requirement(op, registers))
            return
        if callee.is_external:
            raise LegatoError(f"{describe(op)}: the function @{callee.name.value} runs on the host, and its data are on the device")
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
        bodies = []
        for region in op.regions:
            if not len(region.blocks):
                bodies.append([])
                continue
            block = region.blocks[0]
            registers.update({argument: self.new() for argument in block.arguments})
            inner = self.block(block, registers, ops)
            given = [registers[value] for value in list(block.operations)[-1].operands]
            bodies.append([*inner, ["set", targets(op, block, registers, results), given]])
        if op.name == "scf.if":
            steps.append(["if", taken[0], *bodies])
            return
        (block,) = op.regions[0].blocks
        carried = [registers[argument] for argument in block.arguments]
        steps += [["set", carried[1:], taken[3:]], ["for", carried[0], *taken[:3], bodies[0]], ["set", results, carried[1:]]]


def targets(op: ir.Operation, block: ir.Block, registers: dict[ir.Value, int], results: list[int]) -> list[int]:
    """The registers that the values at a block's end go to: the next step's arguments of a loop, the results of a branch."""
    return [registers[argument] for argument in list(block.arguments)[1:]] if op.name == "scf.for" else results


def step_of(op: ir.Operation, taken: list[int], results: list[int], ops: str) -> list[Step]:
    """The steps of one op without regions."""
    if op.name in BINARY:
        return [[BINARY[op.name], results[0], *taken]]
    if op.name == "arith.constant":
        value = op.attributes["value"]
        if isinstance(value, ir.IntegerAttr):
            return [["const", results[0], value.value]]
        if isinstance(value, ir.BoolAttr):
            return [["const", results[0], int(value.value)]]
        return []
    if op.name == "arith.cmpi":
        return [["cmp", results[0], COMPARED[ir.IntegerAttr(op.attributes["predicate"]).value], *taken]]
    if op.name == "arith.select":
        return [["select", results[0], *taken]]
    if op.name == "memref.dim":
        return [["dim", results[0], *taken]]
    if op.name == "memref.extract_strided_metadata":
        return [["metadata", results, *taken]]
    if op.name == "memref.view":
        return [["view", results[0], taken[0], taken[1], sizes_of(ir.MemRefType(op.results[0].type), taken[2:])]]
    if op.name == "memref.get_global":
        return [["constant", results[0], ir.FlatSymbolRefAttr(op.attributes["name"]).value, list(ir.MemRefType(op.results[0].type).shape)]]
    if op.name in ("memref.reinterpret_cast", "memref.subview"):
        return parts(op, taken, results[0])
    if op.name == "memref.alloc" and holds_numbers(op.results[0]):
        return [["numbers", results[0], ir.MemRefType(op.results[0].type).get_dim_size(0)]]
    if op.name == "memref.store" and holds_numbers(op.operands[1]):
        return [["put", *taken]]
    if op.name == "memref.load" and isinstance(op.results[0].type, ir.IndexType):   # a size; data are on the device
        return [["get", results[0], *taken]]
    if op.name == "memref.dealloc":
        return []
    if op.name == "gpu.launch_func":
        return [launch(op, taken, ops)]
    if op.name == "memref.copy":
        return [["copy", *taken, item_bytes(op.operands[0].type)]]
    raise LegatoError(f"{describe(op)}: {op.name} runs on the host between launches, which the plan of a device cannot")


def launch(op: ir.Operation, taken: list[int], ops: str) -> Step:
    """A launch: the kernel, the grid, the buffers."""
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    first = segments[0]
    buffers = sum(segments[:11])
    kernel = ir.SymbolRefAttr(op.attributes["kernel"]).value[0]
    return ["launch", kernel, taken[first:first + 3], taken[buffers:buffers + segments[11]], ops]


def sizes_of(type_: ir.MemRefType, dynamic: Sequence[int]) -> list[Any]:
    """Sizes as plain numbers, or as registers in a list of one."""
    rest = iter(dynamic)
    return [[next(rest)] if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)]


def parts(op: ir.Operation, taken: list[int], result: int) -> list[Step]:
    """memref.reinterpret_cast and memref.subview: offsets, sizes and strides, in elements."""
    unknown = (ir.ShapedType.get_dynamic_stride_or_offset(), ir.ShapedType.get_dynamic_size(), ir.ShapedType.get_dynamic_stride_or_offset())
    rest = iter(taken[1:])
    found = [[[next(rest)] if one == mark else one for one in ir.DenseI64ArrayAttr(op.attributes[name])]
             for name, mark in zip(("static_offsets", "static_sizes", "static_strides"), unknown)]
    return [["recast" if op.name.endswith("cast") else "subview", result, taken[0], *found]]


def holds_numbers(buffer: ir.Value) -> bool:
    """Whether a buffer is the host's own: of the sizes of a launch, i32, or of the function of sizes."""
    type_ = ir.MemRefType(buffer.type)
    own = not isinstance(buffer.owner, ir.Block) and buffer.owner.name == "memref.alloc" and type_.has_static_shape
    return (own and type_.element_type == ir.IntegerType.get_signless(32)) or isinstance(type_.element_type, ir.IndexType)


def item_bytes(type_: ir.Type) -> int:
    """The bytes of an element."""
    element = ir.MemRefType(type_).element_type
    if isinstance(element, ir.IndexType):
        return 8
    bits = ir.IntegerType(element).width if isinstance(element, ir.IntegerType) else ir.FloatType(element).width
    return max(1, bits // 8)


def arena_steps(plan: Plan, name: str = "main_sizes") -> dict[str, Any]:
    """The program of the function of sizes, of which only the arena's is wanted: the first number that it writes."""
    function = plan.functions[name]
    stores = [op for op in find(function.operation, "memref.store") if op.operands[1] == function.arguments[1]]
    first = next((op for op in stores if constant(op.operands[2]) == 0), None)
    wanted: list[ir.Operation] = [] if first is None else [first]
    for op in wanted:
        wanted += [operand.owner.operation for operand in op.operands if isinstance(operand.owner, ir.OpView)
                   and operand.owner.operation not in wanted]
    return plan.of(name, wanted)


def constant(value: ir.Value) -> int | None:
    """The number of a constant."""
    owner = value.owner
    return ir.IntegerAttr(owner.operation.attributes["value"]).value if isinstance(owner, ir.OpView) and owner.operation.name == (
        "arith.constant") else None
