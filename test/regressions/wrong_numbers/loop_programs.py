"""Random kernels of several loop nests over several buffers, and what Python makes of them.

They write outputs in part, at reversed, shifted and split indices, under conditions and in place; reduce over what does not vary; begin
blocks with inits; and have dimensions of size 1, and of a symbolic size n, which may be 0.
"""
from collections.abc import Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

PLACES = ("{v}", "{v}", "{v}", "{v}", "{v} + {c}", "{e} - 1 - {v}", "{v} * {c}", "{v} // {c}", "{v} % {c}", "{v} * {f} + {w}", "{v} + {w}",
          "{c}", "({v} + {c}) % {e}", "({v} * {f} + {w}) // {c}", "T.min({v}, {c})", "{v} * 2 + {c}", "0")
TESTS = ("{v} < {c}", "{v} >= {c}", "{v} == 0", "{v} != {c}", "{v} % 2 == 0", "{v} < {c} or {v} == 3", "{v} > 0 and {v} < {c}")
UPDATES = ("{t} + {x}", "{t} + {x}", "{t} * 2.0", "{t} + 1.0", "T.max({t}, {x})", "T.min({t}, {x})", "{t} - {x}", "{x} - {t}", "{t} * {x}")
VALUES = ("{x}", "{x}", "{x} * 2.0", "{x} + {y}", "T.max({x}, {y})", "3.0", "{x} - {y}", "{x} * {y}")


@dataclass
class LoopProgram:
    """``text``: the script; ``body``: what Python executes; ``shapes``: of the parameters, by name, with "n" for the symbol."""

    text: str
    body: str
    shapes: dict[str, list[Any]]

    def shape(self, name: str, n: int) -> list[int]:
        """A parameter's sizes."""
        return [n if s == "n" else s for s in self.shapes[name]]

    def run(self, given: Mapping[str, np.ndarray], n: int) -> dict[str, np.ndarray]:
        """The parameters after the kernel, by Python; those that are not given start from zeros."""
        arrays = {name: given[name].copy() if name in given else np.zeros(self.shape(name, n), np.float32) for name in self.shapes}
        exec(self.body, arrays | {"T": words(), "n": n, "range": range})
        return arrays


def words() -> SimpleNamespace:
    """What the script's words mean to Python."""
    firsts: list[bool] = []

    @contextmanager
    def block(_):
        firsts.clear()
        yield

    def reduce(_, value):
        firsts.append(value == 0)
        return value

    return SimpleNamespace(grid=lambda *sizes: product(*map(range, sizes)), min=min, max=max, block=block, first=lambda: all(firsts),
                           axis=SimpleNamespace(spatial=lambda _, v: v, reduce=reduce),
                           alloc_buffer=lambda shape, _: np.zeros(shape, np.float32))


class _NoPlaceError(Exception):
    """A dimension of size n is accessed where no loop over n is around."""


