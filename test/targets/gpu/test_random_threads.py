"""Random kernels on shared memory: statements of threads that read and write each other's elements, in loops and under conditions.

What a kernel means is what numpy does: each statement happens for all threads before the next one does. Threads are held up at random, so
that a barrier too few is seen; one that not all threads reach would never end.
"""
import random

import numpy as np
import pytest
from emulate import emulated
from thoroughly import sampled

from legato.script import parse

SIZE = 64
BUFFERS = ("s0", "s1", "s2")


class Kernel:
    """A random kernel: ``text``, its script; ``run(array)``, what it computes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.threads, self.blocks = self.random.choice([8, 32, 48, 64]), self.random.choice([1, 3])
        self.program, lines = self.statements(0, None, "        ")
        rows = f'T.Buffer(({self.blocks}, {len(BUFFERS) * SIZE}), "int32")'
        self.text = "\n".join([
            "@T.prim_func", f"def kernel(A: {rows}, B: {rows}):",
            *(f'    {b} = T.alloc_buffer(({SIZE},), "int32", scope="shared")' for b in BUFFERS),
            f'    for bx in T.thread_binding({self.blocks}, thread="blockIdx.x"):',
            *self.moved("{0}[{1}] = A[bx, {2} + {1}]"), *lines, *self.moved("B[bx, {2} + {1}] = {0}[{1}]")])

    def moved(self, statement):
        """All buffers, filled or written out by all threads together."""
        for number, buffer in enumerate(BUFFERS):
            place = f"k * {self.threads} + tx"
            yield f"        for k in range({-(-SIZE // self.threads)}):"
            yield f'            for tx in T.thread_binding({self.threads}, thread="threadIdx.x"):'
            yield f"                if {place} < {SIZE}:"
            yield "                    " + statement.format(buffer, place, number * SIZE)

    def statements(self, depth, step, indent):
        """Some statements, as a program and as lines. ``step``: the loop variable around."""
        program, lines = [], []
        for _ in range(self.random.randrange(1, 4)):
            kind = self.random.choice(["threads"] * 5 + ["loop"] * 3 + ["block"]) if depth < 2 else "threads"
            if kind == "threads":
                count = self.random.choice([self.threads, self.threads, max(1, self.threads // 2), max(1, self.threads - 3)])
                lines.append(f'{indent}for tx in T.thread_binding({count}, thread="threadIdx.x"):')
                made = [self.assignment(count, step) for _ in range(self.random.randrange(1, 4))]
                program.append(("threads", [one for one, _ in made]))
                lines += [indent + "    " + line for _, text in made for line in text]
                continue
            count = self.random.randrange(1, 4)
            variable = f"k{depth}" if kind == "loop" else step
            lines.append(f"{indent}for {variable} in T.{self.random.choice(['serial', 'unroll'])}({count}):" if kind == "loop" else
                         f"{indent}if bx == 0:")
            inner, text = self.statements(depth + 1, variable, indent + "    ")
            program.append((kind, count, inner))
            lines += text
        return program, lines

    def assignment(self, count, step):
        """``d[f] = s[g] * c + t[h] + tx``, where no two threads write one element, perhaps under a condition."""
        target, first, second = (self.random.choice(BUFFERS) for _ in range(3))
        f = self.index([1, 1, 3, 5], step)
        g, h = (self.index([0, 1, 2, 3, 63], step) if self.random.random() < 0.6 else f for _ in range(2))
        factor, limit = self.random.randrange(1, 5), self.random.choice([count, count, self.random.randrange(1, count + 1)])
        written = [f"({a} * tx + {b}{f' + {c} * {step}' if c else ''}) % {SIZE}" for a, b, c in (f, g, h)]
        line = f"{target}[{written[0]}] = {first}[{written[1]}] * {factor} + {second}[{written[2]}] + tx"
        text = [line] if limit == count else [f"if tx < {limit}:", "    " + line]
        return (limit, target, first, second, f, g, h, factor), text

    def index(self, factors, step):
        return self.random.choice(factors), self.random.randrange(SIZE), self.random.choice([0, 0, 1, 5]) if step else 0

    def run(self, a):
        result = np.empty_like(a)
        for block in range(self.blocks):
            state = {b: a[block, n * SIZE:(n + 1) * SIZE].copy() for n, b in enumerate(BUFFERS)}
            self.execute(self.program, state, block, 0)
            result[block] = np.concatenate([state[b] for b in BUFFERS])
        return result

    def execute(self, program, state, block, step):
        for kind, *rest in program:
            if kind == "threads":
                for limit, target, first, second, f, g, h, factor in rest[0]:
                    tx = np.arange(limit, dtype=np.int32)
                    at = [(a * tx + b + c * step) % SIZE for a, b, c in (f, g, h)]
                    state[target][at[0]] = state[first][at[1]] * np.int32(factor) + state[second][at[2]] + tx
            elif kind == "loop":
                for inner in range(rest[0]):
                    self.execute(rest[1], state, block, inner)
            elif block == 0:
                self.execute(rest[1], state, block, step)


@pytest.mark.parametrize("seed", sampled(range(10), 2))
def test_random_kernel(seed):
    kernel = Kernel(seed)
    a = np.random.default_rng(seed).integers(-9, 9, (kernel.blocks, len(BUFFERS) * SIZE)).astype(np.int32)
    np.testing.assert_array_equal(emulated(parse(kernel.text), seed=seed)(a), kernel.run(a), err_msg=kernel.text)
