"""Branches of graphs as ``if`` statements."""

from legato.core.mlir import arith, ir
from legato.frontends.script.printer.graph_writer import GraphWriter

INFIX = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
BOOLEAN = {"arith.andi": "and", "arith.ori": "or"}


def branch(writer: GraphWriter, op: ir.Operation) -> None:
    """``if cond: ... else: ...``: each branch ends by assigning the names of the results."""
    test = condition(writer, op.operands[0])
    for result in op.results:
        writer.names[result] = writer.fresh(writer.returned.get(result) or "lv")
    outer = writer.lines
    for word, region in ((f"if {test}:", op.regions[0]), ("else:", op.regions[1])):
        writer.lines = []
        operations = [o.operation for o in region.blocks[0].operations] if len(region.blocks) else []
        for inner in operations[:-1]:
            writer.op(inner)
        given = list(operations[-1].operands) if operations else []
        writer.lines += [f"{writer.names[r]} = {writer.read(v)}" for r, v in zip(op.results, given)]
        outer += [word, *(f"    {line}" for line in writer.lines or ["pass"])]
    writer.lines = outer


def condition(writer: GraphWriter, value: ir.Value) -> str:
    """The condition of a branch: a tensor's name, or a test of sizes. NotPrintable for other values."""
    owner = None if isinstance(value.owner, ir.Block) else value.owner
    if owner is not None and owner.name in BOOLEAN:
        return f"({f' {BOOLEAN[owner.name]} '.join(condition(writer, v) for v in owner.operands)})"
    if owner is not None and owner.name == "arith.xori":
        return f"(not {condition(writer, owner.operands[0])})"
    if owner is not None and owner.name == "arith.cmpi":
        left, right = owner.operands
        made = left.owner.name if not isinstance(left.owner, ir.Block) else ""
        predicate = PREDICATES[ir.IntegerAttr(owner.attributes["predicate"]).value]
        if made == "tensor.extract" and predicate == "ne" and isinstance(right.owner.opview, arith.ConstantOp):
            return writer.read(left.owner.operands[0])
        if isinstance(left.type, ir.IndexType):
            sizes = writer.sizes.integer(left), writer.sizes.integer(right)
            if None not in sizes:
                return f"({writer.sizes.shown(sizes[0])} {INFIX[predicate]} {writer.sizes.shown(sizes[1])})"
    raise writer.refuse("a branch depends on what is neither a tensor nor a test of sizes")
