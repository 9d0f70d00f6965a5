"""Helpers of passes on graph ops: the functions to work on, constants, and the removal of dead ops."""
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from legato.analysis.patterns.graph import graph_blocks
from legato.core.background import begin
from legato.core.ir_helpers import defining_op, find, only_use, present, unused
from legato.core.locations import model_name
from legato.core.mlir import func, ir, tensor
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax import dims
from legato.dialects.tir.markers import PRIM_FUNC

CONSTANT = "relax.constant"
# Bytes. Constants up to this size are stored in the IR, larger ones in the weight store.
DENSE_LIMIT = 1024
LATER = 1 << 18     # bytes of a weight from which on a thread fills it: to begin one takes as long as to write these


def is_constant(value: ir.Value) -> bool:
    """Whether a relax.constant defines a value."""
    op = defining_op(value)
    return op is not None and op.name == CONSTANT


def relax_functions(module: Module) -> list[func.FuncOp]:
    """The functions of the module with a body of graph ops: neither declarations nor prim_funcs."""
    return [
        op
        for op in module.module.body.operations
        if isinstance(op, func.FuncOp) and not op.is_external and PRIM_FUNC not in op.operation.attributes
    ]


def top_ops(function: func.FuncOp) -> list[ir.Operation]:
    """The ops of the function's block, in order, including the return."""
    return [op.operation for op in function.body.blocks[0].operations]


def graph_ops(function: func.FuncOp) -> list[ir.Operation]:
    """The ops of the function's block, in order, then those of the branches and loops in it: each value before what reads it."""
    return [op.operation for block in graph_blocks(function) for op in block.operations]


def is_graph_op(op: ir.Operation) -> bool:
    """Whether the op is a graph op, of relax or of a user's dialect: pure, with shape inference and numpy semantics."""
    return relax.op_class(op) is not None


