"""Ops of arith and affine on Python and numpy values: index values are ints, all others have the dtype of their type."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from legato.checking.buffers import memory_dtype
from legato.checking.errors import Misbehaved, NotEvaluated
from legato.core.dtypes import array_of
from legato.core.mlir import ir

Value = Any   # an int, a numpy scalar or array, or a Memory


def typed(value: Any, type_: ir.Type) -> Any:
    """A number or array in the form that values of the type have; integers wrap."""
    if isinstance(type_, ir.IndexType):
        return int(value)
    element = type_.element_type if isinstance(type_, ir.ShapedType | ir.VectorType) else type_
    dtype = memory_dtype(element)
    if isinstance(value, int) and dtype.kind in "iu":
        bits = dtype.itemsize * 8
        value = value & ((1 << bits) - 1)
        return np.uint64(value).astype(dtype) if dtype.kind == "u" else np.uint64(value).astype(np.int64).astype(dtype)
    found = np.asarray(value)
    if found.dtype == object and dtype.kind in "iu":
        half = 0 if dtype.kind == "u" else 1 << (dtype.itemsize * 8 - 1)
        found = (found + half) % (1 << dtype.itemsize * 8) - half
    with np.errstate(all="ignore"):
        return found.astype(dtype)[()]


def constant(op: ir.Operation) -> Value:
    """The value of an arith.constant."""
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        return array_of(attribute)
    return typed(attribute.value, op.results[0].type)


def _unsigned(x: Any) -> Any:
    if isinstance(x, int):
        return x & (2**64 - 1)
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "i" else x


def _wide(x: Any) -> Any:
    return x if isinstance(x, int) else np.asarray(x, object) if x.dtype.kind in "iu" else x


def _floordiv(a: Any, b: Any) -> Any:
    return a // b if np.all(b != 0) else _trap("a division by zero")


def _trap(what: str) -> Any:
    raise Misbehaved(what)


def _truncated(a: Any, b: Any) -> Any:
    if not np.all(b != 0):
        _trap("a division by zero")
    quotient = abs(_wide(a)) // abs(_wide(b))
    return np.where((np.asarray(a) < 0) != (np.asarray(b) < 0), -quotient, quotient)[()]


def _remainder(a: Any, b: Any) -> Any:
    return _wide(a) - _wide(_truncated(a, b)) * _wide(b)


_COMPARE = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def _cmpi(op: ir.Operation, a: Any, b: Any) -> Any:
    predicate = op.attributes["predicate"].value
    if predicate > 5:
        a, b, predicate = _unsigned(a), _unsigned(b), predicate - 4
    return _COMPARE[predicate](a, b)


def _cmpf(op: ir.Operation, a: Any, b: Any) -> Any:
    predicate = op.attributes["predicate"].value
    if predicate in (0, 15):
        return np.full(np.shape(a), predicate == 15)[()]
    unordered = np.isnan(a) | np.isnan(b)
    if predicate == 7:
        return ~unordered
    if predicate == 14:
        return unordered
    order = (None, operator.eq, operator.gt, operator.ge, operator.lt, operator.le, operator.ne)
    found = order[predicate if predicate < 7 else predicate - 7](a, b)
    return found & ~unordered if predicate < 7 else found | unordered


def _to_signed(x: Any, type_: ir.Type) -> Any:
    with np.errstate(all="ignore"):
        return typed(int(x) if np.ndim(x) == 0 and np.isfinite(x) else np.trunc(x), type_)


Plain = Callable[..., Any]
PLAIN: dict[str, Plain] = {   # of the operands alone; the result gets the op's type
    "arith.addi": lambda a, b: _wide(a) + _wide(b), "arith.subi": lambda a, b: _wide(a) - _wide(b),
    "arith.muli": lambda a, b: _wide(a) * _wide(b),
    "arith.divsi": _truncated, "arith.remsi": _remainder, "arith.floordivsi": _floordiv,
    "arith.ceildivsi": lambda a, b: -_floordiv(-_wide(a), b),
    "arith.divui": lambda a, b: _floordiv(_unsigned(a), _unsigned(b)), "arith.remui": lambda a, b: _unsigned(a) % _unsigned(b),
    "arith.ceildivui": lambda a, b: -_floordiv(-_wide(_unsigned(a)), _wide(_unsigned(b))),
    "arith.minsi": np.minimum, "arith.maxsi": np.maximum,
    "arith.minui": lambda a, b: np.minimum(_unsigned(a), _unsigned(b)), "arith.maxui": lambda a, b: np.maximum(_unsigned(a), _unsigned(b)),
    "arith.andi": operator.and_, "arith.ori": operator.or_, "arith.xori": operator.xor,
    "arith.shli": lambda a, b: _wide(a) * 2 ** _wide(b), "arith.shrsi": operator.rshift,
    "arith.shrui": lambda a, b: _unsigned(a) >> _unsigned(b),
    "arith.index_cast": lambda a: a, "arith.extsi": lambda a: -1 * a if np.asarray(a).dtype.kind == "b" else a, "arith.trunci": _wide,
    "arith.index_castui": _unsigned, "arith.extui": _unsigned,
    "arith.sitofp": lambda a: a, "arith.uitofp": _unsigned,
    "arith.extf": lambda a: a, "arith.truncf": lambda a: a,
    "arith.addf": operator.add, "arith.subf": operator.sub, "arith.mulf": operator.mul, "arith.divf": np.divide, "arith.negf": operator.neg,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum, "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
    "arith.select": lambda c, a, b: (a if c else b) if np.ndim(c) == 0 else np.where(c, a, b),
}


def evaluate(op: ir.Operation, operands: Sequence[Value]) -> Value | None:
    """The result of an op of arith or affine; None for an op that this file does not know. Misbehaved for a division by zero."""
    name, type_ = op.name, op.results[0].type if len(op.results) else None
    with np.errstate(all="ignore"):
        if name == "arith.constant":
            return constant(op)
        if name in PLAIN:
            if name == "arith.select" and not isinstance(operands[1], int | np.ndarray | np.generic):
                return operands[1] if operands[0] else operands[2]   # of memory
            return typed(PLAIN[name](*operands), type_)
        if name == "arith.cmpi":
            return typed(_cmpi(op, *operands), type_)
        if name == "arith.cmpf":
            return typed(_cmpf(op, *operands), type_)
        if name == "arith.fptosi":
            return _to_signed(operands[0], type_)
        if name in ("affine.apply", "affine.min", "affine.max"):
            values = affine_map(ir.AffineMapAttr(op.attributes["map"]).value, operands)
            return {"apply": lambda: values[0], "min": lambda: min(values), "max": lambda: max(values)}[name.split(".")[1]]()
    return None


def affine_map(map_: ir.AffineMap, operands: Sequence[int]) -> list[int]:
    """The results of a map for its dimensions and then its symbols."""
    return [affine_value(e, operands[:map_.n_dims], operands[map_.n_dims:]) for e in map_.results]


def affine_value(expression: ir.AffineExpr, dims: Sequence[int], symbols: Sequence[int]) -> int:
    """The value of an affine expression."""
    if isinstance(expression, ir.AffineDimExpr):
        return dims[ir.AffineDimExpr(expression).position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return symbols[ir.AffineSymbolExpr(expression).position]
    if isinstance(expression, ir.AffineConstantExpr):
        return ir.AffineConstantExpr(expression).value
    for kind, work in ((ir.AffineAddExpr, operator.add), (ir.AffineMulExpr, operator.mul), (ir.AffineModExpr, operator.mod),
                       (ir.AffineFloorDivExpr, operator.floordiv), (ir.AffineCeilDivExpr, lambda a, b: -(-a // b))):
        if isinstance(expression, kind):
            both = ir.AffineBinaryExpr(expression)
            return work(affine_value(both.lhs, dims, symbols), affine_value(both.rhs, dims, symbols))
    raise NotEvaluated(f"the affine expression {expression} is of no known kind")
