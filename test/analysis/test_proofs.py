"""Index arithmetic, sizes and memory plans, proved by z3 for all values of their variables.

A program or an expression is random; what the compiler makes of it is proved equal to what the words of the dialects say. Of some claims
about products z3 decides nothing: most are decided, or the test fails.
"""
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from index_programs import Program, make_program

import legato
from legato import relax as R
from legato.analysis.indices import forms
from legato.analysis.indices.forms import Forms, in_loops, linear
from legato.analysis.indices.linear import Linear
from legato.analysis.indices.sizes import never_negative
from legato.core.mlir import ir
from legato.dialects.loading import make_context
from legato.dialects.relax import dim, dim_bounds, dims
from legato.dialects.relax.dim import Size
from legato.dialects.relax.dim_bounds import lower_bound
from legato.passes.memory.plan_memory import placement, plan_memory
from legato.passes.memory.plan_memory.placement import ALIGNMENT, Life, place

z3 = pytest.importorskip("z3")
from theorems import OPERATORS, Meaning, NotModelledError, UndecidedError, counterexample, divisors, of_size  # noqa: E402 - they import z3

SYMBOLS = ("n", "m", "k")


class Tally:
    """How many claims were proved, and of how many nothing is known."""

    def __init__(self) -> None:
        self.proved = self.undecided = 0

    def prove(self, claim: Any, *assumed: Any, about: Any = "") -> None:
        try:
            found = counterexample(claim, *assumed)
        except UndecidedError:
            self.undecided += 1
            return
        assert found is None, f"{about}\nis wrong for {found}"
        self.proved += 1

    def check(self, least: int) -> None:
        assert self.proved >= least and self.undecided <= self.proved // 4, f"{self.proved} proved, {self.undecided} undecided"


# --- sizes: dialects/relax/dim.py, dim_bounds.py ---

def random_size(rng: Random, symbols: dict[str, Any], depth: int) -> tuple[Size, Any, list[Any]]:
    """An expression as the compiler computes it, the same as a term, and what its divisions assume."""
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.4:
            number = rng.choice((0, 1, 2, 3, 4, 8, 63, -1, -4))
            return number, z3.IntVal(number), []
        name = rng.choice(SYMBOLS)
        return dim.symbol(name), symbols[name], []
    op = rng.choice(("+", "+", "-", "*", "//", "//", "%", "min", "max", "broadcast"))
    a, b = random_size(rng, symbols, depth - 1), random_size(rng, symbols, depth - 1)
    if op in ("//", "%"):
        if rng.random() < 0.8 or (isinstance(b[0], int) and b[0] == 0):
            number = rng.choice((1, 2, 3, 4, 8, 64, -2))
            b = number, z3.IntVal(number), []
        made = (dim.floor_divide if op == "//" else dim.modulo)(a[0], b[0])
        return made, OPERATORS[op](a[1], b[1]), [*a[2], *b[2], b[1] != 0]
    make = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "min": dim_bounds.minimum, "max": dim_bounds.maximum,
            "broadcast": dim_bounds.broadcast_size}[op]
    return make(a[0], b[0]), OPERATORS[op](a[1], b[1]), [*a[2], *b[2]]


def sizes(seed: int, count: int) -> Iterator[tuple[dict[str, Any], Size, Any, list[Any]]]:
    rng = Random(seed)
    symbols = {name: z3.Int(name) for name in SYMBOLS}
    for _ in range(count):
        try:
            yield symbols, *random_size(rng, symbols, 3)
        except ZeroDivisionError:
            pass


def prove_sizes(seed: int, count: int) -> Tally:
    """That simplified sizes are what they were, for all symbols from 1 on."""
    tally = Tally()
    for symbols, size, meant, assumed in sizes(seed, count):
        tally.prove(of_size(size, symbols) == meant, *(s >= 1 for s in symbols.values()), *assumed, about=size)
    return tally


def test_simplified_sizes_are_equal():
    prove_sizes(0, 250).check(180)


