"""Every f32 argument of a function of one operand, against the C library's function of f64.

    python test/targets/intrinsics/every_float.py [NAME...]      updates every_float.json, from which sweep.py writes docs/intrinsics.md

The references are C expressions, compiled by ``cc``; with glibc on x86-64 they are vectors (libmvec, 4 ulp of f64: 1e-8 ulp of f32), and
the 2^32 arguments of a function take about half a minute.
"""
import argparse
import ctypes
import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import functions
import references
import sweep

from legato.core.mlir import ir
from legato.targets.cpu.activations import gelu_of, mish_of, sigmoid_of, silu_of, tanh_gelu_of
from legato.targets.generic.activations import softplus_of
from legato.targets.intrinsics.lanes import Lanes
from legato.targets.intrinsics.ops import OPS, Ufunc

# of the double x; every result is that of IEEE 754 for infinities, NaNs and zeros too
_SAME = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "fabs",
         "floor", "log", "log10", "log1p", "log2", "logb", "rint", "round", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc")
_SOFTPLUS = "((x < 0 ? 0 : x) + log1p(exp(-fabs(x))))"
_TANH_GELU = "-2 * (0.7978845608028653558798921198687 * (x + 0.044715 * x * x * x))"
EXPRESSIONS = {name: f"{name}(x)" for name in _SAME} | {
    "lgamma": "isinf(x) ? INFINITY : lgamma(x)", "square": "x * x", "reciprocal": "1 / x",
    "degrees": "x * 57.295779513082320876798154814105", "radians": "x * 0.01745329251994329576923690768489",
    "sigmoid": "1 / (1 + exp(-x))", "silu": "x / (1 + exp(-x))", "gelu": "x * (0.5 * erfc(x * -0.70710678118654752440084436210485))",
    "gelu_tanh": f"x / (1 + exp({_TANH_GELU}))", "softplus": _SOFTPLUS,
    "mish": f"x * tanh{_SOFTPLUS}",
}
_SOURCE = r"""
#include <math.h>
#include <string.h>
#include <stdint.h>
#include <float.h>
%s
/* The distance in units in the last place of the right result, or of the operand if that is greater and ``of_operand``; infinite where only
   one is NaN or infinite, or zeros differ in sign. */
static void distances(const float *restrict x, const float *restrict got, const double *restrict want, int of_operand, float *restrict out,
                      long n) {
  #pragma omp simd
  for (long i = 0; i < n; i++) {
    double y = want[i], g = got[i], a = __builtin_fabs(y), b = __builtin_fabs((double)x[i]);
    b = of_operand && b <= FLT_MAX ? b : 0x1p-126;
    double size = a > b ? a : b;
    size = size > 0x1p-126 ? size : 0x1p-126; /* NaN becomes this */
    int64_t bits, ys, gs;
    memcpy(&bits, &size, 8), memcpy(&ys, &y, 8), memcpy(&gs, &g, 8);
    bits = ((int64_t)(2046 + 23) << 52) - (bits & (int64_t)2047 << 52); /* 2^(23 - exponent) */
    double per_unit, e;
    memcpy(&per_unit, &bits, 8);
    e = __builtin_fabs(g - y) * per_unit;                             /* NaN if one is NaN, or both are the same infinity */
    double near = (double)(float)y, most = __builtin_inf();
    e = g == near ? (e < 0.5 ? e : 0.5) : e;                          /* 0.5 for overflow and the same infinity */
    e = g == y ? 0 : e;
    e = (g == 0) & (y == 0) & ((ys ^ gs) < 0) ? most : e;
    e = (a >= FLT_MAX) & (__builtin_fabs(g) > FLT_MAX) & (g * y > 0) ? 0.5 : e;
    e = (g == y) & (a > FLT_MAX) ? 0 : e;
    e = (g != g) & (y != y) ? 0 : e;
    e = e == e ? e : most;
    out[i] = (float)e;
  }
}
"""
_DRIVER = r"""
typedef struct { void *allocated, *aligned; long offset, size, stride; } Descriptor;
typedef void (*Kernel)(void **); /* the addresses of the arguments, which are addresses of descriptors */
typedef void (*Reference)(const float *, double *, long);
/* Tries the bit patterns first, first + stride, ...; worst: the greatest distance, its argument, what was found and what is right; if
   ``of_operand``, then also those in units of the operand. */
void sweep(Kernel kernel, Reference reference, int of_operand, long first, long count, long stride, double worst[2][4]) {
  static float x[SIZE] __attribute__((aligned(64))), y[SIZE] __attribute__((aligned(64))), e[SIZE];
  static double want[SIZE];
  Descriptor from = {x, x, 0, SIZE, 1}, to = {y, y, 0, SIZE, 1}, *arguments[] = {&from, &to};
  void *packed[] = {arguments, arguments + 1};
  for (long start = 0; start < count; start += SIZE) {
    for (long i = 0; i < SIZE; i++) {
      uint32_t bits = (uint32_t)(first + (start + i) * stride);
      memcpy(x + i, &bits, 4);
    }
    kernel(packed);
    reference(x, want, SIZE);
    for (int unit = 0; unit <= of_operand; unit++) {
      double *w = worst[unit];
      distances(x, y, want, unit, e, SIZE);
      float most = 0;
      #pragma omp simd reduction(max: most)
      for (long i = 0; i < SIZE; i++) most = e[i] > most ? e[i] : most;
      if (most > w[0] || w[0] < 0)
        for (long i = 0; i < SIZE; i++) if (e[i] > w[0]) { w[0] = e[i]; w[1] = x[i]; w[2] = y[i]; w[3] = want[i]; }
    }
  }
}
"""
_LOOP = """void ref_%s(const float *restrict from, double *restrict to, long n) {
  #pragma omp simd
  for (long i = 0; i < n; i++) { double x = from[i]; to[i] = %s; }
}
"""
SIZE = 1 << 13


