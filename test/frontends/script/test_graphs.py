"""Graphs and modules of the kinds that TVM's tutorials and tests teach, in its spelling."""
import numpy as np
import pytest

import legato
from legato.script import ir as I
from legato.script import parse
from legato.script import relax as R
from legato.script import tir as T

F = np.float32


def array(*shape, seed=0):
    return (np.random.default_rng(seed).random(shape) - 0.5).astype(F)


@I.ir_module
class Forward:
    """The model of TVM's page on making programs: operators, annotations, a kernel on one tensor without a tuple."""

    I.module_attrs({"version": 3})
    I.module_global_infos({"dummy": [I.dummy_global_info()]})

    @T.prim_func(private=True)
    def relu(x: T.handle, y: T.handle):
        T.func_attr({"tir.noalias": True})
        n, m = T.int64(), T.int64()
        X = T.match_buffer(x, (n, m), "float32")
        Y = T.match_buffer(y, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @R.function
    def forward(data: R.Tensor(("n", 24), dtype="float32"), w0: R.Tensor((16, 24), dtype="float32"),
                b0: R.Tensor((16,), dtype="float32")) -> R.Tensor(("n", 16), dtype="float32"):
        R.func_attr({"num_input": 1})
        n = T.int64()
        cls = Forward
        with R.dataflow():
            lv: R.Tensor((24, 16), dtype="float32") = R.permute_dims(w0, axes=None)
            lv0 = R.matmul(data, lv) + b0
            lv1 = R.call_tir(cls.relu, lv0, out_ty=R.Tensor((n, 16), dtype="float32"))
            gv: R.Tensor(("n", 16), dtype="float32") = lv1 * R.const(2.0, "float32")
            R.output(gv)
        return gv


def test_forward():
    x, w, b = array(5, 24), array(16, 24, seed=1), array(16, seed=2)
    np.testing.assert_allclose(legato.compile(Forward)(x, w, b), np.maximum(x @ w.T + b, 0) * 2, rtol=1e-4, atol=1e-5)


@R.function(private=False, pure=True)
def shadowed(x: R.Tensor((4, 4), "float32")):
    y = R.add(x, x)
    z = R.multiply(x, y)
    y = R.add(x, y)
    y = z
    y = R.multiply(y, x)
    z = y
    return z


@R.function
def tuples(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")) -> R.Tuple(
    R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32")
):
    t0 = (x, y)
    t1 = R.tuple(x, R.add(x, y))
    t2 = (t0, t1)
    a = t2[1][1]
    b = R.TupleGetItem(t0, 1)
    c, d = t2[0]
    return (a, R.subtract(b, d), R.add(c, b))


@R.function
def without_a_type(x: R.Tensor((4, 4), "float32")) -> R.Tensor:
    y: R.Tensor = R.exp(x)
    z: R.Tensor(ndim=2) = R.add(y, y)
    w: R.Object = z
    v: R.Tensor(x.shape, x.dtype) = w + x
    return v


@R.function
def methods(x: R.Tensor((4, 4), "float32")):
    h = x.astype("float16")
    zeros = R.zeros(x.shape, "float32")
    same = R.call_dps_packed("legato.test.copy", (x,), out_sinfo=x.struct_info)
    return R.astype(h, x.dtype) + zeros + same * float(x.ndim)


@R.function
def functions_inside(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    @R.function
    def outer(c1: R.Tensor((2, 3), "float32")) -> R.Callable((R.Tensor(None, "float32", ndim=2),), R.Tensor(None, "float32", ndim=2)):
        @R.function
        def inner(x1: R.Tensor((2, 3), "float32")):
            s: R.Tensor((2, 3), "float32") = R.subtract(x1, c1)
            return s

        return inner

    add_x = outer(x)
    res = add_x(y)
    return res


@I.ir_module
class Across:
    """Functions that call each other in any order, by the class's name and by cls; a name for a function."""

    @R.function
    def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        cls = Across
        inner = cls.scale
        a = inner(x)
        b = Across.shift(a)
        return b

    @R.function(private=True)
    def scale(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
        n, m = T.int64(), T.int64()
        return x * R.full((n, m), R.const(3.0), "float32")

    @R.function(private=True)
    def shift(x: R.Tensor(("n", 4), "float32")):
        y = x + 1.0
        return y


TABLE = np.arange(12, dtype=F).reshape(3, 4)


@R.function
def constants(x: R.Tensor((3, 4), "float32")):
    a = x + R.const(TABLE, "float32")
    b = a * R.const([[1.0], [2.0], [3.0]], "float32")
    return b + TABLE - R.const(1, "float32")


@I.ir_module
class Inplace:
    """As TVM writes it: the first output is the first argument's new content, the second a tensor of its own."""

    @T.prim_func
    def copy(A: T.Buffer((2, 3), "int32"), B: T.Buffer((2, 3), "int32"), out1: T.Buffer((2, 3), "int32")):
        T.func_attr({"tir.noalias": True})
        for i0, i1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("T_zeros"):
                ax0, ax1 = T.axis.remap("SS", [i0, i1])
                T.reads(B[ax0, ax1])
                T.writes(A[ax0, ax1], out1[ax0, ax1])
                A[ax0, ax1] = B[ax0, ax1] * 2
                out1[ax0, ax1] = B[ax0, ax1]

    @R.function
    def main(x: R.Tensor((2, 3), "int32"), y: R.Tensor((2, 3), "int32")) -> R.Tuple(
        R.Tensor((2, 3), "int32"), R.Tensor((2, 3), "int32")
    ):
        res = R.call_tir_inplace(Inplace.copy, (x, y), [0, -1], [R.Tensor((2, 3), "int32"), R.Tensor((2, 3), "int32")])
        return res


@I.ir_module
class Accumulates:
    @T.prim_func(private=True)
    def accumulate(x: T.Buffer((4, 4), "float32"), total: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("T_add"):
                vi, vj = T.axis.remap("SS", [i, j])
                total[vi, vj] = total[vi, vj] + x[vi, vj]

    @R.function
    def main(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")):
        cls = Accumulates
        with R.dataflow():
            a = R.call_tir_inplace(cls.accumulate, (x, y), inplace_indices=1, out_sinfo=R.Tensor((4, 4), "float32"))
            b = R.call_tir_inplace(cls.accumulate, (x, a), inplace_indices=[1], out_sinfo=R.Tensor((4, 4), "float32"))
            c = b + y
            R.output(c)
        return c


@I.ir_module
class WithIntegers:
    @R.function
    def main(dumb: R.Tensor(("n",), "float32"), x: R.Tensor(("n * 2",), "float32")) -> R.Tensor(("n * 2",), "float32"):
        n = T.int64()
        cls = WithIntegers
        y = R.call_tir(cls.copy, x, R.Tensor((n * 2,), dtype="float32"), tir_vars=(n,))
        return y

    @T.prim_func
    def copy(var_x: T.handle, var_y: T.handle, n: T.int64):
        X = T.match_buffer(var_x, (n * 2,), dtype="float32")
        Y = T.match_buffer(var_y, (n * 2,), dtype="float32")
        for i in T.grid(n * 2):
            with T.block("block"):
                vi = T.axis.remap("S", [i])
                Y[vi] = X[vi]


OLD = """
@I.ir_module
class Old:
    @T.prim_func
    def relu0(X: T.Buffer[(1, 8), "float32"], Y: T.Buffer[(1, 8), "float32"]):
        T.func_attr({"global_symbol": "relu0", "tir.noalias": True})
        for i, j in T.grid(1, 8):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @R.function
    def main(x: Tensor((1, 8), "float32")):
        with R.dataflow():
            lv0 = R.call_tir(relu0, (x,), (1, 8), dtype="float32")
            out = R.call_tir("legato.test.copy", (lv0,), (1, 8), dtype="float32")
            R.output(out)
        return out
"""


@R.function
def used_before_it_is_defined(x: R.Tensor(("m + 1",), "float32"), y: R.Tensor(("m", 1), "float32")):
    z = R.add(x, y)
    return z


@R.function
def a_symbol_in_a_call(x: R.Tensor(("b", "s", 8), "float32")) -> R.Tensor(("b * s", 8), "float32"):
    b, s = T.int64(), T.int64()
    y = R.reshape(x, R.shape([b * s, 8]))
    shape = R.shape_of(y)
    z = R.reshape(R.nn.relu(y), shape)
    w = R.match_cast(z, R.Tensor((b * s, 8), "float32"))
    return w


@R.function
def nothing() -> R.Tensor((2, 2), "float32"):
    return R.ones((2, 2), "float32")


def between_functions(size):
    """A graph made by a Python function, whose variables are its constants."""
    scale = float(size)

    @R.function
    def graph(x: R.Tensor((size, size), "float32")):
        y = x * R.const(scale)
        for_all = R.sum(y, axis=list(range(2)))
        return for_all

    return graph


def copy(a, out):
    np.from_dlpack(out)[...] = np.from_dlpack(a)


X, Y = array(4, 4), array(4, 4, seed=1)
A, B = array(2, 3), array(2, 3, seed=1)
N, M = np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(6, dtype=np.int32).reshape(2, 3)[::-1].copy()
V = array(3, 4)
CASES = {
    "shadowed": (shadowed, (X,), lambda x: x * 2 * x * x), "tuples": (tuples, (X, Y), lambda x, y: (x + y, y - y, x + y)),
    "without_a_type": (without_a_type, (X,), lambda x: 2 * np.exp(x) + x),
    "methods": (methods, (X,), lambda x: x.astype(np.float16) + x * 2),
    "functions_inside": (functions_inside, (A, B), lambda x, y: y - x), "Across": (Across, (V,), lambda x: x * 3 + 1),
    "constants": (constants, (V,), lambda x: (x + TABLE) * np.array([[1], [2], [3]], F) + TABLE - 1),
    "Inplace": (Inplace, (N, M), lambda x, y: (y * 2, y)), "Accumulates": (Accumulates, (X, Y), lambda x, y: 2 * x + 2 * y),
    "Old": (parse(OLD), (array(1, 8),), lambda x: np.maximum(x, 0)),
    "WithIntegers": (WithIntegers, (array(3), array(6)), lambda n, x: x),
    "used_before_it_is_defined": (used_before_it_is_defined, (array(6), array(5, 1)), np.add),
    "a_symbol_in_a_call": (a_symbol_in_a_call, (array(2, 3, 8),), lambda x: np.maximum(x.reshape(6, 8), 0)),
    "nothing": (nothing, (), lambda: np.ones((2, 2), F)), "between_functions": (between_functions(4), (X,), lambda x: (x * 4).sum()),
}


@pytest.mark.parametrize("name", CASES)
def test_graph(name):
    import tvm_ffi

    tvm_ffi.register_global_func("legato.test.copy", copy, override=True)
    graph, arrays, reference = CASES[name]
    kept = [a.copy() for a in arrays]
    got, want = legato.compile(graph)(*arrays), reference(*arrays)
    for g, w in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, want)), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-3 if name == "methods" else 1e-5, atol=1e-6)
    for before, after in zip(kept, arrays):
        np.testing.assert_array_equal(before, after)
