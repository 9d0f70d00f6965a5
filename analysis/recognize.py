"""Recognizes kernels that compute one graph op by their structured body: a matmul, an NHWC convolution or an elementwise op."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from legato.analysis.structured import StructuredKernel, StructuredOp
from legato.analysis.structured.maps import is_identity
from legato.core.mlir import func, ir
from legato.dialects.tir.kernel import is_prim_func, out_count

NEUTRAL = frozenset({"tensor.empty", "linalg.fill", "arith.constant", "func.return", "tensor.dim"})
MATMULS = ("linalg.matmul", "linalg.batch_matmul", "linalg.generic")
BINARY = {"arith.addf": "add", "arith.addi": "add", "arith.mulf": "multiply", "arith.muli": "multiply", "arith.subf": "subtract",
          "arith.subi": "subtract", "arith.divf": "divide", "arith.maximumf": "maximum", "arith.minimumf": "minimum"}
UNARY = {"math.exp": "exp", "math.log": "log", "math.sqrt": "sqrt", "math.rsqrt": "rsqrt", "math.tanh": "tanh", "math.erf": "erf",
         "math.absf": "abs", "arith.negf": "negative"}


@dataclass(frozen=True)
class RecognizedKernel:
    """A kernel that computes the graph op ``name`` with the attributes ``attrs``. ``operands``: the op's operands, as operand numbers
    of the call.
    """

    function: func.FuncOp
    name: str
    operands: tuple[int, ...]
    outputs: int = 1
    attrs: dict[str, Any] = field(default_factory=dict)


def recognize(function: func.FuncOp) -> RecognizedKernel | None:
    """The graph op that a prim_func computes: a matmul, an NHWC convolution, or an elementwise op on equal shapes; else None."""
    if not is_prim_func(function) or function.is_external or out_count(function) != 1 or len(function.body.blocks) != 1:
        return None
    kernel = StructuredKernel(function)
    arguments = list(function.body.blocks[0].arguments)
    work = [op for op in kernel.ops if op.name not in NEUTRAL]
    op = kernel.op(work[0]) if len(work) == 1 else None
    if op is None or not len(op.op.results) or kernel.ops[-1].operands[0] != op.op.results[0] or not all(v in arguments for v in op.inputs):
        return None
    inputs = [arguments.index(v) for v in op.inputs]
    found = _conv(op.op) or _generic(op, inputs) or _matmul(op, inputs)
    if found is None:
        return None
    name, order, attrs = found
    if _accumulates(name) and not _starts_at_zero(op.op):
        return None
    return RecognizedKernel(function, f"relax.{name}", tuple(inputs[i] for i in order), attrs=attrs)


Found = tuple[str, tuple[int, ...], dict[str, Any]]


def _accumulates(name: str) -> bool:
    return name in ("matmul", "conv2d")


def _starts_at_zero(op: ir.Operation) -> bool:
    """Whether a contraction accumulates into a tensor filled with 0."""
    init = op.operands[len(op.operands) - 1].owner
    if isinstance(init, ir.Block) or init.name != "linalg.fill":
        return False
    value = init.operands[0].owner
    return not isinstance(value, ir.Block) and value.name == "arith.constant" and value.attributes["value"].value == 0


def _body(op: StructuredOp) -> list[ir.Operation]:
    """The ops of a body, without constants."""
    return [o for o in op.body if o.name != "arith.constant"]


def _matmul(op: StructuredOp, inputs: list[int]) -> Found | None:
    """(batch..., m, k) times (batch..., k, n), as a named op or as a generic contraction."""
    if op.op.name not in MATMULS or len(op.maps) != 3 or not op.plain or len(inputs) != 2:
        return None
    names = [o.name for o in _body(op)]
    if names not in (["arith.mulf", "arith.addf", "linalg.yield"], ["arith.muli", "arith.addi", "linalg.yield"]):
        return None
    for order in ((0, 1), (1, 0)):
        a, b, out = op.loops_of(order[0]), op.loops_of(order[1]), op.out_loops
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


def _generic(op: StructuredOp, inputs: list[int]) -> Found | None:
    """One elementwise operation whose operands have the output's shape."""
    if not op.is_pointwise or any(not is_identity(map_) for map_ in op.maps):
        return None
    body, arguments = _body(op), op.scalars
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
