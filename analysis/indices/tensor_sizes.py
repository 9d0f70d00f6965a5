"""The sizes of tensors in a function, as expressions of symbols that its arguments have."""
from collections.abc import Container, Sequence

from legato.analysis.indices.arithmetic import Evaluator
from legato.analysis.indices.sizes import SizeNumbers
from legato.core.mlir import ir
from legato.dialects.relax.dim import UNKNOWN, Size, symbol
from legato.dialects.relax.markers import SYMBOL
from legato.dialects.relax.sizes import product

DYNAMIC = ir.ShapedType.get_dynamic_size()
ONTO = {"tensor.insert_slice": 1, "linalg.pack": 1, "linalg.unpack": 1}   # ops whose result has the shape of this operand
MADE_OF = {"tensor.empty": "dynamicSizes", "tensor.extract_slice": "sizes", "tensor.expand_shape": "output_shape"}


class TensorSizes:
    """Sizes of values of one function. ``arguments``: the shape of each of its arguments. ``kernels``: the functions that it calls whose
    results lie in their last arguments; of other calls' results only static sizes are known."""

    def __init__(self, function: ir.OpView, arguments: Sequence[Sequence[Size]], kernels: Container[str] = ()) -> None:
        self._kernels = kernels
        blocks = function.body.blocks
        self._shapes: dict[ir.Value, tuple[Size, ...]] = {a: tuple(s) for a, s in zip(blocks[0].arguments, arguments)}
        self._numbers = Evaluator(SizeNumbers(self._known, by_symbols=True))

    def value(self, value: ir.Value) -> Size:
        """The size that an index is; UNKNOWN where it depends on more than the sizes of arguments."""
        size = self._numbers.value(value)
        return UNKNOWN if size is None else size

    def shape(self, value: ir.Value) -> tuple[Size, ...]:
        """The shape of a ranked tensor; UNKNOWN for sizes that are not known."""
        if value not in self._shapes:
            given = tuple(UNKNOWN if s == DYNAMIC else s for s in ir.RankedTensorType(value.type).shape)
            found = self._of(value, given) if UNKNOWN in given else given
            self._shapes[value] = tuple(f if g is UNKNOWN else g for g, f in zip(given, found))
        return self._shapes[value]

    def _of(self, value: ir.Value, given: tuple[Size, ...]) -> Sequence[Size]:
        if isinstance(value.owner, ir.Block):
            return self._carried(ir.BlockArgument(value), given)
        op, number = value.owner.operation, ir.OpResult(value).result_number
        if op.name in MADE_OF:
            sizes = iter(getattr(op.opview, MADE_OF[op.name]))
            return [self.value(next(sizes)) if g is UNKNOWN else g for g in given]
        if op.name == "tensor.collapse_shape":
            source = self.shape(op.operands[0])
            groups = [[ir.IntegerAttr(i).value for i in group] for group in op.attributes["reassociation"]]
            return [product(source[i] for i in group) for group in groups]
        if op.name in ONTO or op.name == "tensor.cast":
            return self.shape(op.operands[ONTO.get(op.name, 0)])
        if op.name == "scf.for":
            return self.shape(op.operands[3 + number])
        if op.name.startswith("linalg.") or (op.name == "func.call" and op.attributes["callee"].value in self._kernels):
            return self.shape(op.operands[len(op.operands) - len(op.results) + number])
        return given

    def _carried(self, value: ir.BlockArgument, given: tuple[Size, ...]) -> Sequence[Size]:
        """The shape of a tensor that a loop carries: that of its initial value."""
        op = value.owner.owner.operation
        return self.shape(op.operands[2 + value.arg_number]) if op.name == "scf.for" else given

    def _known(self, value: ir.Value) -> Size | None:
        """The size that a value is by definition: a symbol, or a dimension of a tensor; None for any other."""
        if isinstance(value.owner, ir.Block):
            return None
        if SYMBOL in value.owner.operation.attributes:
            return symbol(value.owner.operation.attributes[SYMBOL].value)
        if value.owner.operation.name != "tensor.dim":
            return None
        tensor, axis = value.owner.operation.operands[0], self.value(value.owner.operation.operands[1])
        size = self.shape(tensor)[axis] if isinstance(axis, int) else UNKNOWN
        return None if size is UNKNOWN else size
