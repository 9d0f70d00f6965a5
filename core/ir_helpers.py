"""Walking IR, and moving, copying and substituting the operations in it."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from legato.core import search
from legato.core.constants import constant
from legato.core.mlir import func, ir
from legato.core.search import walk

T = TypeVar("T")


def present(value: T | None) -> T:
    """``value``, where the caller has seen to it that it is not None."""
    assert value is not None
    return value


def lazy_context() -> ir.Context:
    """A context without dialects, which MLIR loads as a text or bytecode names them: to load all of them takes 3 ms."""
    return ir.Context(load_on_create_dialects=[])


def find(root: ir.Operation | ir.OpView | ir.Module, *names: str, inner_first: bool = False) -> list[ir.Operation]:
    """The ops with one of these names in the tree of ``root``, itself included, in pre-order (``inner_first``: post-order). As those of
    upstream's walk, they do not keep their module alive."""
    return search.by.ops(root.operation, names, ir.WalkOrder.POST_ORDER if inner_first else ir.WalkOrder.PRE_ORDER)


def kinds(root: ir.Operation | ir.OpView | ir.Module) -> list[ir.Operation]:
    """The first op of each name in the tree of ``root``, itself included, in post-order."""
    return search.by.kinds(root.operation)


def count(root: ir.Operation | ir.OpView | ir.Module) -> int:
    """The number of ops in the tree of ``root``, itself included."""
    return search.by.count(root.operation)


def unused(root: ir.Operation | ir.OpView | ir.Module) -> list[ir.Operation]:
    """The ops in the tree of ``root`` with results that have no uses, none of them, in post-order."""
    return search.by.unused(root.operation)


def defining_op(value: ir.Value) -> ir.Operation | None:
    """The op that defines a value; None for a block's argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def only_use(value: ir.Value) -> ir.OpOperand | None:
    """The single use of a value; None where there is none, or more than one."""
    uses = iter(value.uses)
    first = next(uses, None)
    return first if next(uses, None) is None else None


def only_user(value: ir.Value) -> ir.Operation | None:
    """The op with the single use of a value; None where there is none, or more than one, be it by the same op."""
    use = only_use(value)
    return None if use is None else use.owner.operation


def element_of(type_: ir.Type) -> ir.Type:
    """The element type of a shaped type; another type itself."""
    return type_.element_type if isinstance(type_, ir.ShapedType) else type_


def with_element(type_: ir.Type, element: ir.Type) -> ir.Type:
    """A vector of ``element`` with the shape of ``type_``; ``element`` itself where ``type_`` is no vector."""
    return ir.VectorType.get(type_.shape, element) if isinstance(type_, ir.VectorType) else element


def text_of(op: ir.Operation | ir.OpView, name: str) -> str | None:
    """A string attribute of an op; None if it does not have it."""
    attributes = op.operation.attributes
    return ir.StringAttr(attributes[name]).value if name in attributes else None


def plain_attribute(value: object) -> ir.Attribute | None:
    """A truth value, a number (i64, f64) or a text of Python as an attribute; None for another value."""
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get_f64(value)
    return ir.StringAttr.get(value) if isinstance(value, str) else None


def mixed(op: ir.Operation, name: str) -> list[int | ir.Value]:
    """The ``offsets``, ``sizes`` or ``strides`` of a slice: numbers, and values where only the call knows them."""
    dynamic = iter(getattr(op.opview, name))
    return [next(dynamic) if n == ir.ShapedType.get_dynamic_size() else n for n in op.attributes[f"static_{name}"]]


def body(block: ir.Block) -> list[ir.Operation]:
    """The operations of a block without its terminator."""
    return [op.operation for op in block.operations][:-1]


def terminator(block: ir.Block) -> ir.Operation:
    """The last operation of a block."""
    return block.operations[len(block.operations) - 1].operation


def next_op(op: ir.Operation) -> ir.Operation:
    """The operation behind one that is not the last of its block."""
    operations = [one.operation for one in op.block.operations]
    return operations[operations.index(op) + 1]


def ancestors(op: ir.Operation) -> list[ir.Operation]:
    """The ops that enclose ``op``, innermost first, up to its function."""
    found = []
    parent = op.operation.parent
    while parent is not None:
        found.append(parent.operation)
        if parent.operation.name == "func.func":
            break
        parent = parent.operation.parent
    return found


def is_made_in(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value is made by a loop, or in it."""
    owner = value.owner
    home = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    return home == loop or loop in ancestors(home)