def rebuilt(op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value:
    """The result of a graph op of other operands, at the insertion point."""
    return present(relax.op_class(op)).build(*operands, **relax.attributes_of(op))


def behind(value: ir.Value) -> ir.InsertionPoint:
    """Where ops are built that come right after what defines a value."""
    op = defining_op(value)
    return ir.InsertionPoint.at_block_begin(value.owner) if op is None else ir.InsertionPoint.after(op)


def is_used(value: ir.Value) -> bool:
    """Whether the value has uses."""
    return next(iter(value.uses), None) is not None


def has_one_use(value: ir.Value) -> bool:
    """Whether the value has exactly one use."""
    return only_use(value) is not None


def has_known_images(convolution: ir.Operation) -> bool:
    """Whether the sizes of a convolution's data are known but for the number of images, which has a name, and its result is not empty."""
    images, *sizes = dims.dims(convolution.operands[0].type)
    return images is not dims.UNKNOWN and all(isinstance(size, int) for size in sizes) and 0 not in convolution.results[0].type.shape


def permutation_of(op: ir.Operation) -> tuple[int, ...]:
    """The axes of a relax.permute_dims, without negative ones."""
    rank = op.operands[0].type.rank
    return tuple(axis % rank for axis in relax.attributes_of(op)["axes"])


def sliced_axes(op: ir.Operation) -> list[int]:
    """The axes that a relax.strided_slice is along, without negative ones."""
    attrs, rank = relax.attributes_of(op), op.operands[0].type.rank
    return list(range(len(attrs["begin"]))) if attrs["axes"] is None else [axis % rank for axis in attrs["axes"]]


def is_dead(op: ir.Operation) -> bool:
    """Whether the op is a graph op without uses, and defines no size that others may name."""
    for result in op.results:
        if is_used(result):
            return False
    cls = relax.op_class(op)
    return cls is not None and not cls.DEFINES_SIZES


def replace_uses(value: ir.Value, new: ir.Value) -> None:
    """Replaces a value by another, whose type may know more or fewer sizes."""
    if new.type == value.type:
        value.replace_all_uses_with(new)
        return
    for use in list(value.uses):
        set_operand(use.owner.operation, use.operand_number, new)


def set_operand(user: ir.Operation, number: int, new: ir.Value) -> None:
    """Sets an operand of an op. Graph ops accept a type that knows more sizes; for others (return, calls) it is cast to the old type."""
    wanted = user.operands[number].type
    if new.type != wanted and not is_graph_op(user):
        new = tensor.CastOp(wanted, new, loc=user.location, ip=ir.InsertionPoint(user)).result
    user.operands[number] = new


class Constants:
    """The constants of a module: reads them, creates new ones, and drops weights that no op uses any more."""

    def __init__(self, module: Module):
        self.weights = module.weights
        self._named: Counter[str] = Counter()
        self._named.update(op.attributes["weight"].value for op in find(module.module, CONSTANT) if "weight" in op.attributes)

    def array(self, value: ir.Value) -> np.ndarray | None:
        """The elements, read-only; None if the value is not a constant."""
        op = defining_op(value)
        if op is None or op.name != CONSTANT:
            return None
        if "weight" in op.attributes:
            array = self.weights[op.attributes["weight"].value]
            # an array without strides would be folded to a splat, and no longer be one once it is saved and loaded
            return array if any(array.strides) or array.size < 2 else np.ascontiguousarray(array)
        return op.opview.value

    def scalar(self, value: ir.Value) -> int | float | bool | None:
        """The number that all elements of a constant are equal to; None if it is not a constant, or they differ."""
        op = defining_op(value)
        if op is None or op.name != CONSTANT:
            return None
        if "weight" not in op.attributes and op.attributes["value"].is_splat:
            return op.attributes["value"].get_splat_value().value
        array = present(self.array(value))
        if array.size == 0 or (array.size > 1 and (array.size > DENSE_LIMIT or (array != array.flat[0]).any())):
            return None
        return array.flat[0].item()

    def build_later(self, work: Callable[[np.ndarray], None], shape: Sequence[int], dtype: np.dtype, name: str) -> ir.Value:
        """A constant at the insertion point, to whose array ``work`` writes the elements: in the background if they are many."""
        array = self.weights.empty(shape, dtype)
        if array.nbytes < LATER:
            work(array)
            return self.build(array, name)
        key = self.weights.add(name, array, begin(lambda: work(array)))
        self._named[key] += 1
        return relax.weight(key, array.dtype, list(array.shape))

    def build(self, array: np.ndarray, name: str, location: ir.Location | None = None) -> ir.Value:
        """A constant at the insertion point, in the weight store if it is large; its key is made from `name`."""
        array = np.asarray(array)
        splat = array.size > 0 and not any(array.strides)
        if array.nbytes <= DENSE_LIMIT or splat:
            return relax.constant(array, loc=location)
        key = self.weights.add(name, array)
        self._named[key] += 1
        return relax.weight(key, array.dtype, list(array.shape), loc=location)

    def name_of(self, *values: ir.Value, default: str = "constant") -> str:
        """The name for a constant made from these values: the first weight's key, else the model's name of one."""
        for value in values:
            op = defining_op(value)
            if op is not None and op.name == CONSTANT and "weight" in op.attributes:
                return op.attributes["weight"].value
        return next(filter(None, map(model_name, values)), default)

    def erase(self, op: ir.Operation) -> None:
        """Erases an op without uses, and drops the weight that only it used, to free its memory at once."""
        key = op.attributes["weight"].value if op.name == CONSTANT and "weight" in op.attributes else None
        op.erase()
        if key is not None:
            self._named[key] -= 1
            if not self._named[key] and key in self.weights:
                self.weights.drop(key)

    def erase_unused(self, values: Iterable[ir.Value]) -> None:
        """Erases the constants among these values that have no uses."""
        for op in {value: defining_op(value) for value in values}.values():
            if op is not None and op.name == CONSTANT and is_dead(op):
                self.erase(op)


def erase_dead(function: func.FuncOp, constants: Constants, before: Callable[[ir.Operation], None] = lambda op: None) -> None:
    """Erases the graph ops whose results have no uses; ``before`` is called with each one before that."""
    erase_if_dead(unused(function)[::-1], constants, before)      # ops of a branch go before the branch


def erase_if_dead(ops: Iterable[ir.Operation], constants: Constants, before: Callable[[ir.Operation], None] = lambda op: None) -> None:
    """Erases those of the graph ops, the last first, that are dead, and what only they used; ``before`` as in ``erase_dead``."""
    left = list(ops)
    while left:
        op = left.pop()
        if is_dead(op):
            makers = dict.fromkeys(map(defining_op, op.operands))
            before(op)
            constants.erase(op)
            left += [maker for maker in makers if maker is not None and is_dead(maker)]
