"""Random kernels whose statements are whole operations on matrices: products with transposed or computed operands, transposes, functions,
normalized rows, parts of other matrices between numbers, choices; one statement's result feeds the next ones. numpy computes what they
should give.
"""
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np

SIZES = (1, 2, 3, 5, 8, 17)
NAMES = ("n", "m", "k")
Shape = tuple[int, int]  # two of the three sizes, by number


def fitted(value: np.ndarray, shape: Shape, ahead: int) -> np.ndarray:
    """A matrix in another shape, ``ahead`` places further on along both axes, between fives."""
    found = np.full(shape, 5, np.float32)
    part = value[:max(shape[0] - ahead, 0), :max(shape[1] - ahead, 0)]
    found[ahead:ahead + part.shape[0], ahead:ahead + part.shape[1]] = part
    return found


@dataclass
class Chain:
    """``text``: the script; ``shapes``: of the parameters that are read, by name; ``outputs``: their names; ``reference``: from the arrays
    that are read to the outputs."""

    text: str
    outputs: list[str]
    shapes: dict[str, list[int]]
    reference: Callable[[dict[str, np.ndarray]], list[np.ndarray]]


@dataclass
class Statement:
    """One operation: its result's name and shape, its loops as text, and numpy's expression for it; ``scratch``: a buffer of row sums."""

    name: str
    shape: Shape
    text: str
    value: str
    scratch: str | None = None


