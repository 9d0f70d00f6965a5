# ruff: noqa: E501 (a script a line)
"""What a script cannot say is refused at its line, with a caret under it."""
import textwrap

import pytest

import legato
from legato.script import parse

BUFFERS = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'


def kernel(body, parameters=BUFFERS):
    return f"@T.prim_func\ndef k({parameters}):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"


def graph(body, parameters='x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 5), "float32")', returns=""):
    return f"@R.function\ndef g({parameters}){returns}:\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"


CASES = {
    "undefined variable": (kernel("for i in range(16):\n    B[i] = A[i] + missing"), "'missing' is not defined", "missing"),
    "undefined buffer": (kernel("for i in range(16):\n    B[i] = D[i]"), "'D' is not defined", "D"),
    "too many indices": (kernel("B[0, 1] = 1.0"), "'B' has 1 dimension, and 2 indices are given", "B[0, 1]"),
    "outside": (kernel("B[16] = 1.0"), "the index 16 is outside of 'B', whose size there is 16", "B[16]"),
    "float index": (kernel("for i in range(16):\n    B[A[i]] = 1.0"), "an index is wanted here, not a value of type float32", "B[A[i]]"),
    "two axes, one loop": (kernel("for i in range(16):\n    with T.block('B'):\n        vi, vj = T.axis.remap('SS', [i, i])\n        B[vi] = A[vj]"),
                           "binds the axes vi and vj both to the loop i", "with"),
    "axis twice": (kernel("for i, j in T.grid(16, 2):\n    with T.block('B'):\n        vi = T.axis.S(16, i)\n        vi = T.axis.R(2, j)\n"
                          "        B[vi] = A[vi]"), "the axis 'vi' is bound twice", "vi"),
    "axis too small": (kernel("for i in range(16):\n    with T.block('B'):\n        vi = T.axis.S(8, i)\n        B[vi] = A[vi]"),
                       "the axis vi has 8 values, and the loop i has 16 steps", "with"),
    "init without a reduction": (kernel("for i in range(16):\n    with T.block('B'):\n        vi = T.axis.S(16, i)\n        with T.init():\n"
                                        "            B[vi] = 0.0\n        B[vi] = A[vi]"), "has an init, but no axis that is reduced", "with"),
    "race": (kernel("for i in range(16):\n    for k in T.parallel(4):\n        with T.block('B'):\n            vi, vk = T.axis.remap('SR', [i, k])\n"
                    "            with T.init():\n                B[vi] = 0.0\n            B[vi] = B[vi] + A[vk]"),
             "the loop k is parallel, and the axis vk of block 'B' is reduced over it", "for k"),
    "undeclared write": (kernel("for i in range(16):\n    with T.block('B'):\n        vi = T.axis.S(16, i)\n        T.writes(A[vi])\n"
                                "        B[vi] = A[vi]"), "the block 'B' also writes B", "T.writes(A[vi])"),
    "unknown word": (kernel("for i in range(16):\n    B[i] = T.exponential(A[i])"), "T.exponential is not supported", "T.exponential(A[i])"),
    "unknown loop": (kernel("for i in enumerate(16):\n    B[i] = A[i]"), "a loop of a kernel goes over T.grid, range", "enumerate(16)"),
    "unknown thread": (kernel("for i in T.thread_binding(16, thread='threadIdx.w'):\n    B[i] = A[i]"), "not 'threadIdx.w'",
                       "T.thread_binding(16, thread='threadIdx.w')"),
    "a lambda": (kernel("f = lambda x: x\nB[0] = A[0]"), "a lambda is not supported in a kernel", "lambda x: x"),
    "a name that changes": (kernel("x = A[0]\nfor i in range(16):\n    x = x + A[i]\nB[0] = x"), "'x' has a value outside", "x"),
    "a word that TVM lowers to": (kernel("with T.realize(A[0:16], 'global'):\n    B[0] = A[0]"), "T.realize is not supported: what TVM lowers kernels to",
                                  "with"),
    "nothing written": (kernel("x = A[0]"), "this one writes none", "def"),
    "handle": (kernel("B[0] = 1.0", 'a: T.handle, B: T.Buffer((16,), "float32")'), "'a' is a handle: say what it is", "a: T.handle"),
    "type of a parameter": (kernel("B[0] = 1.0", 'B: T.Buffer((16,), "float31")'), "'float31' is no type of elements", 'B: T.Buffer((16,), "float31")'),
    "size": (kernel("B[0] = 1.0", 'B: T.Buffer(("n * m",), "float32")'), "its value cannot be known", 'B: T.Buffer(("n * m",), "float32")'),
    "constant of a type": (kernel("B[0] = T.cast(T.int8(300), 'float32')"), "300 is no value of type int8", "T.int8(300)"),
    "graph: undefined": (graph("return R.add(x, z)"), "'z' is not defined", "z"),
    "graph: shapes": (graph("return R.add(x, y)"), "relax.add", "R.add(x, y)"),
    "graph: unknown op": (graph("return R.nn.rellu(x)"), "there is no op R.nn.rellu; nearest: R.nn.relu", "R.nn.rellu(x)"),
    "graph: a size of nothing": (graph("q = T.int64()\nreturn R.ones((2, q), 'float32')"), "the size 'q' is not known here", "R.ones"),
    "graph: a size of nothing, in a text": (graph("return R.ones((2, 'q'), 'float32')", returns=" -> R.Tensor((2, 2), 'float32')"),
                                            "the size 'q' is not known here", "R.ones"),
    "graph: match_cast": (graph('return R.match_cast(x, R.Tensor((4, 6), "float32"))'), "dimension 1 is 4, never 6",
                          'R.match_cast(x, R.Tensor((4, 6), "float32"))'),
    "graph: return type": (graph("return x", returns=' -> R.Tensor((4, 7), "float32")'), "dimension 1 is 4, never 7", "return x"),
    "graph: not given out": (graph("with R.dataflow():\n    a = R.exp(x)\n    b = R.exp(a)\n    R.output(b)\nreturn a"), "'a' is not defined", "a"),
    "graph: effects": (graph("R.exp(x)\nreturn x"), "a value that nobody takes", "R.exp(x)"),
    "graph: loops": (graph("for i in range(3):\n    x = R.exp(x)\nreturn x"), "Python's For is not supported in a graph: a graph has no loops", "for"),
    "graph: one or the other": (graph("y = R.exp(x) if x else x\nreturn y"), "an if statement, or R.where", "R.exp(x) if x else x"),
    "break": (kernel("for i in range(16):\n    B[i] = A[i]\n    break"), "break is not supported in a kernel: a while loop with a flag", "break"),
    "a device's instruction": (kernel("T.ptx_ldmatrix(A.data, B.data)"), "T.ptx_ldmatrix is not supported: an instruction of one device",
                               "T.ptx_ldmatrix"),
    "assert at run time": (kernel("assert A[0] > 0.0\nB[0] = 1.0"), "assert checks what is known when the kernel is parsed", "assert"),
    "part's shape": (kernel("with T.block('B'):\n    P = T.match_buffer(A[0:8], (4,))\n    B[0] = P[0]"), "the part of 'A' has the shape (8), not (4)",
                     "T.match_buffer(A[0:8], (4,))"),
    "beyond a part": (kernel("P = T.match_buffer(A[0:8], (8,))\nB[0] = P[9]"), "the index 9 is outside of 'P', whose size there is 8", "P[9]"),
    "lanes": (kernel("B[0:4] = A[0:3]"), "3 and 4 lanes do not go together", "B[0:4]"),
    "too many lanes": (kernel("B[T.Ramp(0, 1, 1000)] = 1.0"), "1000 lanes; there can be 1 to 256", "T.Ramp(0, 1, 1000)"),
    "memory of another size": (kernel("P = T.decl_buffer((4, 5), 'float32', data=A.data)\nB[0] = P[0, 0]"), "'A' has 16 elements; 20 do not lie in it",
                               "A.data"),
    "a Python function that fails": (kernel("B[0] = T.float32(len(3))"), "len(): object of type 'int' has no len()", "len(3)"),
    "an axis alone": (kernel("T.axis.spatial(16, 0)\nB[0] = 1.0"), "an axis has a name", "T.axis"),
    "a text": (kernel("B[0] = 'x'"), "a number is wanted here, not 'x'", "B[0]"),
    "a number as a text": (kernel("B[0] = '7'"), "a number is wanted here, not '7'", "B[0]"),
    "a loop without end": (kernel("for i in range(1 << 70):\n    B[0] = A[0]"), "1180591620717411303424 is no value of type index", "for"),
    "try": (kernel("try:\n    B[0] = A[0]\nexcept Exception:\n    pass"), "try is not supported in a kernel", "try"),
    "a negative size": (kernel("B[0] = 1.0", 'B: T.Buffer((-8,), "float32")'), "a size is not negative: -8", "B: T.Buffer"),
    "half a size": (kernel("B[0] = 1.0", 'B: T.Buffer((8.5,), "float32")'), "a size is an int, or an expression of ints and symbols, not 8.5", "B: T"),
    "graph: a negative size": (graph("return x", 'x: R.Tensor((-4, 8), "float32")'), "a size is not negative: -4", "x: R.Tensor"),
    "graph: no size": (graph("return x", 'x: R.Tensor((None, 8), "float32")'), "a size is an int, or an expression of ints and symbols, not None", "x: R"),
    "graph: nothing returned": (graph("return"), "a graph returns something", "return"),
    "graph: a number returned": (graph("return x, 3"), "a graph returns a tensor, or a tuple of tensors, not (x, 3)", "return"),
    "graph: a default": (graph("return x", 'x: R.Tensor((4, 8), "float32") = 3'), "a graph has plain parameters", "def"),
    "graph: a keyword": (graph("return x", 'x: R.Tensor((4, 8), "float32"), *, y=3'), "a graph has plain parameters", "def"),
    "graph: one word nearest": (graph("return R.expp(x)"), "nearest: R.exp, R.expm1", "R.expp(x)"),
    "async": ("@R.function\nasync def g(x: R.Tensor((4,), 'float32')):\n    return x\n", "a function that is written as def, without async", "@"),
    "a lambda as a kernel": ("f = T.prim_func(lambda A: None)\n", "a function that is written as def, without async", "f"),
    "a module without functions": ("@I.ir_module\nclass M:\n    x = 3\n", "the module M has no function: kernels are under", "@"),
    "a module with Python": ("@I.ir_module\nclass M:\n    def main(x): return x\n", "the module M has the function 'main' of Python", "@"),
    "a part of a value": (kernel("x = A[0]\nB[0] = x[0]"), "elements can be taken of buffers and tuples", "x[0]"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_at_its_line(name):
    text, message, under = CASES[name]
    with pytest.raises(legato.LegatoError) as caught:
        parse(text)
    first, shown, caret = str(caught.value).splitlines()[:3]
    assert message in first
    line, column = int(first.split(":")[1]), int(first.split(":")[2])
    assert text.splitlines()[line - 1].strip() == shown.strip()
    assert text.splitlines()[line - 1][column - 1:].startswith(under)
    assert caret.index("^") == shown.index(under, shown.index(shown.strip())) if shown.count(under) == 1 else True


CALLS = """
@I.ir_module
class M:
    @T.prim_func
    def f(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n", 4), "float32")):
        n = T.int64()
        for i, j in T.grid(n, 4):
            B[i, j] = A[i, j]

    @R.function
    def main(x: R.Tensor((6, 5), "float32"), z: R.Tensor((6, 4), "float32")):
        return {call}
"""


@pytest.mark.parametrize(("call", "message"), [
    ('R.call_tir(M.f, (x,), R.Tensor((6, 4), "float32"))', r"'f' has \(n, 4\) of f32 for A; here it is \(6, 5\) of f32"),
    ('R.call_tir(M.f, (z,), R.Tensor((7, 4), "float32"))', "the size n is 6 elsewhere, and 7 in B"),
    ('R.call_tir(M.f, (z, z), R.Tensor((6, 4), "float32"))', "takes 1 tensors and has 1 outputs; 2 and 1 are given"),
    ('R.call_tir(M.g, (z,), R.Tensor((6, 4), "float32"))', "there is no 'g' in M"),
    ("M.f(z)", "a kernel is called by R.call_tir"),
])
def test_calls_of_kernels_are_checked(call, message):
    with pytest.raises(legato.LegatoError, match=message):
        parse(CALLS.replace("{call}", call))


def test_a_size_that_follows_from_the_others():
    """-1 is no size of a type, and one of a reshape."""
    made = parse(graph("return R.reshape(x, (-1, 8))"))
    assert "tensor<2x8xf32>" in str(made)


def test_words_have_no_meaning_outside():
    from legato.script import tir as T

    with pytest.raises(legato.LegatoError, match="inside of a script only"):
        T.exp(1.0)