def test_bounds_of_sizes():
    tally = Tally()
    for symbols, size, _, _ in sizes(1, 700):
        natural = [*(s >= 0 for s in symbols.values()), *divisors(size, symbols)]
        if never_negative(size):
            tally.prove(of_size(size, symbols) >= 0, *natural, about=f"never_negative({size})")
        for least in (0, 1):
            if (bound := lower_bound(size, least) if isinstance(size, dim.Dim) else None) is not None:
                tally.prove(of_size(size, symbols) >= bound, *(s >= least for s in symbols.values()), *divisors(size, symbols),
                            about=f"lower_bound({size}, {least})")
    tally.check(250)


@pytest.mark.parametrize("name, wrong", [
    ("_reduced", lambda a, b: (a, 1)),
    ("_divide_exactly", lambda a, b: a if b == 2 else None),
    ("lower_bound", lambda size, symbols_from=1: 0),
])
def test_a_wrong_rule_of_sizes_is_found(name, wrong, monkeypatch):
    monkeypatch.setattr(dim_bounds if hasattr(dim_bounds, name) else dim, name, wrong)
    forget_sizes()
    try:
        with pytest.raises(AssertionError, match="is wrong for"):
            prove_sizes(0, 250)
    finally:
        forget_sizes()


def forget_sizes() -> None:
    """Empties the memories of dialects/relax/dim.py and dim_bounds.py: of what a rule gave before it was replaced."""
    dim._quotient.cache_clear()
    dim_bounds._known_extreme.cache_clear()


# --- indices: analysis/indices ---

def programs(seed: int, count: int) -> Iterator[tuple[Program, Meaning, list[Any]]]:
    """Random programs, their meaning, and the ranges of their loops."""
    rng = Random(seed)
    for number in range(count):
        program = make_program(rng, 12, from_0=number % 2 == 0, kind=("simple", "any", "narrow")[number % 3])
        terms = {v: z3.Int(f"i{n}") for n, v in enumerate(program.ranges)} | {p: z3.Int(f"p{n}") for n, p in enumerate(program.parameters)}
        ranges = [z3.And(terms[v] >= r.start, terms[v] < r.stop) for v, r in program.ranges.items()]
        word = 1 << 63
        ranges += [z3.And(terms[p] >= -word, terms[p] < word) for p in program.parameters]
        yield program, Meaning(terms), ranges


def prove_forms(seed: int, count: int) -> Tally:
    """That the forms of values are what the values are, and that their bounds hold."""
    tally = Tally()
    for program, meaning, ranges in programs(seed, count):
        bounded = Forms()
        for value in program.values:
            try:
                meant = meaning.of(value)
            except NotModelledError:
                continue
            assumed = [*ranges, *meaning.defined[value]]
            for form in {str(f): f for f in (linear(value), in_loops(value))}.values():
                if form != Linear({value: 1}):
                    tally.prove(meaning.of_form(form) == meant, *assumed, about=f"{form} of {value} in\n{program.module}")
            bounds = bounded.bounds(bounded.form(value))
            if bounds is not None:
                low, high = map(int, map(str, bounds))
                tally.prove(z3.And(low <= meant, meant <= high), *assumed, about=f"{bounds} of {value} in\n{program.module}")
    return tally


@pytest.fixture
def context():
    with make_context(), ir.Location.unknown():
        yield


def test_forms_are_what_values_are(context):
    prove_forms(0, 24).check(150)


def test_a_wrong_rule_of_forms_is_found(context, monkeypatch):
    right = Forms.quotient

    def wrong(self: Forms, form: Linear, divisor: int) -> Linear:
        """Rounds the constant towards 0."""
        return right(self, Linear(form.terms, abs(form.constant)), divisor)

    monkeypatch.setattr(forms.Forms, "quotient", wrong)
    with pytest.raises(AssertionError, match="is wrong for"):
        prove_forms(0, 24)


# --- memory: passes/memory/plan_memory ---

