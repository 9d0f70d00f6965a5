"""Scalar functions that math and arith lack, from C and numpy; they also work elementwise on vectors."""
from typing import Any

from legato.core.mlir import ext, ir
from legato.dialects.tir.dialect import Tir

FLOAT, INTEGER = "float", "integer"


class Intrinsic:
    """Members shared by the op classes below. They are copied, since classes of the bindings take a single base."""

    TAKES = FLOAT
    # result types: "same" (as the first operand), "i1", "i32" or "f32"; vectors have the first operand's shape
    GIVES: tuple[str, ...] = ("same",)

    def verify_invariants(self) -> bool:
        """The bindings' verifier hook."""
        problem = self.problem()
        if problem:
            self.operation.location.emit_error(f"'{self.OPERATION_NAME}' op {problem}")
        return problem is None

    def problem(self) -> str | None:
        """What is wrong with the op, or None."""
        operands, results = list(self.operation.operands), list(self.operation.results)
        if len(operands) != len(self.OPERANDS) or len(results) != len(self.GIVES):
            return f"expects {len(self.OPERANDS)} operands and {len(self.GIVES)} results, has {len(operands)} and {len(results)}"
        first = operands[0].type
        if not _is(first, self.TAKES):
            return f"takes {self.TAKES} numbers or vectors of them, not {first}"
        for name, kind, value in [*zip(self.OPERANDS, self.TYPES, operands), *zip(("result",) * len(results), self.GIVES, results)]:
            expected = _typed(first, kind)
            if value.type != expected:
                return f"expects {name} to be {expected}, is {value.type}"
        return None


def _is(type_: ir.Type, kind: str) -> bool:
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return isinstance(element, ir.FloatType if kind == FLOAT else ir.IntegerType)


def _typed(first: ir.Type, kind: str) -> ir.Type:
    if kind == "same":
        return first
    with ir.Location.unknown(first.context):
        element = ir.F32Type.get() if kind == "f32" else ir.IntegerType.get_signless(int(kind[1:]))
        return ir.VectorType.get(first.shape, element, scalable=first.scalable_dims) if isinstance(first, ir.VectorType) else element


def _define(name: str, doc: str, operands: dict[str, str], takes: str = FLOAT, gives: tuple[str, ...] = ("same",)) -> type:
    results = {"result": ext.Result[Any]} if len(gives) == 1 else {f"result{i}": ext.Result[Any] for i in range(len(gives))}
    doc = f"{doc}\n\n```mlir\n{_example(name, operands, takes, gives)}\n```"
    body = {"__annotations__": {**{o: ext.Operand[Any] for o in operands}, **results}, "__doc__": doc, "__module__": __name__}
    class_name = "".join(part.capitalize() for part in name.split("_"))
    cls = type(Tir.Operation)(class_name, (Tir.Operation,), body, name=name, traits=[ext.Pure])
    cls.OPERANDS, cls.TYPES, cls.TAKES, cls.GIVES = tuple(operands), tuple(operands.values()), takes, gives
    cls.verify_invariants, cls.problem = Intrinsic.verify_invariants, Intrinsic.problem
    return cls


def _example(name: str, operands: dict[str, str], takes: str, gives: tuple[str, ...]) -> str:
    number = "f32" if takes == FLOAT else "i32"

    def types(kinds: Any) -> str:
        return ", ".join(number if kind == "same" else kind for kind in kinds)

    results = ", ".join(f"%r{i}" for i in range(len(gives))) if len(gives) > 1 else "%r"
    made = f"({types(gives)})" if len(gives) > 1 else types(gives)
    return f'{results} = "tir.{name}"({", ".join("%" + o for o in operands)}) : ({types(operands.values())}) -> {made}'


_X, _XY = {"x": "same"}, {"x": "same", "y": "same"}
INTRINSICS: dict[str, type] = {cls.OPERATION_NAME: cls for cls in (
    _define("hypot", "sqrt(x^2 + y^2) without overflow on the way.", _XY),
    _define("fdim", "x - y where that is positive, else 0.", _XY),
    _define("nextafter", "The number next to x towards y.", _XY),
    _define("remainder", "x - n y for the whole n nearest to x / y, even in a tie (IEEE 754's remainder).", _XY),
    _define("ldexp", "x 2^n, rounded once.", {"x": "same", "n": "i32"}),
    _define("frexp", "m and n with x = m 2^n and 1/2 <= |m| < 1; zeros, infinities and NaNs stay, with n = 0.", _X, gives=("same", "i32")),
    _define("modf", "The fraction and the whole part of x, both with its sign.", _X, gives=("same", "same")),
    _define("logb", "The exponent of x as a number: floor(log2 |x|).", _X),
    _define("ilogb", "The exponent of x as an integer; INT_MIN for 0 and NaN, INT_MAX for infinities.", _X, gives=("i32",)),
    _define("signbit", "Whether the sign is minus, of zeros and NaNs too.", _X, gives=("i1",)),
    _define("tgamma", "The gamma function.", _X),
    _define("lgamma", "The logarithm of the gamma function's absolute value.", _X),
    _define("logaddexp", "log(e^x + e^y).", _XY),
    _define("logaddexp2", "log2(2^x + 2^y).", _XY),
    *(_define(f"dot4_{x}{y}", f"sums + x0 y0 + x1 y1 + x2 y2 + x3 y3, where lanes of i32 hold four bytes each, {signs}; wraps.",
              {"x": "i32", "y": "i32", "sums": "i32"}, takes=INTEGER, gives=("i32",))
      for x, y, signs in (("u8", "s8", "x unsigned, y signed"), ("s8", "s8", "both signed"), ("u8", "u8", "both unsigned"))),
    _define("dot2_s16s16", "sums + x0 y0 + x1 y1, where lanes of i32 hold two signed integers of 16 bits each; wraps.",
            {"x": "i32", "y": "i32", "sums": "i32"}, takes=INTEGER, gives=("i32",)),
    _define("dot2_bf16bf16", "sums + x1 y1 + x0 y0 in this order, where lanes of i32 hold two bf16 each; each addition rounds once. "
            "Instructions may take denormal numbers for 0.", {"x": "i32", "y": "i32", "sums": "f32"}, takes=INTEGER, gives=("f32",)),
    _define("gcd", "The greatest common divisor of unsigned integers; gcd(x, 0) = x.", _XY, takes=INTEGER),
)}


def build(name: str, *operands: ir.Value) -> Any:
    """Builds ``tir.<name>`` at the insertion point. Returns its result, or a tuple if it has several."""
    cls = INTRINSICS[f"tir.{name}"]
    results = [_typed(operands[0].type, kind) for kind in cls.GIVES]
    op = ir.Operation.create(cls.OPERATION_NAME, results, list(operands))
    return op.results[0] if len(results) == 1 else tuple(op.results)
