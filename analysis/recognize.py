"""Kernels that do what one graph op does, recognized by their structured body: whatever made it, a contraction is a matmul."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from legato.core.mlir import func, ir
from legato.dialects.tir.kernel import is_prim_func, out_count

VIEWS = frozenset({"tensor.empty", "linalg.fill", "arith.constant", "func.return", "tensor.dim"})
MATMULS = {"linalg.matmul": [[0, 2], [2, 1], [0, 1]], "linalg.batch_matmul": [[0, 1, 3], [0, 3, 2], [0, 1, 2]]}  # as they are by default
BINARY = {"arith.addf": "add", "arith.addi": "add", "arith.mulf": "multiply", "arith.muli": "multiply", "arith.subf": "subtract",
          "arith.subi": "subtract", "arith.divf": "divide", "arith.maximumf": "maximum", "arith.minimumf": "minimum"}
UNARY = {"math.exp": "exp", "math.log": "log", "math.sqrt": "sqrt", "math.rsqrt": "rsqrt", "math.tanh": "tanh", "math.erf": "erf",
         "math.absf": "abs", "arith.negf": "negative"}


@dataclass(frozen=True)
class Kernel:
    """``name`` and ``attrs``: the graph op. ``operands``: which operands of the call are the op's, in the op's order."""

    function: func.FuncOp
    name: str
    operands: tuple[int, ...]
    outputs: int = 1
    attrs: dict[str, Any] = field(default_factory=dict)


def recognize(function: func.FuncOp) -> Kernel | None:
    """What graph op a prim_func computes: a matmul, an NHWC convolution, an elementwise op on equal shapes. None if it is none of these."""
    if not is_prim_func(function) or function.is_external or out_count(function) != 1 or len(function.body.blocks) != 1:
        return None
    block = function.body.blocks[0]
    arguments = list(block.arguments)
    work = [op.operation for op in block.operations if op.operation.name not in VIEWS]
    if len(work) != 1 or not work[0].name.startswith("linalg.") or not len(work[0].results):
        return None
    op, last = work[0], list(block.operations)[-1]
    if last.operands[0] != op.results[0] or not all(v in arguments for v in op.operands[: len(op.operands) - 1]):
        return None
    inputs = [arguments.index(v) for v in op.operands[: len(op.operands) - 1]]
    found = _conv(op) or _generic(op, inputs) or _matmul(op, inputs)
    if found is None:
        return None
    name, order, attrs = found
    if _accumulates(name) and not _starts_at_zero(op):
        return None
    return Kernel(function, f"relax.{name}", tuple(inputs[i] for i in order), attrs=attrs)


Found = tuple[str, tuple[int, ...], dict[str, Any]]


def _accumulates(name: str) -> bool:
    return name in ("matmul", "conv2d")


def _starts_at_zero(op: ir.Operation) -> bool:
    """Whether what a contraction adds to has been filled with 0."""
    init = op.operands[len(op.operands) - 1].owner
    if isinstance(init, ir.Block) or init.name != "linalg.fill":
        return False
    value = init.operands[0].owner
    return not isinstance(value, ir.Block) and value.name == "arith.constant" and value.attributes["value"].value == 0


def _maps(op: ir.Operation) -> list[list[Any]] | None:
    """For each operand, the loops that its dimensions run over; None where one is no plain loop."""
    found = []
    for attribute in op.attributes["indexing_maps"] if "indexing_maps" in op.attributes else ():
        row = []
        for expression in ir.AffineMapAttr(attribute).value.results:
            expression = expression.maybe_downcast()
            if isinstance(expression, ir.AffineDimExpr):
                row.append(expression.position)
            elif isinstance(expression, ir.AffineConstantExpr):
                row.append("one")
            else:
                return None
        found.append(row)
    return found


def _body(op: ir.Operation) -> list[ir.Operation]:
    """What a structured op does with its elements; without constants."""
    return [o.operation for o in op.regions[0].blocks[0].operations if o.operation.name != "arith.constant"]


def _matmul(op: ir.Operation, inputs: list[int]) -> Found | None:
    """(batch..., m, k) times (batch..., k, n): named, or any contraction over the last and the last but one axis."""
    if op.name not in MATMULS and op.name != "linalg.generic":
        return None
    maps = _maps(op) if "indexing_maps" in op.attributes else MATMULS.get(op.name)
    if maps is None or len(maps) != 3 or len(inputs) != 2:
        return None
    names = [o.name for o in _body(op)]
    if names not in (["arith.mulf", "arith.addf", "linalg.yield"], ["arith.muli", "arith.addi", "linalg.yield"]):
        return None
    for order in ((0, 1), (1, 0)):
        a, b, out = maps[order[0]], maps[order[1]], maps[2]
        if len(out) < 2 or len(a) != len(out) or len(b) != len(out):
            continue
        *batch, m, k = a
        n = b[-1]
        if b == [*batch, k, n] and out == [*batch, m, n] and len({*batch, m, k, n}) == len(out) + 1:
            return "matmul", order, {}
    return None


def _conv(op: ir.Operation) -> Found | None:
    if op.name != "linalg.conv_2d_nhwc_hwcf":
        return None
    strides, dilations = (_ints(op, name) for name in ("strides", "dilations"))
    return "conv2d", (0, 1), {"strides": strides, "padding": [0, 0, 0, 0], "dilations": dilations, "groups": 1,
                              "data_layout": "NHWC", "kernel_layout": "HWIO"}


def _ints(op: ir.Operation, name: str) -> list[int]:
    return [int(v) for v in ir.DenseElementsAttr(op.attributes[name])] if name in op.attributes else [1, 1]


def _generic(op: ir.Operation, inputs: list[int]) -> Found | None:
    """One operation on each element, all operands of the output's shape."""
    if op.name != "linalg.generic":
        return None
    maps, body = _maps(op), _body(op)
    if maps is None or any("reduction" in str(kind) for kind in op.attributes["iterator_types"]):
        return None
    if any(row != list(range(len(maps[-1]))) for row in maps):
        return None
    arguments = list(op.regions[0].blocks[0].arguments)
    if len(inputs) == 1 and _is_relu(body, arguments[0]):
        return "relu", (0,), {}
    if len(body) != 2:
        return None
    first = body[0]
    read = [arguments.index(v) if v in arguments else None for v in first.operands]
    if first.name in UNARY and read == [0] and len(inputs) == 1:
        return UNARY[first.name], (0,), {}
    order = tuple(r for r in read if r is not None)
    if first.name in BINARY and len(inputs) == 2 and sorted(order) == [0, 1]:
        return BINARY[first.name], order, {}
    return None


def _is_relu(body: list[ir.Operation], x: ir.Value) -> bool:
    """``max(x, 0)``, or ``0 if x < 0 else x``."""
    names, operands = [o.name for o in body], [list(o.operands) for o in body]
    if names == ["arith.maximumf", "linalg.yield"]:
        return x in operands[0] and any(map(_is_zero, operands[0]))
    if names != ["arith.cmpf", "arith.select", "linalg.yield"] or body[0].attributes["predicate"].value not in (4, 11):  # olt, ult
        return False
    return operands[0][0] == x and _is_zero(operands[0][1]) and _is_zero(operands[1][1]) and operands[1][2] == x


def _is_zero(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name == "arith.constant" and owner.attributes["value"].value == 0