def prove_plan(lives: list[Life], tally: Tally) -> None:
    """That no two buffers that live at the same time overlap, whatever the symbols are, that all are aligned and inside of the arena."""
    plan = place(lives)
    symbols = {name: z3.Int(name) for name in {s for life in lives for s in dims.symbols(life.size)}}
    natural = [s >= 0 for s in symbols.values()]
    terms = [(of_size(offset, symbols), of_size(life.size, symbols)) for offset, life in zip(plan.offsets, lives)]
    total = of_size(plan.total, symbols)
    given = [*natural, *(size >= 0 for _, size in terms)]
    for number, (offset, size) in enumerate(terms):
        tally.prove(z3.And(offset >= 0, offset + size <= total, offset % ALIGNMENT == 0), *given, about=f"buffer {number} of {plan}")
        for other in range(number):
            if lives[number].overlaps(lives[other]):
                start, length = terms[other]
                apart = z3.Or(offset + size <= start, start + length <= offset)
                tally.prove(apart, *given, about=f"buffers {other} and {number} of {plan}, {lives}")


def random_lives(rng: Random) -> list[Life]:
    n, m = dim.symbol("n"), dim.symbol("m")
    lives = []
    for _ in range(rng.randint(2, 9)):
        first = rng.randrange(12)
        rounded, greater = dim.floor_divide(n + 3, 4) * 16, dim_bounds.maximum(n, m) * 4
        size = rng.choice((4, 64, 100, n * 4, n * 64, n * 4 + 12, m * 8, n * 32 + m, rounded, greater))
        lives.append(Life(size, first, min(first + rng.randrange(6), 11)))
    return lives


def prove_plans(count: int) -> Tally:
    rng, tally = Random(0), Tally()
    for _ in range(count):
        prove_plan(random_lives(rng), tally)
    return tally


def test_buffers_alive_together_never_overlap():
    tally = prove_plans(40)
    tally.check(400)


def test_the_plan_of_a_model(monkeypatch):
    plans: list[list[Life]] = []
    monkeypatch.setattr(plan_memory, "place", lambda lives: plans.append(lives) or place(lives))

    @R.function
    def main(x: R.Tensor(("n", 16), "float32"), y: R.Tensor(("m", 16), "float32"), w: R.Tensor((16, 16), "float32")):
        q = R.nn.relu(R.matmul(x, w))
        k = R.nn.gelu(R.matmul(y, w))
        s = R.nn.softmax(R.matmul(q, R.permute_dims(k, (1, 0))))
        v = R.matmul(R.matmul(s, k), w)
        return R.concat([R.matmul(R.add(v, q), w), x], axis=0), R.sum(s, axis=0)

    legato.lower(main, target="llvm{fuse-attention=false}", last="bufferized")
    tally = Tally()
    for lives in plans:
        prove_plan(lives, tally)
    assert sum(map(len, plans)) > 3
    tally.check(6)


@pytest.mark.parametrize("seeded", ["lives", "greater"])
def test_a_wrong_plan_is_found(seeded, monkeypatch):
    if seeded == "lives":       # a buffer may be reused by the op that reads it last
        check = Life.overlaps
        monkeypatch.setattr(Life, "overlaps", lambda a, b: a.first < b.last and b.first < a.last)
        with pytest.raises(AssertionError, match="is wrong for"):
            prove_plans_by(check)
    else:                       # a slot is as large as its first member
        monkeypatch.setattr(placement, "_greater", lambda a, b: a)
        with pytest.raises(AssertionError, match="is wrong for"):
            prove_plans(40)


def prove_plans_by(overlaps: Any) -> None:
    """Plans made by the seeded rule of lifetimes, proved by the right one."""
    rng, tally = Random(0), Tally()
    for _ in range(40):
        lives = random_lives(rng)
        plan = place(lives)
        for number, life in enumerate(lives):
            for other in range(number):
                if overlaps(life, lives[other]):
                    symbols = {name: z3.Int(name) for name in ("n", "m")}
                    (a, b), (c, d) = ((of_size(plan.offsets[i], symbols), of_size(lives[i].size, symbols)) for i in (number, other))
                    tally.prove(z3.Or(a + b <= c, c + d <= a), *(s >= 0 for s in symbols.values()), about=plan)
