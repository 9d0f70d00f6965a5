"""Kernels written as naive loops, against Python's own execution of their text, or numpy's."""
import __future__

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count

import numpy as np
from fuzzing import Arrays, Function, typed
from loop_programs import loop_program, numbers
from naive_kernels import naive_kernel
from statement_chains import statement_chain

import legato
from legato.core.mlir import ir
from legato.frontends.script.functions import PrimFunc
from legato.frontends.script.language.source import remember_text
from legato.script import tir as T

_numbers = count()
WORDS = {"guard": "if ", "else": "else:", "block": "T.block", "init": "T.init", "divide": "//", "remainder": "%", "min": "T.min",
         "max": "T.max", "scratch": "alloc_buffer", "symbolic": "match_buffer"}


def kernel_of(text: str) -> PrimFunc:
    """The last kernel of a text. In a class, where the decorator does not parse it at once in a context of its own."""
    lines = "class Kernels:\n" + textwrap.indent(text, "    ")
    filename = f"<fuzzed {next(_numbers)}>"
    remember_text(filename, lines)
    known: dict[str, object] = {"T": T, "__name__": "fuzzed"}
    exec(compile(lines, filename, "exec", flags=__future__.annotations.compiler_flag), known)
    return [one for one in vars(known["Kernels"]).values() if isinstance(one, PrimFunc)][-1]


def parameter(name: str) -> str:
    """The script's name of an input or output of the compiled kernel."""
    return name.removesuffix("_out").removesuffix("_")


def function_of(text: str, calls: Sequence[Arrays], expected: Callable[[Arrays], Mapping[str, np.ndarray]], close: float, writer: str,
                partial: bool = False) -> Function:
    """``calls``, ``expected``: by the script's names. ``close``: how far results may be apart, relative to the greatest number of the
    result; ``partial``: where NaN is expected, anything may be.
    """
    def differs(found: np.ndarray, want: np.ndarray) -> str:
        written = ~np.isnan(want) if partial else np.ones(want.shape, bool)
        a, b = (x[written].astype(np.float64) for x in (found, want))
        room = close * max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0))
        with np.errstate(invalid="ignore"):
            bad = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= room))
        return f"{bad.sum()} of {bad.size} elements differ: {a[bad][:4]}, expected {b[bad][:4]}" if bad.any() else ""

    def verify(call: int, given: Arrays, found: Arrays) -> str:
        del call
        wanted = expected({parameter(name): array for name, array in given.items()})
        for name, array in found.items():
            want = wanted[parameter(name)]
            difference = typed(name, array, want) or differs(array, want)
            if difference:
                return f"output {name}: {difference}"
        return ""

    def build(context: ir.Context) -> legato.Module:
        return kernel_of(text).module(context)

    features = Counter({f"word {name}": 1 for name, word in WORDS.items() if word in text})
    features.update([f"loops {text.count('for ')}", f"writer {writer}"])
    spelled = [{spelling: array for name, array in call.items() for spelling in (name, f"{name}_")} for call in calls]
    return Function(build, spelled, verify, {"kernel.py": f"{text}\n"}, features)


def _program(seed: int) -> Function:
    program = loop_program(seed)

    def expected(arrays: Arrays) -> Arrays:
        sizes = [size for name, array in arrays.items() for size, said in zip(array.shape, program.shapes[name]) if said == "n"]
        return program.run(arrays, sizes[0] if sizes else 0)

    calls = [{name: numbers(program.shape(name, n), seed + i) for i, name in enumerate(program.shapes)} for n in (0, 1, 5)]
    return function_of(program.text, calls, expected, 1e-5, "programs")


def _naive(seed: int) -> Function:
    kernel = naive_kernel(seed)
    arrays = {name: numbers(shape, seed + n) for n, (name, shape) in enumerate(zip("AB", kernel.shapes))}
    return function_of(kernel.text, [arrays], lambda a: {"C": kernel.expected(a["A"], a["B"])}, 1e-5, "naive", partial=True)


def _chain(seed: int) -> Function:
    chain = statement_chain(seed)
    random = np.random.default_rng(seed)
    arrays = {name: random.standard_normal(shape, np.float32) for name, shape in chain.shapes.items()}
    text = re.sub(r"\b(n|m|k)\b", rf"\g<1>{seed}", chain.text)   # sizes of its own among programs that are compiled together
    return function_of(text, [arrays], lambda a: dict(zip(chain.outputs, chain.reference(a))), 1e-3, "chains")


def kernel(seed: int) -> Function:
    """A kernel by its number: from each writer in turn."""
    return (_program, _naive, _chain)[seed % 3](seed)
