"""The functions of a kernel's script: ``T.exp``, ``T.max``, ``T.if_then_else``, ...

To add one, add an entry to FUNCTIONS. That makes it a word of kernels (``T.name(...)`` in a script), of Python functions that a kernel
calls while it is parsed, and of ``T.apply("name", ...)``; and the printer writes the MLIR ops that the entry lists as calls of it.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from legato.core.mlir import arith, math
from legato.frontends.script.kernel import fixed_point, forms, intrinsics
from legato.frontends.script.kernel.arithmetic import invert, logical_not, select
from legato.frontends.script.kernel.intrinsics import (
    ScalarFunction,
    folded,
    literal,
    of_bits,
    of_tir,
    of_two_floats,
    operator,
    rounding,
    unary,
)
from legato.frontends.script.kernel.packed import call_packed_word
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.threads import env_thread
from legato.frontends.script.language.types import DTYPES


@dataclass(frozen=True)
class Form:
    """A function of the script that reads its arguments' syntax itself: one that evaluates some of them only, or takes a buffer."""

    parse: Callable[[KernelParser, ast.Call], Any]


FUNCTIONS: dict[str, ScalarFunction | Form] = {
    # floats
    "exp": unary(math.ExpOp), "exp2": unary(math.Exp2Op), "exp10": ScalarFunction(intrinsics.exp10), "expm1": unary(math.ExpM1Op),
    "log": unary(math.LogOp), "log2": unary(math.Log2Op), "log10": unary(math.Log10Op), "log1p": unary(math.Log1pOp),
    "sqrt": unary(math.SqrtOp), "rsqrt": unary(math.RsqrtOp), "erf": unary(math.ErfOp), "sigmoid": ScalarFunction(intrinsics.sigmoid),
    "sin": unary(math.SinOp), "cos": unary(math.CosOp), "tan": unary(math.TanOp),
    "asin": unary(math.AsinOp), "acos": unary(math.AcosOp), "atan": unary(math.AtanOp), "atan2": of_two_floats(math.Atan2Op),
    "sinh": unary(math.SinhOp), "cosh": unary(math.CoshOp), "tanh": unary(math.TanhOp),
    "asinh": unary(math.AsinhOp), "acosh": unary(math.AcoshOp), "atanh": unary(math.AtanhOp),
    "floor": rounding(math.FloorOp), "ceil": rounding(math.CeilOp), "trunc": rounding(math.TruncOp),
    "nearbyint": rounding(math.RoundEvenOp), "round": rounding(math.RoundEvenOp),
    "copysign": of_two_floats(math.CopySignOp), "fmod": of_two_floats(arith.RemFOp),
    "hypot": of_tir("hypot"), "nextafter": of_tir("nextafter"), "ldexp": ScalarFunction(intrinsics.ldexp),
    "lgamma": of_tir("lgamma"), "tgamma": of_tir("tgamma"),
    "fma": ScalarFunction(intrinsics.fused_multiply_add, ("math.fma",)),
    "isnan": ScalarFunction(intrinsics.is_nan), "isinf": ScalarFunction(intrinsics.is_infinite),
    "isfinite": ScalarFunction(intrinsics.is_finite),
    # numbers of any type
    "abs": ScalarFunction(intrinsics.absolute, ("math.absf", "math.absi")), "fabs": ScalarFunction(intrinsics.absolute),
    "pow": ScalarFunction(intrinsics.power, ("math.powf",)), "power": ScalarFunction(intrinsics.power),
    "max": operator("max", "arith.maximumf", "arith.maxsi", "arith.maxui"), "Max": operator("max"),
    "min": operator("min", "arith.minimumf", "arith.minsi", "arith.minui"), "Min": operator("min"),
    "Add": operator("+"), "add": operator("+"), "Sub": operator("-"), "subtract": operator("-"),
    "Mul": operator("*"), "multiply": operator("*"), "Div": operator("/"), "div": operator("/"),
    "floordiv": operator("//"), "FloorDiv": operator("//"), "indexdiv": operator("//"), "ceildiv": ScalarFunction(intrinsics.ceil_divide),
    "floormod": operator("%"), "FloorMod": operator("%"), "indexmod": operator("%"), "Mod": operator("truncmod"),
    "truncdiv": operator("truncdiv", "arith.divsi", "arith.divui"), "truncmod": operator("truncmod", "arith.remsi", "arith.remui"),
    "EQ": operator("=="), "NE": operator("!="), "LT": operator("<"), "LE": operator("<="), "GT": operator(">"), "GE": operator(">="),
    # bits
    "shift_left": operator("<<"), "shift_right": operator(">>"), "bitwise_and": operator("&"), "bitwise_or": operator("|"),
    "bitwise_xor": operator("^"), "bitwise_not": ScalarFunction(invert),
    "clz": of_bits(math.CountLeadingZerosOp), "popcount": of_bits(math.CtPopOp),
    "q_multiply_shift": ScalarFunction(fixed_point.multiply_shift),
    "q_multiply_shift_per_axis": ScalarFunction(fixed_point.multiply_shift_per_axis),
    # conditions
    "Not": ScalarFunction(logical_not), "And": folded("and"), "Or": folded("or"), "all": folded("and"), "any": folded("or"),
    "likely": ScalarFunction(intrinsics.likely), "assume": ScalarFunction(intrinsics.assume),
    "Select": ScalarFunction(select), "if_then_else": Form(forms.if_then_else_word),
    # types
    **{dtype: literal(dtype) for dtype in DTYPES}, "boolean": literal("bool"),
    "cast": ScalarFunction(intrinsics.cast_to), "Cast": ScalarFunction(intrinsics.cast_from),
    "reinterpret": ScalarFunction(intrinsics.reinterpret),
    "min_value": ScalarFunction(intrinsics.lowest), "max_value": ScalarFunction(intrinsics.highest),
    "infinity": ScalarFunction(intrinsics.infinity),
    # lanes and names
    "Ramp": Form(forms.ramp_word), "Broadcast": Form(forms.broadcast_word), "Shuffle": Form(forms.shuffle),
    "Let": Form(forms.let), "meta_var": Form(forms.value_itself), "bind": Form(forms.value_itself),
    # addresses, and functions of C and of the run time
    "address_of": Form(forms.address_of), "call_extern": Form(forms.call_extern), "call_pure_extern": Form(forms.call_extern),
    "call_packed": Form(call_packed_word), "call_cpacked": Form(call_packed_word),
    "env_thread": Form(env_thread),
}