class _Writer:
    def __init__(self, rng: Random):
        self.rng = rng
        self.symbolic, self.simple = rng.random() < 0.4, rng.random() < 0.5
        self.sizes: dict[str, list[Any]] = {}
        for name, most in (("A", 2), ("B", 2), ("C", 2), ("D", 2)):
            self.sizes[name] = list[Any]([1] * rng.randint(1, most))
            if self.symbolic and rng.random() < 0.6:
                shape = self.sizes[name]
                shape[rng.randrange(len(shape))] = "n"
        self.outputs = ["C", "D"] if rng.random() < 0.35 else ["C"]
        self.lines: list[str] = []
        self.python: list[str] = []

    def nest(self) -> None:
        """Appends a loop nest with one or two statements."""
        rng = self.rng
        extents: list[Any] = [rng.choice((1, 2, 3, 4, 5, 8)) for _ in range(rng.randint(1, 3))]
        if self.symbolic and rng.random() < 0.7:
            extents[rng.randrange(len(extents))] = "n"
        loops = [f"i{n}" for n in range(len(extents))]
        head = f"for {', '.join(loops)} in T.grid({', '.join(map(str, extents))}):" if len(loops) > 1 else f"for i0 in range({extents[0]}):"
        self.emit(head)
        table = dict(zip(loops, extents))
        if rng.random() < 0.3 and self.block(table):
            return
        for _ in range(1 if self.simple else rng.choice((1, 1, 1, 2))):
            self.statement(table, "    ")

    def emit(self, line: str, python: str | None = None) -> None:
        self.lines.append(line)
        self.python.append(line if python is None else python)

    def statement(self, loops: Mapping[str, int | str], indent: str) -> None:
        """An assignment, a repeated update, or one of them under a condition."""
        rng = self.rng
        target = self.element(rng.choice(self.outputs), loops)
        form = rng.choice(UPDATES if rng.random() < 0.5 else VALUES)
        value = form.format(t=target, x=self.read(loops), y=self.read(loops))
        numbers = [v for v, e in loops.items() if e != "n"]
        if numbers and rng.random() < 0.25:
            self.emit(f"{indent}if {rng.choice(TESTS).format(v=rng.choice(numbers), c=rng.randint(1, 4))}:")
            self.emit(f"{indent}    {target} = {value}")
            if rng.random() < 0.4:
                self.emit(f"{indent}else:")
                self.emit(f"{indent}    {target} = {self.read(loops)}")
        else:
            self.emit(f"{indent}{target} = {value}")

    def read(self, loops: Mapping[str, int | str]) -> str:
        """An element of an input, or sometimes of an output."""
        return self.element(self.rng.choice(("A", "A", "A", "B", "B", *([] if self.simple else self.outputs))), loops)

    def element(self, buffer: str, loops: Mapping[str, int | str]) -> str:
        """An element at random indices; the buffer grows to have it."""
        places = []
        for axis, size in enumerate(self.sizes[buffer]):
            if size == "n":
                free = [v for v, e in loops.items() if e == "n"]
                if free:
                    places.append(self.rng.choice((free[0], free[0], f"n - 1 - {free[0]}")))
                    continue
                raise _NoPlaceError
            places.append(self.place(buffer, axis, loops))
        return f"{buffer}[{', '.join(places)}]"

    def place(self, buffer: str, axis: int, loops: Mapping[str, int | str]) -> str:
        numbers = {v: e for v, e in loops.items() if isinstance(e, int)}
        if not numbers:
            return "0"
        v, w = self.rng.choice(list(numbers)), self.rng.choice(list(numbers))
        form = "{v}" if self.simple and self.rng.random() < 0.8 else self.rng.choice(PLACES)
        place = form.format(v=v, w=w, c=self.rng.choice((1, 2, 3)), e=numbers[v], f=numbers[w])
        values = [eval(place, {"T": words(), **dict(zip(numbers, point))}) for point in product(*map(range, numbers.values()))]
        self.sizes[buffer][axis] = max(self.sizes[buffer][axis], max(values) + 1)
        return place

    def block(self, loops: Mapping[str, int | str]) -> bool:
        """A block that reduces its last axis, with an init, sometimes elsewhere. False where the loops are too few."""
        rng, buffer = self.rng, "C"
        names = list(loops)
        spatial, reduced = names[:-1], names[-1]
        ranks = self.sizes[buffer]
        if len(spatial) < len(ranks) or any((size == "n") != (loops[v] == "n") for size, v in zip(ranks, spatial)):
            return False
        if len(spatial) > len(ranks):
            return False
        axes = {v: f"v{v}" for v in names}
        places = []
        for axis, v in enumerate(spatial):
            extent = loops[v]
            kind = rng.random()
            place = f"{extent} - 1 - {axes[v]}" if kind < 0.25 else f"{axes[v]} + 1" if kind < 0.4 and extent != "n" else axes[v]
            places.append(place)
            if extent != "n":
                ranks[axis] = max(ranks[axis], int(extent) + 1)
        target = f"{buffer}[{', '.join(places)}]"
        started = target if rng.random() < 0.7 else f"{buffer}[{', '.join(axes[v] for v in spatial)}]"
        inside = {axes[v]: e for v, e in loops.items()}
        self.emit("    with T.block('b'):")
        for v in names:
            self.emit(f"        {axes[v]} = T.axis.{'reduce' if v == reduced else 'spatial'}({loops[v]}, {v})")
        source = self.element(rng.choice("AB"), inside)
        value = rng.choice(("{t} + {x}", "{t} + 1.0", "T.max({t}, {x})", "{t} * 2.0")).format(t=target, x=source)
        self.emit("        with T.init():", "        if T.first():")
        self.emit(f"            {started} = {rng.choice(('0.0', '1.0', '-2.0'))}")
        self.emit(f"        {target} = {value}")
        return True


def loop_program(seed: int) -> LoopProgram:
    """A kernel by its number."""
    rng = Random(seed)
    while True:
        with suppress(_NoPlaceError):
            return _program(rng)


def _program(rng: Random) -> LoopProgram:
    w = _Writer(rng)
    if rng.random() < 0.5:
        first = "C"
        names = [f"z{n}" for n in range(len(w.sizes[first]))]
        w.emit(f"for {', '.join(names)} in T.grid(SHAPE):" if len(names) > 1 else f"for {names[0]} in range(SHAPE):")
        w.emit(f"    C[{', '.join(names)}] = {rng.choice(('0.0', '1.5'))}")
    for _ in range(rng.choice((1, 1, 2, 3))):
        w.nest()
    used = [b for b in "ABCD" if any(f"{b}[" in line for line in w.lines)]
    shape = ", ".join(map(str, w.sizes["C"]))
    lines, python = ([line.replace("SHAPE", shape) for line in some] for some in (w.lines, w.python))
    if w.symbolic:                            # an input gives n its value
        w.sizes["N"] = ["n"]
    order = [*(["N"] if w.symbolic else []), *(b for b in used if b not in w.outputs), *(b for b in used if b in w.outputs)]
    types = {b: f"({', '.join(map(str, w.sizes[b]))},)" for b in order}
    head = [f"def program({', '.join(f'{b.lower()}: T.handle' for b in order)}):", *(["    n = T.int64()"] if w.symbolic else []),
            *(f'    {b} = T.match_buffer({b.lower()}, {types[b]}, "float32")' for b in order)]
    text = "\n".join(["@T.prim_func", *head, *(f"    {line}" for line in lines)])
    return LoopProgram(text, "\n".join(python), {b: w.sizes[b] for b in order})


def numbers(shape: Sequence[int], seed: int) -> np.ndarray:
    """Small whole numbers: their sums are exact in any order."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float32)
