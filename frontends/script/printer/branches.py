"""Branches of graphs as ``if`` statements."""

from typing import TYPE_CHECKING

from legato.core.mlir import arith, ir

if TYPE_CHECKING:
    from legato.frontends.script.printer.graph import GraphPrinter

INFIX = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
BOOLEAN = {"arith.andi": "and", "arith.ori": "or"}


def branch(printer: "GraphPrinter", op: ir.Operation) -> None:
    """``if cond: ... else: ...``: each branch gives the names of the results their values at its end."""
    test = condition(printer, op.operands[0])
    for result in op.results:
        printer.names[result] = printer.fresh(printer.returned.get(result) or "lv")
    outer = printer.lines
    for word, region in ((f"if {test}:", op.regions[0]), ("else:", op.regions[1])):
        printer.lines = []
        operations = [o.operation for o in region.blocks[0].operations] if len(region.blocks) else []
        for inner in operations[:-1]:
            printer.op(inner)
        given = list(operations[-1].operands) if operations else []
        printer.lines += [f"{printer.names[r]} = {printer.read(v)}" for r, v in zip(op.results, given)]
        outer += [word, *(f"    {line}" for line in printer.lines or ["pass"])]
    printer.lines = outer


def condition(printer: "GraphPrinter", value: ir.Value) -> str:
    """A tensor's name, or a test of sizes. NotPrintable for what is computed otherwise."""
    owner = None if isinstance(value.owner, ir.Block) else value.owner
    if owner is not None and owner.name in BOOLEAN:
        return f"({f' {BOOLEAN[owner.name]} '.join(condition(printer, v) for v in owner.operands)})"
    if owner is not None and owner.name == "arith.xori":
        return f"(not {condition(printer, owner.operands[0])})"
    if owner is not None and owner.name == "arith.cmpi":
        left, right = owner.operands
        made = left.owner.name if not isinstance(left.owner, ir.Block) else ""
        predicate = PREDICATES[ir.IntegerAttr(owner.attributes["predicate"]).value]
        if made == "tensor.extract" and predicate == "ne" and isinstance(right.owner.opview, arith.ConstantOp):
            return printer.read(left.owner.operands[0])
        if isinstance(left.type, ir.IndexType):
            sizes = printer.sizes.integer(left), printer.sizes.integer(right)
            if None not in sizes:
                return f"({printer.sizes.shown(sizes[0])} {INFIX[predicate]} {printer.sizes.shown(sizes[1])})"
    raise printer.refuse("a branch depends on what is neither a tensor nor a test of sizes")
