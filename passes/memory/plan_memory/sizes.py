"""The sizes in main as expressions of its arguments' sizes, read off the index arithmetic."""
from collections.abc import Sequence

from legato.analysis.indices.arithmetic import Evaluator
from legato.analysis.indices.sizes import SizeNumbers
from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import terminator
from legato.core.mlir import ir
from legato.dialects.relax.dims import UNKNOWN, Size, product, symbol
from legato.dialects.relax.markers import SYMBOL
from legato.dialects.relax.requirements import requirements

DYNAMIC = ir.ShapedType.get_dynamic_size()
BEFORE_STATES = {"scf.for": 3, "scf.while": 0}     # a loop's operands before those that it carries


class MemrefSizes:
    """Sizes of values of one function. ``arguments``: the shape of each of its arguments. What the function requires to be at least 0
    (``n - 4``) is taken to be so.
    """

    def __init__(self, function: ir.OpView, arguments: Sequence[Sequence[Size]]) -> None:
        self._shapes: dict[ir.Value, tuple[Size, ...]] = {a: tuple(s) for a, s in zip(function.body.blocks[0].arguments, arguments)}
        naturals = [one.size for one in requirements(function) if one.equal is None and not one.is_bytes]
        self._sizes = Evaluator(SizeNumbers(self._known, by_symbols=True, naturals=naturals))

    def give(self, value: ir.Value, shape: Sequence[Size]) -> None:
        """Records the shape of a memref that a call returns."""
        self._shapes[value] = tuple(shape)

    def name(self, value: ir.Value, size: Size) -> None:
        """Records what an index is, if it is the size of a memref that nothing else says."""
        if isinstance(value.owner, ir.Block) or value.owner.name != "memref.dim":
            return
        of, axis = value.owner.operands
        axis, sizes = self.value(axis), list(self.shape(of))
        if isinstance(axis, int) and sizes[axis] is UNKNOWN:
            sizes[axis] = size
            self._shapes[of] = tuple(sizes)

    def value(self, value: ir.Value) -> Size:
        """The size that an index (or integer) is; UNKNOWN where it depends on more than the sizes of arguments and results."""
        size = self._sizes.value(value)
        return UNKNOWN if size is None else size

    def shape(self, value: ir.Value) -> tuple[Size, ...]:
        """The shape of a memref; UNKNOWN for sizes that are not known."""
        if value not in self._shapes:
            given = tuple(UNKNOWN if s == DYNAMIC else s for s in ir.MemRefType(value.type).shape)
            start = None if UNKNOWN not in given else _before_loop(value)
            if start is not None:
                self._shapes[value] = self.shape(start)
                return self._shapes[value]
            is_known = UNKNOWN not in given or isinstance(value.owner, ir.Block)
            self._shapes[value] = given if is_known else self._joined(value) or self._made(value.owner.operation, given)
        return self._shapes[value]

    def _joined(self, value: ir.Value) -> tuple[Size, ...] | None:
        """The shape of a memref that is one of two: the sizes that are equal in both. None for other memrefs."""
        op = value.owner.operation
        if op.name == "arith.select":
            either = list(op.operands)[1:]
        elif op.name == "scf.if":
            number = ir.OpResult(value).result_number
            ends = [list(region.blocks[0].operations)[-1] for region in op.regions]
            either = [end.operation.operands[number] for end in ends]
        else:
            return None
        return tuple(a if a == b else UNKNOWN for a, b in zip(*map(self.shape, either)))

    def bytes(self, value: ir.Value) -> Size:
        """Bytes of a memref of identity layout."""
        return product(self.shape(value)) * element_bytes(ir.MemRefType(value.type).element_type)

    def _known(self, value: ir.Value) -> Size | None:
        """The size that a value is by definition: a symbol, or a dimension of a memref; None for any other."""
        if isinstance(value.owner, ir.Block):
            return None
        op = value.owner.operation
        if SYMBOL in op.attributes:
            return symbol(op.attributes[SYMBOL].value)
        if op.name != "memref.dim":
            return None
        axis = self.value(op.operands[1])
        size = self.shape(op.operands[0])[axis] if isinstance(axis, int) else UNKNOWN
        return None if size is UNKNOWN else size

    def _made(self, op: ir.Operation, given: tuple[Size, ...]) -> tuple[Size, ...]:
        view = op.opview
        if op.name == "memref.alloc":
            dynamic = list(view.dynamicSizes)
        elif op.name in ("memref.subview", "memref.reinterpret_cast", "memref.view"):
            dynamic = list(view.sizes)
        elif op.name == "memref.expand_shape":
            dynamic = list(view.output_shape)
        elif op.name == "memref.cast":
            return tuple(s if g is UNKNOWN else g for g, s in zip(given, self.shape(op.operands[0])))
        elif op.name == "memref.collapse_shape":
            source = self.shape(op.operands[0])
            groups = [[ir.IntegerAttr(i).value for i in group] for group in op.attributes["reassociation"]]
            return tuple(product(source[i] for i in group) for group in groups)
        else:
            return given
        sizes = iter(dynamic)
        return tuple(self.value(next(sizes)) if g is UNKNOWN else g for g in given)


def _before_loop(value: ir.Value) -> ir.Value | None:
    """What a memref that a loop carries is before its first step, where each step leaves it in one buffer; None for other values."""
    if isinstance(value.owner, ir.Block):
        loop, number = value.owner.owner.operation, ir.BlockArgument(value).arg_number
        number -= loop.name == "scf.for"        # the first is the loop's variable
    else:
        loop, number = value.owner.operation, ir.OpResult(value).result_number
    return loop.operands[BEFORE_STATES[loop.name] + number] if loop.name in BEFORE_STATES and _stays(loop, number) else None


def _stays(loop: ir.Operation, number: int) -> bool:
    """Whether each step of a loop leaves what it carries as that number in the buffer that it was given."""
    for region in loop.regions:
        block, last = region.blocks[0], terminator(region.blocks[0])
        kept, given = last.operands[number + (last.name == "scf.condition")], block.arguments[number + (loop.name == "scf.for")]
        while not isinstance(kept.owner, ir.Block) and kept.owner.name == "memref.cast":
            kept = kept.owner.operands[0]
        if kept != given:
            return False
    return True
