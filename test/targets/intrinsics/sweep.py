"""Every op of the list on every element type, as numbers and as vectors, compiled for this CPU and compared with numpy and scipy.

    python test/targets/intrinsics/sweep.py --write      writes docs/intrinsics.md from what it measures
"""
import argparse
import ctypes
import sys
import warnings
from pathlib import Path

import functions
import ml_dtypes
import numpy as np
import references
from functions import CASES, DTYPES, FLOAT, KINDS, LANES

import legato
from legato.core.mlir import execution_engine, ir
from legato.dialects.module import Module
from legato.passes.legalize.legalize_intrinsics import legalize_intrinsics
from legato.passes.legalize.lower_intrinsics import lower_intrinsics
from legato.targets.catalog import Catalog
from legato.targets.intrinsics.ops import OPS

DOCUMENT = Path(__file__).parents[3] / "docs" / "intrinsics.md"
FLOATS = [name for name in DTYPES if KINDS[name] == FLOAT]


class Descriptor(ctypes.Structure):
    """A memref of rank 1."""

    _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64), ("size", ctypes.c_int64),
                ("stride", ctypes.c_int64)]

    @staticmethod
    def of(array):
        return Descriptor(array.ctypes.data, array.ctypes.data, 0, array.size, 1)


class Compiled:
    """The functions of some cases, lowered by the last stage of a CPU's pipeline, and ready to be called by C's convention."""

    def __init__(self, cases, target="llvm"):
        module = Module(functions.build(cases))
        stage = dict(Catalog().resolve(target).pipeline())["llvm"].removesuffix(",tir-emit-entry")
        legato.Pipeline(stage).run(module, legato.PassContext(resolve_target=Catalog().resolve))
        with module.context, ir.Location.unknown():
            self.engine = execution_engine.ExecutionEngine(module.module, opt_level=1)