@dataclass(frozen=True)
class Worst:
    """The greatest error of a function, in units in the last place, and the argument, what it gave and what is right."""

    ulps: float
    argument: float
    found: float
    right: float


@cache
def library() -> ctypes.CDLL:
    """The compiled references."""
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder) / "reference.c", Path(folder) / "reference.so"
        source.write_text(f"#define SIZE {SIZE}\n" + _SOURCE % "".join(_LOOP % pair for pair in EXPRESSIONS.items()) + _DRIVER)
        # glibc declares its vectors only to programs that ask for fast mathematics; the compiler itself keeps NaNs and signs of zeros
        flags = ["-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-fno-trapping-math", "-D__FAST_MATH__", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, "-o", str(built), str(source), "-lm"], check=True)
        return ctypes.CDLL(str(built))


def worst(name: str, kernel: int, stride: int = 1, of_operand: bool = False) -> list[Worst]:
    """The greatest error over all f32 numbers of the packed function at an address, of NaNs in part only; if ``of_operand``, then also that
    in units of the operand."""
    found = (ctypes.c_double * 4 * 2)((-1, 0, 0, 0), (-1, 0, 0, 0))
    address = ctypes.cast(getattr(library(), f"ref_{name}"), ctypes.c_void_p)
    for sign in (0, 1 << 31):
        count = 0x7F900000 // stride
        library().sweep(ctypes.c_void_p(kernel), address, int(of_operand), *map(ctypes.c_long, (sign, count, stride)), found)
    return [Worst(*numbers) for numbers in found[:1 + of_operand]]


# --- what is measured: the ops of the list, and graph ops made of them ---

GRAPH_OPS: dict[str, Callable[[Lanes, ir.Value], ir.Value]] = {  # their expressions, of which the target's kernels are made
    "sigmoid": sigmoid_of, "silu": silu_of, "gelu": gelu_of, "gelu_tanh": tanh_gelu_of, "softplus": softplus_of, "mish": mish_of,
}
TARGETS = ("llvm", "llvm{cpu=x86-64-v3}")
# what AVX-512 has another expression for; others are measured once
BY_MACHINE = ("erf", "exp", "tanh", "sigmoid", "silu", "gelu", "gelu_tanh", "softplus")


def measure(name: str, target: str, stride: int = 1) -> list[Worst]:
    """The greatest error of a function of EXPRESSIONS, compiled for a target, in vectors; of a graph op also in units of the operand."""
    op = Ufunc(name, GRAPH_OPS[name]) if name in GRAPH_OPS else next(op for op in OPS if op.name == name)
    case = functions.Case(op, "f32")
    engine = sweep.Compiled([case], target).engine
    return worst(name, engine.raw_lookup(f"_mlir_ciface_{case}_vector"), stride, name in GRAPH_OPS)


def main() -> None:
    """Writes the greatest error of each function and its argument to every_float.json."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", help="functions; all by default")
    parser.add_argument("--stride", type=int, default=1, help="try every STRIDE-th number only, and write nothing")
    options = parser.parse_args()
    for name in options.names or EXPRESSIONS:
        targets = TARGETS if name in BY_MACHINE else TARGETS[:1]
        for key, errors in zip((name, f"{name} of operand"), zip(*(measure(name, target, options.stride) for target in targets))):
            found = max(errors, key=lambda w: w.ulps)
            at = found.argument
            print(f"{key}: {found.ulps:.3f} at {at.hex()} = {at!r}: {found.found!r}, not {found.right!r}", flush=True)
            if options.stride == 1:
                record = references.recorded()
                record[key] = {"ulps": round(found.ulps, 4), "argument": at.hex()}
                references.RECORD.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