class Writer:
    """Writes one kernel."""

    def __init__(self, random: Random):
        self.random = random
        self.sizes = [random.choice(SIZES) for _ in NAMES]
        self.symbolic = random.random() < 0.3
        self.inputs = {f"I{i}": (random.randrange(3), random.randrange(3)) for i in range(random.randint(2, 3))}
        self.values = dict(self.inputs)
        self.statements: list[Statement] = []

    def size(self, axis: int) -> str:
        """A size as the script says it."""
        return NAMES[axis] if self.symbolic else str(self.sizes[axis])

    def shape(self, shape: Shape) -> str:
        """A shape as the script says it."""
        return f"({self.size(shape[0])}, {self.size(shape[1])})"

    def add(self, statement: Statement | None) -> None:
        """Appends a statement, if there is one."""
        if statement is not None:
            self.statements.append(statement)
            self.values[statement.name] = statement.shape

    def product(self) -> Statement | None:
        """A matrix product of two values, each perhaps transposed, one perhaps computed."""
        fitting = [(a, b, across, down) for a in self.values for b in self.values for across in (False, True) for down in (False, True)
                   if self.values[a][0 if across else 1] == self.values[b][1 if down else 0]]
        if not fitting:
            return None
        a, b, across, down = self.random.choice(fitting)
        shape = (self.values[a][1 if across else 0], self.values[b][0 if down else 1])
        inner = self.values[a][0 if across else 1]
        left, right = f"{a}[{'vk, vi' if across else 'vi, vk'}]", f"{b}[{'vj, vk' if down else 'vk, vj'}]"
        lefts, rights = a + ".T" * across, b + ".T" * down
        kind = self.random.random()
        if kind < 0.2:
            left, lefts = f"({left} * T.float32(0.5))", f"({lefts} * np.float32(0.5))"
        elif kind < 0.35:
            right, rights = f"T.tanh({right})", f"np.tanh({rights})"
        terms = self.size(inner)
        if not self.symbolic and self.random.random() < 0.15:    # of the first terms only
            terms = str(self.random.randint(1, self.sizes[inner]))
            lefts, rights = f"{lefts}[:, :{terms}]", f"{rights}[:{terms}]"
        name = self.fresh()
        text = (f"    for i, j, k in T.grid({self.size(shape[0])}, {self.size(shape[1])}, {terms}):\n"
                f"        with T.block('{name}'):\n"
                "            vi, vj, vk = T.axis.remap('SSR', [i, j, k])\n"
                "            with T.init():\n"
                f"                {name}[vi, vj] = T.float32(0)\n"
                f"            {name}[vi, vj] = {name}[vi, vj] + {left} * {right}\n")
        return Statement(name, shape, text, f"{lefts} @ {rights}")

    def function(self) -> Statement:
        """A function of the elements of one value, or of two, perhaps transposed."""
        a = self.random.choice(list(self.values))
        across = self.random.random() < 0.4
        shape = self.values[a][::-1] if across else self.values[a]
        read, value = f"{a}[{'vj, vi' if across else 'vi, vj'}]", a + ".T" * across
        others = [b for b, s in self.values.items() if s == shape]
        if others and self.random.random() < 0.5:
            b = self.random.choice(others)
            read, value = f"T.max({read}, {b}[vi, vj]) + T.float32(1)", f"np.maximum({value}, {b}) + np.float32(1)"
        else:
            read, value = f"T.tanh({read})", f"np.tanh({value})"
        name = self.fresh()
        return Statement(name, shape, self.loops(shape, name, "SS", f"            {name}[vi, vj] = {read}\n"), value)

    def normalized(self) -> Statement:
        """A value divided by one more than the sum of the squares of its rows."""
        a = self.random.choice(list(self.values))
        name, shape = self.fresh(), self.values[a]
        sums = f"            with T.init():\n                s_{name}[vi] = T.float32(0)\n" \
               f"            s_{name}[vi] = s_{name}[vi] + {a}[vi, vj] * {a}[vi, vj]\n"
        text = self.loops(shape, f"s_{name}", "SR", sums)
        text += self.loops(shape, name, "SS", f"            {name}[vi, vj] = {a}[vi, vj] / (s_{name}[vi] + T.float32(1))\n")
        return Statement(name, shape, text, f"{a} / (({a} * {a}).sum(1, keepdims=True) + np.float32(1))", f"s_{name}")

    def fitted(self) -> Statement:
        """What fits of a value into another shape."""
        a, ahead = self.random.choice(list(self.values)), self.random.choice((0, 0, 1))
        shape = self.random.randrange(3), self.random.randrange(3)
        rows, columns = (self.size(axis) for axis in self.values[a])
        back = f" - {ahead}" if ahead else ""
        test = f"vi{back} < {rows} and vj{back} < {columns}" + (f" and vi >= {ahead} and vj >= {ahead}" if ahead else "")
        name = self.fresh()
        body = f"            {name}[vi, vj] = T.if_then_else({test}, {a}[vi{back}, vj{back}], T.float32(5))\n"
        sizes = tuple(self.sizes[axis] for axis in shape)
        return Statement(name, shape, self.loops(shape, name, "SS", body), f"fitted({a}, {sizes}, {ahead})")

    def chosen(self) -> Statement:
        """A value where a condition holds, by a selection or in branches."""
        a = self.random.choice(list(self.values))
        name, shape = self.fresh(), self.values[a]
        if self.random.random() < 0.5:
            body = f"            {name}[vi, vj] = T.Select(vj <= vi, {a}[vi, vj], T.float32(-1))\n"
            value = f"np.where(np.tri(*{a}.shape, dtype=bool), {a}, np.float32(-1))"
            return Statement(name, shape, self.loops(shape, name, "SS", body), value)
        body = (f"            if vi < 2:\n                {name}[vi, vj] = {a}[vi, vj] * T.float32(2)\n"
                f"            else:\n                {name}[vi, vj] = T.float32(3)\n")
        value = f"np.where(np.arange(len({a}))[:, None] < 2, {a} * 2, np.float32(3))"
        return Statement(name, shape, self.loops(shape, name, "SS", body), value)

    def loops(self, shape: Shape, block: str, kinds: str, body: str) -> str:
        """The loops over a matrix."""
        return (f"    for i, j in T.grid({self.size(shape[0])}, {self.size(shape[1])}):\n        with T.block('{block}'):\n"
                f"            vi, vj = T.axis.remap('{kinds}', [i, j])\n{body}")

    def fresh(self) -> str:
        """A name for the next statement's result."""
        return f"t{len(self.statements)}"

    def text(self, outputs: list[str]) -> str:
        """The script of the kernel."""
        parameters = {**self.inputs, **{s.name: s.shape for s in self.statements if s.name in outputs}}
        ordered = {name: parameters[name] for name in (*self.inputs, *outputs)}
        if self.symbolic:
            lines = [f"def chain({', '.join(f'{name}_: T.handle' for name in ordered)}):",
                     f"    {', '.join(NAMES)} = T.int64(), T.int64(), T.int64()"]
            lines += [f"    {name} = T.match_buffer({name}_, {self.shape(shape)}, 'float32')" for name, shape in ordered.items()]
        else:
            buffers = (f"{name}: T.Buffer({self.shape(shape)}, 'float32')" for name, shape in ordered.items())
            lines = [f"def chain({', '.join(buffers)}):"]
        for s in self.statements:
            if s.name not in outputs:
                lines.append(f"    {s.name} = T.alloc_buffer({self.shape(s.shape)}, 'float32')")
            if s.scratch:
                lines.append(f"    {s.scratch} = T.alloc_buffer(({self.size(s.shape[0])},), 'float32')")
        return "from legato.script import tir as T\n\n\n@T.prim_func\n" + "\n".join(lines) + "\n" + "".join(s.text for s in self.statements)


def statement_chain(seed: int) -> Chain:
    """The kernel of a seed: two to six statements; the last one's result is an output, sometimes an earlier one's too."""
    random = Random(seed)
    while True:
        writer = Writer(random)
        kinds = (writer.product, writer.product, writer.product, writer.function, writer.function, writer.normalized,
                 writer.fitted, writer.chosen)
        for _ in range(random.randint(2, 6)):
            writer.add(random.choice(kinds)())
        named = {axis for shape in writer.inputs.values() for axis in shape}
        if writer.statements and (not writer.symbolic or all(axis in named for s in writer.statements for axis in s.shape)):
            break
    outputs = [writer.statements[-1].name]
    if len(writer.statements) > 1 and random.random() < 0.3:
        outputs.append(random.choice(writer.statements[:-1]).name)

    def reference(arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
        values = dict(arrays)
        for s in writer.statements:
            values[s.name] = eval(s.value, {"np": np, "fitted": fitted}, values)
        return [values[name] for name in outputs]

    shapes = {name: [writer.sizes[axis] for axis in shape] for name, shape in writer.inputs.items()}
    return Chain(writer.text(outputs), outputs, shapes, reference)
