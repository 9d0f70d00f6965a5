"""Kernels of one expression an output over all element types, against numpy's evaluation of their text on whole arrays."""
from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
from fuzzing import Arrays, Function
from kernel_programs import kernel_of

SIGNED, UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
INTEGERS, FLOATS = (*SIGNED, *UNSIGNED), ("float16", "float32", "float64")
TYPES = (*INTEGERS, *FLOATS, "bool")
DIVISORS = {f"{dtype}_d": dtype for dtype in INTEGERS}   # 1 to 127, for kernels that need no guard
INPUTS = {f"{dtype}_{which}": dtype for dtype in TYPES for which in "ab"} | DIVISORS
LENGTHS = (61, 64, 1)
EDGES = (0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-3, 100, -100, 65504)
CLOSE = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-13}   # relative: of sqrt and of nothing else, the rest is exact

# What a script's words mean on arrays. Of equal operands, such as zeros, ``min`` and ``max`` give the second; numpy's give either.
NUMPY = SimpleNamespace(
    **{dtype: (lambda value, dtype=dtype: np.dtype(dtype).type(value)) for dtype in TYPES},
    cast=lambda x, dtype: np.asarray(x).astype(dtype), Select=np.where, if_then_else=np.where,
    And=np.logical_and, Or=np.logical_or, Not=np.logical_not, min=lambda x, y: np.where((x < y) | (x != x), x, y),
    max=lambda x, y: np.where((x > y) | (x != x), x, y), abs=np.abs, fabs=np.abs, floor=np.floor,
    ceil=np.ceil, trunc=np.trunc, nearbyint=np.rint, sqrt=np.sqrt, bitwise_not=np.invert, floordiv=np.floor_divide, floormod=np.mod,
    truncdiv=lambda x, y: ((x - np.fmod(x, y)) // y).astype(np.asarray(x).dtype), truncmod=np.fmod,
)


class _Writer:
    """Writes expressions of given types. ``words``: those that were used."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.words: Counter[str] = Counter()

    def write(self, dtype: str, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.12:
            return self._leaf(dtype)
        if dtype == "bool":
            return self._condition(depth - 1)
        return (self._float if dtype in FLOATS else self._integer)(dtype, depth - 1)

    def _leaf(self, dtype: str) -> str:
        names = [f"{name}[i]" for name, of in INPUTS.items() if of == dtype and name not in DIVISORS]
        return self.random.choice([*names, *names, self._literal(dtype)])

    def _literal(self, dtype: str) -> str:
        if dtype == "bool":
            return f"T.bool({self.random.random() < 0.5})"
        if dtype in FLOATS:
            return f"T.{dtype}({self.random.choice([0.0, 1.0, -1.0, 0.5, 2.25, -3.75, 10.0, 100.0])})"
        limits = np.iinfo(dtype)
        return f"T.{dtype}({self.random.choice([0, 1, 2, 3, 5, 7, 13, 100, limits.max, limits.min, limits.max - 1, limits.min + 1])})"

    def _condition(self, depth: int) -> str:
        kind = self.random.choice(["compare", "compare", "compare", "And", "Or", "Not"])
        if kind == "compare":
            dtype, word = self.random.choice(TYPES[:-1]), self.random.choice(["<", "<=", ">", ">=", "==", "!="])
            return self._infix(dtype, word, depth)
        return self._call(kind, *[self.write("bool", depth) for _ in range(1 if kind == "Not" else 2)])

    def _float(self, dtype: str, depth: int) -> str:
        kind = self.random.choice(["+", "-", "*", "/", "min", "max", "floor", "ceil", "trunc", "nearbyint", "fabs", "sqrt",
                                   "choose", "choose", "cast", "cast", "negate"])
        if kind in "+-*/":
            return self._infix(dtype, kind, depth)
        if kind == "sqrt":
            return self._call(kind, f"T.fabs({self.write(dtype, depth)})")
        return self._common(dtype, kind, depth, TYPES)

    def _integer(self, dtype: str, depth: int) -> str:
        kind = self.random.choice(["+", "-", "*", "//", "%", "truncdiv", "truncmod", "floordiv", "floormod", "by", "by", "min", "max", "&",
                                   "|", "^", "<<", ">>", "bitwise_not", "choose", "choose", "cast", "cast",
                                   *(["negate", "abs"] if dtype in SIGNED else [])])
        if kind in ("+", "-", "*", "&", "|", "^"):
            return self._infix(dtype, kind, depth)
        if kind in ("<<", ">>"):
            self.words[kind] += 1
            return f"({self.write(dtype, depth)} {kind} T.{dtype}({self.random.randrange(np.iinfo(dtype).bits)}))"
        if kind in ("//", "%"):
            self.words[kind] += 1
            return f"({self.write(dtype, depth)} {kind} {self._divisor(dtype)})"
        if kind == "by":    # a divisor that is not constant
            self.words[kind] += 1
            divisor = f"T.max(({self.write(dtype, depth)} & T.{dtype}(127)), T.{dtype}(1))"
            divisor = divisor if self.random.random() < 0.5 else f"{dtype}_d[i]"
            dividend = self.write(dtype, depth)
            return self.random.choice([f"({dividend} // {divisor})", f"({dividend} % {divisor})", f"T.truncdiv({dividend}, {divisor})",
                                       f"T.truncmod({dividend}, {divisor})"])
        if kind in ("truncdiv", "truncmod", "floordiv", "floormod"):
            return self._call(kind, self.write(dtype, depth), self._divisor(dtype))
        return self._common(dtype, kind, depth, (*INTEGERS, "bool"))

    def _common(self, dtype: str, kind: str, depth: int, castable: tuple[str, ...]) -> str:
        if kind == "choose":
            word = self.random.choice(["Select", "if_then_else"])
            return self._call(word, self.write("bool", depth), self.write(dtype, depth), self.write(dtype, depth))
        if kind == "cast":
            other = self.random.choice(castable)
            self.words[f"cast {other} {dtype}"] += 1
            return f'T.cast({self.write(other, depth)}, "{dtype}")'
        if kind == "negate":
            self.words[kind] += 1
            return f"(-{self.write(dtype, depth)})"
        return self._call(kind, *[self.write(dtype, depth) for _ in range(2 if kind in ("min", "max") else 1)])

    def _divisor(self, dtype: str) -> str:
        return f"T.{dtype}({self.random.choice([1, 2, 3, 5, 7, 8, 13, 16, 100, 127])})"

    def _infix(self, dtype: str, word: str, depth: int) -> str:
        self.words[f"{word} {dtype}"] += 1
        return f"({self.write(dtype, depth)} {word} {self.write(dtype, depth)})"

    def _call(self, word: str, *operands: str) -> str:
        self.words[word] += 1
        return f"T.{word}({', '.join(operands)})"


def _values(dtype: str, length: int, random: np.random.Generator) -> np.ndarray:
    """Edge values, small and large ones, in any order."""
    if dtype == "bool":
        return random.integers(0, 2, length).astype(bool)
    if dtype in FLOATS:
        values = np.concatenate([EDGES, random.standard_normal(64) * 8]).astype(dtype)
    else:
        limits = np.iinfo(dtype)
        any_, small = random.integers(limits.min, limits.max, 40, dtype=dtype, endpoint=True), np.arange(-9, 9).clip(limits.min)
        values = np.concatenate([any_, small.astype(dtype), np.array([limits.max, limits.min, limits.max - 1], dtype)])
    return random.permutation(values)[np.arange(length) % len(values)]


def typed_kernel(seed: int) -> Function:
    """A kernel by its number, with three outputs."""
    random = Random(seed)
    writer = _Writer(random)
    types = {f"out{n}": random.choice(TYPES) for n in range(3)}
    expressions = {name: writer.write(dtype, random.randrange(1, 5)) for name, dtype in types.items()}
    used = {name: dtype for name, dtype in INPUTS.items() if any(f"{name}[i]" in text for text in expressions.values())}
    length = random.choice(LENGTHS)
    parameters = ", ".join(f'{name}: T.Buffer(({length},), "{dtype}")' for name, dtype in {**used, **types}.items())
    body = [f"        {name}[i] = {text}" for name, text in expressions.items()]
    text = "\n".join(["@T.prim_func", f"def typed({parameters}):", f"    for i in range({length}):", *body])
    numbers = np.random.default_rng(seed)
    arrays = {name: _values(dtype, length, numbers) for name, dtype in used.items()}
    arrays |= {name: np.maximum(array & 127, 1).astype(array.dtype) for name, array in arrays.items() if name in DIVISORS}

    def verify(call: int, given: Arrays, found: Arrays) -> str:
        del call
        names: dict[str, Any] = {**{name.removesuffix("_"): array for name, array in given.items()}, "T": NUMPY, "i": slice(None)}
        for name, array in found.items():
            dtype = types[name.removesuffix("_out").removesuffix("_")]
            with np.errstate(all="ignore"):
                want = np.broadcast_to(eval(expressions[name.removesuffix("_out").removesuffix("_")], names), array.shape)
                same = (array == want) | ((array != array) & (want != want))
                if dtype in FLOATS:
                    a, b = array.astype(np.float64), want.astype(np.float64)
                    same |= np.abs(a - b) <= CLOSE[dtype] * np.abs(b)
            if array.dtype != np.dtype(dtype) or want.dtype != np.dtype(dtype):
                return f"output {name} is {array.dtype}, and {want.dtype} by numpy, not {dtype}"
            if not same.all():
                at = int(np.flatnonzero(~same)[0])
                shown = {key: value[at] for key, value in given.items()}
                return f"output {name}: {(~same).sum()} of {same.size} differ: [{at}] is {array[at]}, expected {want[at]}, of {shown}"
        return ""

    spelled = {spelling: array for name, array in arrays.items() for spelling in (name, f"{name}_")}
    features = Counter({f"word {word}": count for word, count in writer.words.items()})
    features.update(f"dtype {dtype}" for dtype in (*used.values(), *types.values()))
    return Function(lambda context: kernel_of(text).module(context), [spelled], verify, {"kernel.py": f"{text}\n"}, features)
