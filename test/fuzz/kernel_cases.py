"""Kernels written as naive loops, against Python's own execution of their text, or numpy's."""
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from fuzzing import OK, Case, Outcome
from levels import target_of
from loop_programs import loop_program, numbers
from naive_kernels import naive_kernel
from statement_chains import statement_chain

import legato
from legato.script import parse

Arrays = dict[str, np.ndarray]


@dataclass
class KernelCase:
    """A script, what its parameters hold at each call, and what Python makes of it.

    ``expected``: from the parameters that the compiled kernel reads to its outputs, by name; NaN where ``partial`` and it writes nothing.
    ``close``: how far they may be apart, relative to the greatest number of the result.
    """

    text: str
    target: str
    calls: list[Arrays]
    expected: Callable[[Arrays], Mapping[str, np.ndarray]]
    close: float
    features: Counter[str]
    partial: bool = False

    def run(self) -> Outcome:
        try:
            executable = legato.compile(parse(self.text), self.target)
        except legato.LegatoError as error:
            return Outcome("refused", str(error))
        for arrays in self.calls:
            given = {parameter(one.name): arrays[parameter(one.name)] for one in executable.inputs}
            want = self.expected(given)
            found = executable(*given.values())
            for output, array in zip(executable.outputs, found if len(executable.outputs) > 1 else [found], strict=True):
                difference = self.differs(np.from_dlpack(array), want[parameter(output.name)])
                if difference:
                    sizes = {name: list(one.shape) for name, one in given.items()}
                    return Outcome("wrong", f"{self.target}, {sizes}, output {output.name}: {difference}")
        return OK

    def differs(self, found: np.ndarray, want: np.ndarray) -> str:
        """Where they differ, or nothing."""
        if found.shape != want.shape or found.dtype != want.dtype:
            return f"{found.dtype}{list(found.shape)}, expected {want.dtype}{list(want.shape)}"
        written = ~np.isnan(want) if self.partial else np.ones(want.shape, bool)
        a, b = (x[written].astype(np.float64) for x in (found, want))
        room = self.close * max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0))
        with np.errstate(invalid="ignore"):
            bad = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= room))
        return f"{bad.sum()} of {bad.size} elements differ: {a[bad][:4]}, expected {b[bad][:4]}" if bad.any() else ""

    def files(self) -> Mapping[str, str]:
        return {"kernel.py": f"# {self.target}\n{self.text}\n"}


def parameter(name: str) -> str:
    """The script's name of an input or output of the compiled kernel."""
    return name.removesuffix("_out").removesuffix("_")


def features(text: str, **more: str) -> Counter[str]:
    """What a script has, by its words."""
    words = {"guard": "if ", "else": "else:", "block": "T.block", "init": "T.init", "divide": "//", "remainder": "%", "min": "T.min",
             "max": "T.max", "scratch": "alloc_buffer", "symbolic": "match_buffer", "in place": "+ C[", "int": '"int', "half": '"float16'}
    found = Counter(f"word {name}" for name, word in words.items() if word in text)
    found[f"loops {text.count('for ')}"] += 1
    found.update(f"{group} {value}" for group, value in more.items())
    return found


def _program(seed: int) -> Case:
    program = loop_program(seed)

    def expected(arrays: Arrays) -> Arrays:
        sizes = [size for name, array in arrays.items() for size, said in zip(array.shape, program.shapes[name]) if said == "n"]
        return program.run(arrays, sizes[0] if sizes else 0)

    calls = [{name: numbers(program.shape(name, n), seed + i) for i, name in enumerate(program.shapes)}
             for n in ((0, 1, 5) if "N" in program.shapes else (0,))]
    return KernelCase(program.text, target_of(seed), calls, expected, 1e-5, features(program.text, writer="programs"))


def _naive(seed: int) -> Case:
    kernel = naive_kernel(seed)
    arrays = {name: numbers(shape, seed + n) for n, (name, shape) in enumerate(zip("AB", kernel.shapes))}
    return KernelCase(kernel.text, target_of(seed), [arrays], lambda a: {"C": kernel.expected(a["A"], a["B"])}, 1e-5,
                      features(kernel.text, writer="naive"), partial=True)


def _chain(seed: int) -> Case:
    chain = statement_chain(seed)
    random = np.random.default_rng(seed)
    arrays = {name: random.standard_normal(shape, np.float32) for name, shape in chain.shapes.items()}
    return KernelCase(chain.text, target_of(seed), [arrays], lambda a: dict(zip(chain.outputs, chain.reference(a))), 1e-3,
                      features(chain.text, writer="chains"))


def kernel_case(seed: int) -> Case:
    """A kernel by its number: from each writer in turn."""
    return (_program, _naive, _chain)[seed % 3](seed)
