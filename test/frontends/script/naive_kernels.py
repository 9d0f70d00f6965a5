"""Random kernels of plain loops, with quotients and remainders in indices, conditions and sums; and what Python makes of them."""
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import product
from random import Random
from types import SimpleNamespace

import numpy as np

PLACES = ("{v}", "{v}", "{v}", "{v} + {c}", "{c} - {v}", "{v} * {c}", "{v} // {c}", "{v} % {c}", "({v} + {w}) % {c}", "{v} * {n} + {w}",
          "({v} * {n} + {w}) // {c}", "({v} * {n} + {w}) % {c}", "{v} // {c} % 2", "{v} + {w}", "{v} * 2 + {w}", "{c}", "{v} - {w}",
          "T.min({v}, {c})", "T.max({v} - {c}, 0)", "({c} - {v}) // 2", "{v} * {w}")
TESTS = ("{v} < {c}", "{v} >= {c}", "({v} + {w}) % 2 == 0", "{v} == 0", "{v} != {w}", "{v} < {c} and {w} > 0", "not {v} < {c}", "{v} < {w}")


@dataclass
class NaiveKernel:
    """``text``: the script; ``body``: what Python executes; ``shapes``: of A, B and C, the output, in that order."""

    text: str
    body: str
    shapes: list[tuple[int, ...]]
    written: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))

    def expected(self, *arrays: np.ndarray) -> np.ndarray:
        """C, by Python; ``written`` says which of its elements have a value."""
        marks = np.full(self.shapes[-1], np.nan, np.float32)
        names = dict(zip("AB", arrays)) | {"C": marks, "T": WORDS}
        exec(self.body, names)
        self.written = ~np.isnan(marks)
        return marks


WORDS = SimpleNamespace(grid=lambda *sizes: product(*map(range, sizes)), min=min, max=max, float32=np.float32, block=nullcontext,
                        axis=SimpleNamespace(spatial=lambda _, v: v, reduce=lambda _, v: v))


class _Writer:
    def __init__(self, rng: Random):
        self.rng = rng
        self.extents = [rng.choice((1, 2, 3, 4, 6, 8, 8)) for _ in range(rng.randint(1, 3))]
        self.loops = [f"i{n}" for n in range(len(self.extents))]
        self.used: dict[str, list[list[int]]] = {}

    def place(self, names: list[str], simple: bool = False) -> str:
        """A random index."""
        template = "{v}" if simple else self.rng.choice(PLACES)
        n = self.rng.randrange(len(names))
        w = self.rng.randrange(len(names))
        return template.format(v=names[n], w=names[w], n=self.extents[w], c=self.rng.choice((1, 2, 3, 4, 7)))

    def packed(self, names: list[str]) -> list[str]:
        """Indices that are different for all steps: a permutation, in which an axis is split, or two are joined, or turned around."""
        order = self.rng.sample(range(len(names)), len(names))
        places = []
        for n in order:
            name, extent = names[n], self.extents[n]
            kind = self.rng.random()
            if kind < 0.25 and extent > 1:
                c = self.rng.choice((2, 3, 4))
                places += self.rng.sample([f"{name} // {c}", f"{name} % {c}"], 2)
            elif kind < 0.35:
                places.append(f"{extent - 1} - {name}")
            elif kind < 0.45:
                places.append(f"{name} * 2 + 1")
            elif kind < 0.6 and places:
                places[-1] = f"({places[-1]}) * {extent} + {name}"
            else:
                places.append(name)
        return places

    def access(self, buffer: str, places: list[str], names: list[str]) -> str:
        """An element; indices that would be negative are moved."""
        rows = []
        for place in places:
            numbers = [eval(place, {"T": WORDS, **dict(zip(names, point))}) for point in product(*map(range, self.extents))]
            low = min(numbers)
            rows.append((place if low >= 0 else f"{place} + {-low}", max(numbers) - min(low, 0) + 1))
        self.used.setdefault(buffer, []).append([size for _, size in rows])
        return f"{buffer}[{', '.join(place for place, _ in rows)}]"


def naive_kernel(seed: int) -> NaiveKernel:
    """A kernel by its number."""
    rng = Random(seed)
    w = _Writer(rng)
    by_block = rng.random() < 0.3
    names = [f"v{n}" for n in range(len(w.loops))] if by_block else w.loops
    ranks = {"A": rng.randint(1, 3), "B": rng.randint(1, 2)}
    rank = 0

    def read(buffer: str) -> str:
        return w.access(buffer, [w.place(names, rng.random() < 0.5) for _ in range(ranks[buffer])], names)

    value = rng.choice(("{a}", "{a} * 2.0", "{a} + {b}", "T.max({a}, {b})", "1.0", "{a} - {other}"))
    value = value.format(a=read("A"), b=read("B"), other=read("A"))
    dice = rng.random()
    places = w.packed(names) if dice < 0.8 else [w.place(names) for _ in range(rng.randint(1, 2))]
    rank = len(places)
    lines = []
    kinds = ["spatial"] * len(names)
    if dice < 0.3 and len(names) > 1:    # a sum over the last loop
        places = [p for p in w.packed(names[:-1]) if names[-1] not in p] or ["0"]
        rank = len(places)
        kinds[-1] = "reduce"
        target = w.access("C", places, names)
        value = f"{target} + {value}"
        lines += [f"for {', '.join(f'z{n}' for n in range(rank))} in T.grid(SHAPE):" if rank > 1 else "for z0 in range(SHAPE):",
                  f"    C[{', '.join(f'z{n}' for n in range(rank))}] = 0.0"]
    else:
        target = w.access("C", places, names)
    statement = [f"{target} = {value}"]
    if rng.random() < 0.3:
        n, other = rng.randrange(len(names)), rng.randrange(len(names))
        test = rng.choice(TESTS).format(v=names[n], w=names[other], c=rng.choice((0, 1, 2, 5)))
        statement = [f"if {test}:", f"    {statement[0]}"]
        if rng.random() < 0.5:
            statement += ["else:", f"    {target} = {rng.choice(('0.0', read('A')))}"]
    head = f"for {', '.join(w.loops)} in T.grid({', '.join(map(str, w.extents))}):"
    lines.append(head if len(w.loops) > 1 else f"for {w.loops[0]} in range({w.extents[0]}):")
    if by_block:
        axes = [f"{a} = T.axis.{kind}({e}, {i})" for a, kind, e, i in zip(names, kinds, w.extents, w.loops)]
        lines += ["    with T.block('C'):", *(f"        {a}" for a in axes), *(f"        {s}" for s in statement)]
    else:
        lines += [f"    {s}" for s in statement]
    shapes = [tuple(map(max, zip(*w.used[b]))) if b in w.used else (1,) for b in "ABC"]
    body = "\n".join(lines).replace("SHAPE", ", ".join(map(str, shapes[-1])))
    types = ", ".join(f'{b}: T.Buffer({shape}, "float32")' for b, shape in zip("ABC", shapes))
    text = f"@T.prim_func\ndef naive({types}):\n" + "\n".join(f"    {line}" for line in body.splitlines())
    return NaiveKernel(text, body, shapes)
