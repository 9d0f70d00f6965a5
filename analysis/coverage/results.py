"""Whether a kernel is certain to write all of its outputs."""
from typing import Any

from legato.analysis.coverage.boxes import Box, Interval, covers, whole
from legato.analysis.coverage.stores import uncovered
from legato.analysis.kernel_sizes import DYNAMIC, KernelSizes
from legato.analysis.structured import StructuredOp
from legato.core.ir_helpers import find, mixed, terminator
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.tir.loops import constant_of
from legato.dialects.tir.ties import RESHAPES, place_of

ALL = None  # all elements are written


def uncovered_outputs(kernel: func.FuncOp) -> dict[int, str]:
    """The numbers of a kernel's outputs that may not be written wholly, with the reason."""
    coverage = ResultCoverage(kernel)
    found = {}
    for number, (value, out) in enumerate(tir.results_with_outputs(kernel)):
        reason = coverage.reason(value, out)
        if reason is not None:
            found[number] = reason
    return found


class ResultCoverage:
    """Follows tensors of one kernel back to what wrote them."""

    def __init__(self, kernel: func.FuncOp):
        self.kernel, self.sizes = kernel, KernelSizes(kernel)
        for op in find(kernel.operation, "bufferization.to_buffer"):
            self.sizes.shapes[op.results[0]] = self.shape(op.operands[0])
        arguments = list(kernel.arguments)
        self.outputs = arguments[len(arguments) - tir.out_count(kernel):]

    def reason(self, value: ir.Value, out: ir.Value) -> str | None:
        """Why a returned tensor may hold elements that nothing wrote; None where all are written."""
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.name == "bufferization.to_tensor":
            return uncovered(owner.operands[0], self.shape(out), self.sizes)
        found = self.written(value, {})
        if found is None or covers(found, self.shape(out)):
            return "it is read before all of it is certain to be written" if self.is_read(out) else None
        return "the slices that are written leave elements out" if found else "no slice of known place is written"

    def is_read(self, out: ir.Value) -> bool:
        """Whether an op reads an output, or what it became, before all of it is written."""
        todo, seen = [out], set()
        while todo:
            value = todo.pop()
            for use in value.uses:
                op = use.owner.operation
                if op.name.startswith("linalg.") and op.regions and StructuredOp(op).maps:
                    block = op.regions[0].blocks[0]
                    if use.operand_number < len(block.arguments) and list(block.arguments[use.operand_number].uses):
                        return True
                elif op.name == "tensor.extract":
                    return True
                following = [r for r in op.results if r not in seen and isinstance(r.type, ir.RankedTensorType)]
                seen.update(following)
                todo += [r for r in following if op.name != "func.return" and self.written(r, {}) is not ALL]
        return False

    def shape(self, value: ir.Value) -> tuple[Any, ...]:
        """A tensor's sizes; a dynamic one that is not known is a symbol of its own."""
        return self.sizes.shapes.get(value) or tuple(value.type.shape)

    def written(self, value: ir.Value, carried: dict[ir.Value, list[Box]]) -> list[Box] | None:
        """The boxes of a tensor that are written, or ALL. ``carried``: of tensors that loops carry."""
        if value in carried:
            return carried[value]
        owner = value.owner
        if isinstance(owner, ir.Block):
            return [] if value in self.outputs else ALL
        op = owner.operation
        if op.name == "tensor.empty":
            return []
        if op.name == "scf.for":
            return self._loop(op, value, carried)
        if op.name == "scf.if":
            number = ir.OpResult(value).result_number
            branches = [self.written(terminator(region.blocks[0]).operands[number], carried) for region in op.regions]
            return ALL if all(found is ALL for found in branches) else []
        if op.name == "tensor.insert_slice":
            return self._inserted(op, carried)
        if op.name == "tensor.insert":
            return self.written(op.operands[1], carried)
        if op.name == "tensor.extract_slice" or op.name in RESHAPES:
            return ALL if self.written(op.operands[0], carried) is ALL else []
        if op.name.startswith("linalg.") and op.regions:
            return self._structured(op, value, carried)
        place = place_of(value)
        return ALL if place is None or op.name.startswith("linalg.") else self.written(op.operands[place], carried)

    def _structured(self, op: ir.Operation, value: ir.Value, carried: dict[ir.Value, list[Box]]) -> list[Box] | None:
        """A structured op writes its whole output, unless it only updates it."""
        nest, number = StructuredOp(op), ir.OpResult(value).result_number
        operand = len(nest.inputs) + number
        if not nest.maps:
            return ALL
        read = any(True for _ in nest.scalars[operand].uses)
        loops = nest.loops_of(operand)
        plain = len(set(loops)) == len(loops) and None not in loops
        steps = all(nest.extents[n] > 0 for n in range(len(nest.extents)) if n not in loops)
        return ALL if plain and steps and not read else self.written(op.operands[operand], carried)

    def _inserted(self, op: ir.Operation, carried: dict[ir.Value, list[Box]]) -> list[Box] | None:
        before = self.written(op.operands[1], carried)
        if before is None:  # ALL
            return ALL
        if self.written(op.operands[0], carried) is not ALL:
            return before
        offsets, lengths = mixed(op, "offsets"), mixed(op, "sizes")
        offsets, lengths, steps = [self._size(v) for v in offsets], [self._size(v) for v in lengths], list(op.attributes["static_strides"])
        if None in offsets or None in lengths or DYNAMIC in steps:
            return before
        box = tuple(Interval(a, a + (n - 1) * step + 1, step) for a, n, step in zip(offsets, lengths, steps))
        return ALL if box == whole(self.shape(op.operands[1])) else [*before, box]

    def _size(self, value: Any) -> Any:
        return value if isinstance(value, int) else self.sizes.of(value)

    def _loop(self, op: ir.Operation, value: ir.Value, carried: dict[ir.Value, list[Box]]) -> list[Box] | None:
        """What a loop writes: all, where each step does, and there is one."""
        number = ir.OpResult(value).result_number
        before = self.written(op.operands[3 + number], carried)
        if before is ALL:
            return ALL
        inside = op.regions[0].blocks[0]
        argument = inside.arguments[1 + number]
        lower, upper, step = (constant_of(v) for v in list(op.operands)[:3])
        if lower != 0 or step != 1 or not isinstance(upper, int) or upper < 1:
            return before
        found = self.written(terminator(inside).operands[number], {**carried, argument: []})
        return ALL if found is ALL else before