def replace_uses(block: ir.Block, values: Iterable[ir.Value]) -> None:
    """Replaces all uses of the block's arguments by ``values``, one for each argument."""
    for argument, value in zip(block.arguments, values, strict=True):
        argument.replace_all_uses_with(value)


def move_before(operations: Iterable[ir.Operation], place: ir.Operation) -> None:
    """Moves operations, in order, before ``place``."""
    for op in list(operations):
        op.move_before(place)


def copy(operations: Iterable[ir.Operation], mapping: Mapping[ir.Value, ir.Value]) -> dict[ir.Value, ir.Value]:
    """Clones operations to the insertion point, with operands replaced by ``mapping``. Returns the mapping extended by the results."""
    mapping = dict(mapping)
    for op in operations:
        new = op.clone()
        substitute(new, mapping)
        for old, result in zip(op.results, new.results):
            mapping[old] = result
    return mapping


def substitute(root: ir.Operation, mapping: Mapping[ir.Value, ir.Value]) -> None:
    """Replaces operands by ``mapping``, in an op and all ops nested in it."""
    for op in everything(root):
        for number, operand in enumerate(op.operands):
            if operand in mapping:
                op.operands[number] = mapping[operand]


def everything(op: ir.Operation, order: ir.WalkOrder = ir.WalkOrder.POST_ORDER) -> list[ir.Operation]:
    """An op and all ops nested in it: these before it, or, in pre-order, after it, as they stand in the text."""
    found: list[ir.Operation] = []

    def visit(one: ir.Operation) -> ir.WalkResult:
        found.append(one.operation)
        return ir.WalkResult.ADVANCE

    walk(op, visit, order)
    return found


def in_program_order(op: ir.Operation) -> list[ir.Operation]:
    """An op and all ops nested in it, as they stand in the text."""
    return everything(op, ir.WalkOrder.PRE_ORDER)


def index(value: int) -> ir.Value:
    """An index constant at the insertion point, or in ``shared_constants``."""
    type_ = ir.IndexType.get()
    return constant(ir.IntegerAttr.get(type_, value), type_)


def marked(value: ir.Value, marker: str) -> ir.Value:
    """The value; the op that has just been built for it gets this unit attribute."""
    value.owner.operation.attributes[marker] = ir.UnitAttr.get(value.type.context)
    return value


def splat(value: ir.Value, constant: str) -> ir.DenseElementsAttr | None:
    """The elements of a tensor defined by an op of the name ``constant``, if they are equal and in the IR; else None."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != constant or "value" not in owner.attributes:
        return None
    dense = owner.attributes["value"]
    return dense if isinstance(dense, ir.DenseElementsAttr) and dense.is_splat else None


def constant_number(value: ir.Value) -> float | None:
    """The number that a constant scalar or vector, or the broadcast of one, has in all lanes; None for another value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name not in ("arith.constant", "vector.broadcast"):
        return None
    if owner.name == "vector.broadcast":
        return constant_number(owner.operands[0])
    attribute = owner.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        if not attribute.is_splat:
            return None
        attribute = attribute.get_splat_value()
    return attribute.value if isinstance(attribute, (ir.FloatAttr, ir.IntegerAttr)) else None


def declares(op: ir.OpView, type_: ir.FunctionType, marks: Mapping[str, ir.Attribute], names: Iterable[str]) -> bool:
    """Whether an op declares a function of this type that has, of the attributes ``names``, those of ``marks``."""
    if not isinstance(op, func.FuncOp) or not op.is_external or op.type != type_:
        return False
    return {name: op.attributes[name] for name in names if name in op.attributes} == marks