_BOOL = (np.int8,)
RESULTS = {name: _BOOL for name in (
    "isfinite", "isinf", "isnormal", "isnan", "signbit", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and", "logical_or", "logical_xor", "logical_not")} | {"ilogb": (np.int32,)}


def results_of(case):
    """The element types of what a case gives."""
    if case.op.name == "frexp":
        return DTYPES[case.dtype], np.int32
    return RESULTS[case.op.name] if case.op.name in RESULTS else (DTYPES[case.dtype],) * case.op.results


def inputs(case, dense=False):
    """The operands to try; ``dense``: many more of f32 and f64."""
    dtype = np.dtype(DTYPES[case.dtype])
    values = references.float_bits(dtype) if case.dtype in FLOATS else references.integers(dtype)
    if case.op.operands == "x":
        return [np.concatenate([values, references.dense_bits(dtype)]) if dense and case.dtype == "f64" else values]
    x, y = references.pairs(values)
    if dense and case.dtype in ("f32", "f64") and len(case.op.operands) == 2:  # long doubles are too short for products
        x, y = (np.concatenate(both) for both in zip((x, y), references.pairs(references.dense_bits(dtype), 400000)))
    if case.op.name == "ldexp":
        return [x, np.random.default_rng(4).integers(-2200, 2200, x.size).astype(np.int32)]
    if case.op.name == "pow" and case.dtype not in FLOATS:
        return [x, (np.abs(y.astype(np.int64)) % 70).astype(dtype)]
    if case.op.operands == "xxx":
        return [x, y, np.random.default_rng(5).permutation(y)]
    return [x, y]


# defined by the rounding of the type itself
OWN_PRECISION = ("floor_divide", "divmod", "nextafter", "spacing")


def expected(case, arrays):
    """numpy's results, more precise than the op's own type where that can be."""
    name = case.op.name
    with np.errstate(all="ignore"):
        if case.dtype not in FLOATS:
            function = references.integer_reference(name)
            found = function(*arrays)
        elif name == "isnormal":
            smallest = float(ml_dtypes.finfo(arrays[0].dtype).smallest_normal)
            found = np.isfinite(arrays[0]) & (np.abs(arrays[0].astype(np.float64)) >= smallest)
        elif name in OWN_PRECISION:
            found = (references.FLOAT_REFERENCES.get(name) or getattr(np, name))(*arrays)
        else:
            wide = [a.astype(references.EXACT[case.dtype]) if a.dtype != np.int32 else a for a in arrays]
            found = (references.FLOAT_REFERENCES.get(name) or getattr(np, name))(*wide)
    return list(found) if isinstance(found, tuple) else [found]


def ulps(got, want, dtype, scale=()):
    """The distances in units in the last place of ``dtype``, infinite where one is NaN or infinite and the other is not. ``scale``: arrays
    that the units may be those of, where these are greater."""
    info = ml_dtypes.finfo(dtype)
    wide = np.longdouble if np.dtype(dtype) == np.float64 else np.float64
    got, want = got.astype(wide), np.asarray(want).astype(wide)
    with np.errstate(all="ignore"):
        rounded = want.astype(np.float64).astype(dtype).astype(wide) if wide is np.float64 else want.astype(np.float64).astype(wide)
        same = (got == rounded) | (np.isnan(got) & np.isnan(want))
        size = np.maximum(np.abs(want), wide(info.smallest_normal))
        for other in scale:
            size = np.maximum(size, np.where(np.isfinite(other), np.abs(other.astype(wide)), 0))
        unit = np.exp2(np.floor(np.log2(size))) * wide(info.eps)
        distance = np.abs(got - want) / unit
        overflow = np.isinf(got) & np.isfinite(want) & (np.abs(want) >= wide(info.max))
        distance = np.where(overflow & (np.sign(got) == np.sign(want)), 0.5, distance)
        distance = np.where(same, np.minimum(np.nan_to_num(distance, nan=0, posinf=0), 0.5), distance)
        distance = np.where(np.isnan(distance), np.inf, distance)
    return distance


def measure(cases=CASES, target="llvm", dense=False):
    """(case, form) -> (greatest error, the operands there); errors of integers and booleans are 0 or infinite."""
    warnings.filterwarnings("ignore", "invalid value|overflow", RuntimeWarning)  # of casts of NaNs and of what is too great, as meant
    found = {}
    for dtype in DTYPES:
        chosen = [case for case in cases if case.dtype == dtype]
        if not chosen:
            continue
        compiled = Compiled(chosen, target)
        for case in chosen:
            arrays = inputs(case, dense)
            want = expected(case, arrays)
            for form in ("scalar", "vector"):
                got = call(compiled, case, form, arrays)
                worst, where = 0.0, None
                for g, w in zip(got, want, strict=True):
                    if g.dtype == np.dtype(DTYPES[dtype]) and dtype in FLOATS:
                        distance = ulps(g, w, g.dtype, arrays if case.op.name.startswith("logaddexp") else ())
                        zero = (g == 0) & (np.asarray(w) == 0) & ~np.isnan(np.asarray(w).astype(np.float64))
                        wrong_sign = zero & (np.signbit(g.astype(np.float64)) != np.signbit(np.asarray(w).astype(np.float64)))
                        if case.op.name not in SIGNLESS_ZERO:
                            distance = np.where(wrong_sign, np.inf, distance)
                    else:
                        distance = np.where(g == np.asarray(w).astype(g.dtype), 0, np.inf)
                    at = int(np.argmax(distance))
                    if distance[at] > worst:
                        worst, where = float(distance[at]), tuple(a[at] for a in arrays) + (g[at], np.asarray(w)[at])
                found[case, form] = (worst, where)
    return found


SIGNLESS_ZERO = ("nextafter", "fmax", "fmin", "maximum", "minimum", "floor_divide", "divmod", "heaviside")


def call(compiled, case, form, arrays):
    """The results of one function."""
    count = arrays[0].size
    padded = [np.concatenate([a, np.ones(-count % LANES, a.dtype)]) for a in arrays]
    outs = [np.zeros(padded[0].size, dtype) for dtype in results_of(case)]
    given = [ctypes.pointer(ctypes.pointer(Descriptor.of(a))) for a in (*padded, *outs)]
    compiled.engine.invoke(f"{case}_{form}", *given)
    return [out[:count] for out in outs]


def legalized(target, cases, lanes=(0, 4)):
    """The value functions of these cases after both moments on a target, and what happened to each."""
    module = functions.build_values(cases, lanes)
    report = []
    with module.context, ir.Location.unknown():
        resolved = Catalog().resolve(target)
        legalize_intrinsics(module, resolved, report)
        lower_intrinsics(module, resolved, report)
    return module, report


def ways():
    """For each op, on each target, the rules that made it of what the target has, on f32 (or i32)."""
    cases = [c for c in CASES if c.dtype == ("f32" if FLOAT in c.op.kinds else "i32")]
    found = {}
    for target in ("llvm", "nvvm", "vulkan"):
        _, report = legalized(target, cases, (0,))
        for case in cases:
            rules = dict.fromkeys(f"{r.target}: {r.rule}" for r in report if r.name == str(case) and r.rule)
            found[case.op.name, target] = ", ".join(rules) or "as it is"
    return found


HEAD = """# Intrinsics: C's math.h and numpy's ufuncs

The list is `targets/intrinsics/ops.py`. Each op is there for every target, on numbers and on vectors; what a target lacks is legalized.

This file is written by `python test/targets/intrinsics/sweep.py --write`, from what it measures and from
`test/targets/intrinsics/every_float.json`, which `python test/targets/intrinsics/every_float.py` writes. The test of the same folder
compares with it.

## The greatest errors on CPUs

In units in the last place; 0.5 is correct rounding, 0 is exact. Wrong NaNs, infinities, denormals and signs of zeros count as infinite.

- f32, one operand: the greatest of all 2^32 numbers, against functions of f64, in vectors, with AVX-512 and without. Numbers one by one
  are computed as without AVX-512.
- f16, bf16, one operand: the greatest of all numbers.
- f64, one operand: the greatest found among some 1.5 million numbers: of every exponent, in even steps around 0, of all sizes, and special
  ones; against long doubles. There may be greater ones.
- Two operands: the greatest found among all pairs of special values and some 400,000 others of f32 and f64. There may be greater ones. The
  errors of `logaddexp` and `logaddexp2` are in units of the greater operand where that is greater than the result.
- Integers of 8 to 64 bits, signed and unsigned, are exact everywhere.

"""


ACTIVATIONS = """What the kernels of these graph ops compute in f32, over the same numbers. Where the result is much less than the operand,
its own last places may be lost: the second column is in units of the operand where that is greater. Below -4, gelu is a difference of
numbers near 1, and gelu_tanh an exponential of a rounded argument: more places would take as long again.""".splitlines()


def cell(error):
    """An error as the tables show it: rounded up, so that it is a bound."""
    if error == 0:
        return "0"
    return f"{np.ceil(error * 100 - 1e-6) / 100:.2f}" if error < 1000 else f"{error:.1e}"


def document(found):
    """The text of docs/intrinsics.md."""
    worst = {}
    for (case, _), (error, _) in found.items():
        worst[case.op.name, case.dtype] = max(error, worst.get((case.op.name, case.dtype), 0))
    record = references.recorded()
    for name in record:
        if (name, "f32") in worst:
            worst[name, "f32"] = max(worst[name, "f32"], record[name]["ulps"])
    lines = ["| op | also | " + " | ".join(FLOATS) + " | integers |", "| --- | --- |" + " --- |" * (len(FLOATS) + 1)]
    for op in OPS:
        cells = [cell(worst[op.name, dtype]) if (op.name, dtype) in worst else "" for dtype in FLOATS]
        integers = [worst[op.name, dtype] for dtype in DTYPES if dtype not in FLOATS and (op.name, dtype) in worst]
        cells.append("" if not integers else "exact" if max(integers) == 0 else "wrong")
        lines.append(f"| {op.name} | {', '.join(op.aliases)} | " + " | ".join(cells) + " |")
    lines += ["", "## Activations", "", *ACTIVATIONS, "", "| op | f32 | of the operand |", "| --- | --- | --- |"]
    lines += [f"| {name} | {cell(record[name]['ulps'])} | {cell(record[name + ' of operand']['ulps'])} |"
              for name in record if name + " of operand" in record]
    table = ways()
    lines += ["", "## How each target comes by them", ""]
    lines += ["On f32 (or i32): the target that the rule belongs to, and the rule. `as it is`: by upstream's conversion of the op."]
    lines += ["", "| op | llvm | nvvm | vulkan |", "| --- | --- | --- | --- |"]
    lines += [f"| {op.name} | {table[op.name, 'llvm']} | {table[op.name, 'nvvm']} | {table[op.name, 'vulkan']} |" for op in OPS]
    return HEAD + "\n".join(lines) + "\n"


def documented():
    """(op, dtype) -> the greatest error that docs/intrinsics.md states."""
    found = {}
    for line in DOCUMENT.read_text().split("## How")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 + len(FLOATS) and cells[0] not in ("op", "---"):
            found |= {(cells[0], dtype): float(cell) for dtype, cell in zip(FLOATS, cells[2:]) if cell}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write docs/intrinsics.md")
    parser.add_argument("names", nargs="*", help="ops; all by default")
    options = parser.parse_args()
    measured = measure([c for c in CASES if not options.names or c.op.name in options.names], dense=True)
    for (case, form), (error, where) in measured.items():
        if error > 5:
            print(f"{case} {form}: {error:.4g} ulp at {where}", file=sys.stderr)
    if options.write:
        DOCUMENT.write_text(document(measured))
