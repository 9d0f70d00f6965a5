"""Kernels that schedules are tried on, what they compute, and how the two are compared."""
import numpy as np

import legato
from legato import Schedule
from legato.script import tir as T

F = np.float32

@T.prim_func
def matmul_relu(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 32), "float32"), D: T.Buffer((16, 32), "float32")):
    C = T.alloc_buffer((16, 32), "float32")
    for i, j, k in T.grid(16, 32, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 32):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


@T.prim_func
def three_steps(A: T.Buffer((30, 40), "float32"), D: T.Buffer((30, 40), "float32")):
    B = T.alloc_buffer((30, 40), "float32")
    C = T.alloc_buffer((30, 40), "float32")
    for i, j in T.grid(30, 40):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(30, 40):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
    for i, j in T.grid(30, 40):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * C[vi, vj]


@T.prim_func
def row_sum(A: T.Buffer((8, 96), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 96):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def blur(A: T.Buffer((34,), "float32"), C: T.Buffer((32,), "float32")):
    B = T.alloc_buffer((34,), "float32")
    for i in range(34):
        with T.block("B"):
            vi = T.axis.spatial(34, i)
            B[vi] = A[vi] * 0.5
    for i in range(32):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]


@T.prim_func
def read_twice(A: T.Buffer((30, 40), "float32"), D: T.Buffer((30, 40), "float32")):
    C = T.alloc_buffer((30, 40), "float32")
    for i, j in T.grid(30, 40):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(30, 40):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + A[vi, vj]


@T.prim_func
def padded(A: T.Buffer((8, 8), "float32"), D: T.Buffer((10, 12), "float32")):
    P = T.alloc_buffer((10, 12), "float32")
    for i, j in T.grid(10, 12):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(vi >= 1 and vi < 9 and vj >= 2 and vj < 10, A[vi - 1, vj - 2], T.float32(3))
    for i, j in T.grid(10, 12):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = P[vi, vj] * 2.0


@T.prim_func
def conv(X: T.Buffer((2, 6, 6, 3), "float32"), W: T.Buffer((3, 3, 3, 16), "float32"), Y: T.Buffer((2, 4, 4, 16), "float32")):
    for n, h, w, f, kh, kw, c in T.grid(2, 4, 4, 16, 3, 3, 3):
        with T.block("Y"):
            vn, vh, vw, vf, vkh, vkw, vc = T.axis.remap("SSSSRRR", [n, h, w, f, kh, kw, c])
            with T.init():
                Y[vn, vh, vw, vf] = T.float32(0)
            Y[vn, vh, vw, vf] = Y[vn, vh, vw, vf] + X[vn, vh + vkh, vw + vkw, vc] * W[vkh, vkw, vc, vf]


@T.prim_func
def of_symbols(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (4, n, 2), "float32")
    for i, j, k in T.grid(n, 4, 2):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vj, vi, vk] = A[vi, vj * 2 + vk] * 2.0


REFERENCES = {
    matmul_relu: lambda a, b: np.maximum(a @ b, 0), three_steps: lambda a: (a * 2 + 1) ** 2, row_sum: lambda a: a.sum(-1),
    blur: lambda a: (a[:-2] + a[1:-1] + a[2:]) / 2, read_twice: lambda a: 3 * a,
    padded: lambda a: 2 * np.pad(a, [(1, 1), (2, 2)], constant_values=3),
}


def loops(sch, block):
    return sch.get_loops(sch.get_block(block))


def names(sch, block):
    return [(loop.name, loop.extent, loop.operation.opview.kind) for loop in loops(sch, block)]


def values(kernel, module, first=None):
    exe = legato.compile(module, from_stage=first)
    rng = np.random.default_rng(0)
    arrays = [(rng.random([int(size) for size in p.shape]) - 0.5).astype(F) for p in exe.inputs]
    return exe(*arrays), REFERENCES[kernel](*arrays)


def ramp(*shape):
    """Integers from -11 to 11, whose sums and products f32 holds."""
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 23 - 11).astype(F)


def compiled(kernel, sch, *arrays):
    """What the scheduled kernel computes: the same as the kernel itself. Its trace makes the same schedule."""
    assert sch.module.operation.verify()
    assert str(Schedule(kernel).replay(sch.trace)) == str(sch)
    found = legato.compile(sch.module)(*arrays)
    np.testing.assert_array_equal(found, legato.compile(kernel)(*arrays))
    return found
