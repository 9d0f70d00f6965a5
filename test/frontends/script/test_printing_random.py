"""Random kernels, printed and parsed again, are the same kernels; and so are scheduled ones."""
import random

import kernels
import pytest
from same import described
from thoroughly import first_of

from legato import Schedule
from legato.script import parse, print_script

FLOATS, INTEGERS = ("float16", "float32", "float64"), ("int8", "uint8", "int32", "int64", "uint32")


class Writer:
    """Writes a random kernel: two inputs and an output of one type, loops, blocks or none, and statements on elements."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.dtype = self.random.choice(FLOATS + INTEGERS)

    def index(self):
        pick = self.random.random()
        if pick < 0.5:
            return self.random.choice("ij")
        if pick < 0.7:
            return f"({self.index()} + {self.random.randint(0, 3)}) % 6"
        if pick < 0.85:
            return f"{self.index()} // {self.random.randint(1, 4)}"
        return str(self.random.randint(0, 5))

    def element(self):
        return f"{self.random.choice('AB')}[{self.index()}, {self.index()}]"

    def condition(self, depth):
        pick = self.random.random()
        if pick < 0.3 and depth:
            return f"({self.condition(depth - 1)} {self.random.choice(['and', 'or'])} {self.condition(depth - 1)})"
        if pick < 0.4 and depth:
            return f"(not {self.condition(depth - 1)})"
        if pick < 0.6:
            return f"({self.index()} {self.random.choice(['<', '<=', '==', '>', '!='])} {self.index()})"
        return f"({self.value(depth - 1)} {self.random.choice(['<', '<=', '==', '>=', '!='])} {self.value(depth - 1)})"

    def value(self, depth):
        """An expression of the kernel's type."""
        pick = self.random.random() if depth > 0 else 0.0
        if pick < 0.35:
            return self.element()
        if pick < 0.45:
            return f'T.Cast("{self.dtype}", {self.index()})'
        if pick < 0.7:
            signs = ["+", "-", "*"] + (["/"] if self.dtype in FLOATS else ["//", "%", "&", "|", "^"])
            return f"({self.value(depth - 1)} {self.random.choice(signs)} {self.value(depth - 1)})"
        if pick < 0.75:
            return f"({self.value(depth - 1)} + {'1.5' if self.dtype in FLOATS else '3'})"
        if pick < 0.85:
            return f"T.{self.random.choice(['max', 'min'])}({self.value(depth - 1)}, {self.value(depth - 1)})"
        if pick < 0.9 and self.dtype in FLOATS:
            return f"T.{self.random.choice(['exp', 'sqrt', 'abs', 'tanh'])}({self.value(depth - 1)})"
        word = self.random.choice(["Select", "if_then_else"])
        return f"T.{word}({self.condition(depth - 1)}, {self.value(depth - 1)}, {self.value(depth - 1)})"

    def statements(self, indent):
        lines = []
        if self.random.random() < 0.4:
            lines.append(f"v = {self.value(2)}")
            lines.append(f"C[i, j] = v + {self.value(2)} * v")
        else:
            lines.append(f"C[i, j] = {self.value(4)}")
        if self.random.random() < 0.5:
            lines += [f"if {self.condition(2)}:", f"    C[i, j] = C[i, j] + {self.value(2)}"]
            if self.random.random() < 0.5:
                lines += ["else:", f"    C[i, j] = {self.value(2)}"]
        if self.random.random() < 0.3:
            lines.append(f"S[0] = {self.value(2)}")
            lines.append("C[i, j] = C[i, j] + S[0] * S[0]")
        return "".join(f"{indent}{line}\n" for line in lines)

    def source(self):
        types = ", ".join(f'{n}: T.Buffer((6, 6), "{self.dtype}")' for n in "ABC")
        text = (f'@T.prim_func\ndef random_kernel({types}):\n    S = T.alloc_buffer((2,), "{self.dtype}", scope="local")\n'
                "    S[0] = A[0, 0]\n")
        pick = self.random.random()
        if pick < 0.4:
            return text + "    for i, j in T.grid(6, 6):\n" + self.statements("        ")
        if pick < 0.7:
            kind = self.random.choice(["serial", "unroll"])
            return text + f"    for i in range(6):\n        for j in T.{kind}(6):\n" + self.statements("            ")
        head = "    for x, y in T.grid(6, 6):\n        with T.block(\"C\"):\n            i, j = T.axis.remap(\"SS\", [x, y])\n"
        return text + head + self.statements("            ")


@pytest.mark.parametrize("start", first_of(range(0, 60, 20)))
def test_a_random_kernel_comes_back(start):
    for seed in range(start, start + 20):
        source = Writer(seed).source()
        module = parse(source)
        text = print_script(module)
        again = parse(text)
        assert print_script(again) == text, source
        assert described(again) == described(module), f"{source}\n{text}"


def test_a_scheduled_kernel_comes_back():
    sch = Schedule(kernels.matmul)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, [None, 4])
    j0, j1 = sch.split(j, [None, 5])  # with a rest: a predicate
    sch.reorder(i0, j0, k, i1, j1)
    local = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(local, j0)
    sch.parallel(i0)
    sch.unroll(i1)
    sch.vectorize(j1)
    sch.annotate(k, "pragma_unroll", 3)
    sch.annotate(block, "note", "a 'text' in \"quotes\"")
    text = print_script(sch.module)
    again = parse(text)
    assert "annotations" in text and "T.where" in text and 'scope="local"' in text and "tir.is_scheduled" in text
    assert described(again) == described(sch.module)
