"""Kernels in all that the language has: names, variables, macros, functions of Python, what Python's scope holds."""

import ml_dtypes
import numpy as np

from legato.script import ir as I
from legato.script import tir as T
from legato.script import tir as tvm_tir

F = np.float32
SIZES = (4, 6)
FACTORS = [0.5, 0.25]


@T.prim_func
def starred(a: T.handle, b: T.handle):
    A = T.match_buffer(a, [3, *SIZES], "float32")
    B = T.match_buffer(b, [3, *SIZES], "float32")
    for i, j, k in T.grid(*A.shape):
        B[i, j, k] = A[i, j, k] * T.float32(len(SIZES))


@T.prim_func
def starred_loops(A: T.Buffer((3, 4, 5), "int32"), B: T.Buffer((3, 4), "int32")):
    for place in T.grid(3, 4):
        B[place] = 0
    for *spatial, k in T.grid(*A.shape):
        B[spatial] = B[spatial] + A[(*spatial, k)]


@T.prim_func
def names_for_values(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        x: T.let[T.float32] = A[i] * 2.0
        y: T.float32 = x + 1.0
        with T.LetStmt(y * y) as z:
            u = T.bind(z - x)
            w = T.meta_var(u)
            B[i] = T.Let(w + v, where={v: T.float32(1)})  # noqa: F821


@T.prim_func
def floats_of_8_bits(A: T.Buffer((16,), "float16"), N: T.Buffer((16,), "int32"), B: T.Buffer((16,), "uint8"), C: T.Buffer((16,), "uint8"),
                     D: T.Buffer((16,), "bfloat16")):
    for i in range(16):
        B[i] = T.reinterpret("uint8", T.Cast("float8_e4m3fn", A[i]))
        C[i] = T.reinterpret("uint8", T.Cast("float8_e5m2", N[i]))
        D[i] = T.Cast("bfloat16", T.Cast("float8_e5m2", A[i]))


def floats_of_8_bits_numpy(a, n):
    return (a.astype(ml_dtypes.float8_e4m3fn).view(np.uint8), n.astype(ml_dtypes.float8_e5m2).view(np.uint8),
            a.astype(ml_dtypes.float8_e5m2).astype(ml_dtypes.bfloat16))


@T.prim_func
def variables(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        total: T.float32 = 0.0
        count: T.int32 = 0
        for j in range(16):
            if A[i, j] > 0.0:
                total = total + A[i, j]
                count += 1
        B[i] = total / T.cast(T.max(count, 1), "float32")


def fold(i, j):
    """Which thread of 32 holds an element of a 16 by 16 tile, and where: a map as tensor intrinsics have it."""
    thread = (i % 8) * 4 + (j % 8) // 2
    return T.meta_var((thread, (j // 8) * 4 + (i // 8) * 2 + (j % 2)))


@T.prim_func
def by_a_python_function(A: T.Buffer((16, 16), "float32"), B: T.Buffer((32, 8), "float32")):
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            thread, place = fold(vi, vj)
            T.reads(A[vi, vj])
            T.writes(B[thread, place])
            B[thread, place] = A[vi, vj]


def fold_numpy(a):
    b = np.zeros((32, 8), F)
    for i in range(16):
        for j in range(16):
            b[(i % 8) * 4 + (j % 8) // 2, (j // 8) * 4 + (i // 8) * 2 + j % 2] = a[i, j]
    return b


def cell(dtype):
    """A buffer of one element, as MLC-LLM's kernels make them."""
    return T.alloc_buffer((1,), dtype, scope="local")


@T.prim_func
def buffers_of_a_python_function(a: T.handle, b: T.handle):
    n = T.Var("rows", "int64")
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        total = cell("float32")
        total[0] = 0.0
        for j in range(8):
            total[0] += A[i, j]
        B[i] = total[0]


smooth = lambda x: T.exp(x) / (T.exp(x) + 1.0)  # noqa: E731


@T.prim_func
def by_a_lambda(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = smooth(A[i])


SHIFT = 2


@T.macro
def shifted(target, source, i):
    target[i] = source[i] + T.float32(SHIFT)


@T.macro(hygienic=False)
def on_the_caller(target):
    target[i] = target[i] * factor  # noqa: F821


@T.inline
def many(first, *more, target, **named):
    for x in more:
        target[0] = target[0] + x[0] * first
    target[0] = target[0] + named["last"][1]


@T.prim_func
def by_macros(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    factor = T.float32(3)  # noqa: F841 (for the macro)
    for i in range(16):
        SHIFT = T.float32(100)  # noqa: F841 (the macro has the module's)
        shifted(B, A, i)
        on_the_caller(B)
    many(2.0, A, B, target=B, last=A)


def by_macros_numpy(a):
    b = (a + 2) * 3
    b[0] = b[0] + a[0] * 2
    b[0] = b[0] + b[0] * 2
    b[0] = b[0] + a[1]
    return b


def scaled(size, dtype, factor):
    """A kernel for each size and type: Python's variables around it are its constants."""
    @T.prim_func
    def scale(A: T.Buffer((size,), dtype), B: T.Buffer((size,), dtype)):
        for i in T.serial(size):
            with T.sblock(f"scale_{size}"):
                vi = T.axis.remap("S", [i])
                if dtype == "float32":
                    B[vi] = A[vi] * T.float32(factor)
                else:
                    B[vi] = A[vi] * T.cast(int(factor), dtype)

    return scale


scaled_floats, scaled_integers = scaled(10, "float32", 1.5), scaled(12, "int64", 3)


@T.prim_func
def constants(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = A[i]
        for factor in FACTORS:
            B[i] = B[i] * factor
        for factor, shift in ((2.0, 1.0), (3.0, 2.0)):
            B[i] = B[i] * factor + shift


@tvm_tir.prim_func
def another_alias(A: tvm_tir.Buffer((8,), "float32"), B: tvm_tir.Buffer((8,), "float32")):
    for i in tvm_tir.serial(8):
        with tvm_tir.block("B"):
            vi = tvm_tir.axis.spatial(8, i)
            B[vi] = tvm_tir.tanh(A[vi])


@T.prim_func(private=True, check_well_formed=False)
def attributes(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    T.func_attr({"global_symbol": "attributes", "tir.noalias": T.bool(True)})
    with T.sblock("root"):
        T.reads()
        T.writes()
        T.sblock_attr({"meta_schedule.parallel": 8})
        for i in T.unroll(8, annotations={"pragma_unroll_explicit": 1}):
            with T.sblock("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                T.sblock_attr({"script_parsing_detect_access": 3})
                T.assume(A[vi] > 0.0)
                T.evaluate(0)
                assert len(A.shape) == 1, "one dimension"
                B[vi] = A[vi] + T.float32(1)


@T.prim_func
def functions(A: T.Buffer((32,), "float32"), N: T.Buffer((32,), "int32"), B: T.Buffer((32,), "float32"), M: T.Buffer((32,), "int32")):
    for i in range(32):
        B[i] = T.round(A[i] * 8.0) + T.nearbyint(A[i] * 4.0) + T.hypot(A[i], 2.0) + T.pow(T.fabs(A[i]), 1.5) + T.fma(A[i], A[i], 1.0)
        M[i] = (N[i] ** 2 + T.floordiv(N[i], 3) - T.floormod(N[i], 5) + T.truncmod(N[i], 4) + T.shift_right(N[i], 1)
                + T.popcount(N[i]) + T.clz(N[i] + 1) + T.bitwise_not(N[i]) + T.Select(T.isfinite(A[i]), 1, 0)
                + T.reinterpret("int32", A[i]) % 16 + T.ceildiv(N[i], 7) + T.if_then_else(T.all(A[i] > 0.0, N[i] > 3), 5, 6))


@T.prim_func
def bits_of_indices(A: T.Buffer((40,), "int32"), B: T.Buffer((40,), "int32"), C: T.Buffer((40,), "float32")):
    for i in range(40):
        B[i] = T.popcount(i) * 100 + T.clz(i + A[0]) - T.popcount(7) + T.popcount(i - 20) * 1000
        C[T.clz(i) + i - T.clz(i)] = T.float32(T.clz(i)) + T.popcount(T.int64(i) - 20)


def bits_of_indices_numpy(a):
    def count(number, bits=32):
        return bin(int(number) % 2**bits).count("1")
    each = range(40)
    b = [count(i) * 100 + 32 - int(i + a[0]).bit_length() - 3 + count(i - 20) * 1000 for i in each]
    return np.array(b, np.int32), np.array([32 - i.bit_length() + count(i - 20, 64) for i in each], F)


def functions_numpy(a, n):
    b = (np.rint(a * 8) + np.rint(a * 4) + np.hypot(a, F(2)) + np.abs(a) ** F(1.5) + a * a + 1)
    bits = np.array([bin(int(x)).count("1") for x in n], np.int32)
    zeros = np.array([32 - int(x).bit_length() for x in n + 1], np.int32)
    m = (n**2 + n // 3 - n % 5 + np.fmod(n, 4) + (n >> 1) + bits + zeros + ~n + 1 + a.view(np.int32) % 16 + -(-n // 7)
         + np.where((a > 0) & (n > 3), 5, 6))
    return b.astype(F), m.astype(np.int32)


@T.prim_func
def oldest_blocks(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (8, 16), "float32")
    B = T.match_buffer(b, (16, 4), "float32")
    C = T.match_buffer(c, (8, 4), "float32")
    D = T.alloc_buffer((8, 4), "float32")
    for i, j, k in T.grid(8, 4, 16):  # noqa: B007 (the axes take them in their order)
        with T.block([8, 4, T.reduce_axis(0, 16)], "D") as [vi, vj, vk]:
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] += A[vi, vk] * B[vk, vj]
    for i, j in T.grid(8, 2):
        for jj in T.vectorized(0, 2):
            with T.block([8, 4], "C") as [vi, vj]:
                T.bind(vi, i)
                T.bind(vj, j * 2 + jj)
                C[vi, vj] = T.exp(D[vi, vj], dtype="float32") + T.if_then_else(vi < 4, 1.0, 0.0, dtype="float32")


@I.ir_module
class Concise:
    I.module_attrs({"version": 1})
    SIZE = 24

    @T.prim_func
    def main(A: T.Buffer((SIZE,), "float32"), B: T.Buffer((SIZE,), "float32")):
        for i in T.serial(SIZE):  # noqa: F821
            B[i] = T.log(A[i] + 1.0)


REFERENCES = {
    starred: lambda a: a * 2, starred_loops: lambda a: a.sum(-1, dtype=np.int32),
    names_for_values: lambda a: (2 * a + 1) ** 2 - 2 * a + 1,
    floats_of_8_bits: floats_of_8_bits_numpy,
    variables: lambda a: np.where(a > 0, a, 0).sum(1) / np.maximum((a > 0).sum(1), 1).astype(F), by_a_python_function: fold_numpy,
    buffers_of_a_python_function: lambda a: a.sum(1), by_a_lambda: lambda a: 1 / (1 + np.exp(-a)), by_macros: by_macros_numpy,
    scaled_floats: lambda a: a * F(1.5), scaled_integers: lambda a: a * 3, constants: lambda a: (a / 8 * 2 + 1) * 3 + 2,
    another_alias: np.tanh, attributes: lambda a: a + 1,
    bits_of_indices: bits_of_indices_numpy, functions: functions_numpy,
    oldest_blocks: lambda a, b: np.exp(a @ b) + (np.arange(8) < 4).astype(F)[:, None],
    Concise: lambda a: np.log(a + 1),
}
