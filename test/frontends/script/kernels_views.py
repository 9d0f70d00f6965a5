"""Kernels whose buffers lie in others, are allocated in every spelling, and have no dimensions or strides that are named."""

import numpy as np

from legato.script import tir as T

F = np.float32


@T.prim_func
def tiles_by_match_buffer(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    for i0, j0, k0 in T.grid(2, 2, 2):
        with T.sblock("outer"):
            vi, vj, vk = T.axis.remap("SSR", [i0, j0, k0])
            T.reads(A[vi * 16 : vi * 16 + 16, vk * 16 : vk * 16 + 16], B[vk * 16 : vk * 16 + 16, vj * 16 : vj * 16 + 16])
            T.writes(C[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16])
            a_row, b_row = T.int32(), T.int32()
            A_tile = T.match_buffer(A[vi * 16 : vi * 16 + 16, vk * 16 : vk * 16 + 16], (16, 16), "float32", strides=[a_row, 1],
                                    offset_factor=1)
            B_tile = T.match_buffer(B[vk * 16 : vk * 16 + 16, vj * 16 : vj * 16 + 16], (16, 16), strides=[b_row, 1], offset_factor=1)
            C_tile = T.match_buffer(C[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16], [16, 16], dtype="float32", offset_factor=1)
            with T.init():
                for i, j in T.grid(16, 16):
                    C_tile[i, j] = 0.0
            for i, j, k in T.grid(16, 16, 16):
                C_tile[i, j] = C_tile[i, j] + A_tile[i, k] * B_tile[k, j]


@T.prim_func
def batches_by_match_buffer(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (4, 8, 8), "float32")
    B = T.match_buffer(b, (4, 8, 8), "float32")
    for n in T.serial(4):
        with T.sblock():
            vn = T.axis.spatial(4, n)
            A_n = T.match_buffer(A[vn, 0:8, 0:8], (8, 8))
            B_n = T.match_buffer(B[vn, 0:8, 0:8], (8, 8))
            for i, j in T.grid(8, 8):
                with T.sblock("turn"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B_n[vi, vj] = A_n[vj, vi]


@T.prim_func
def parts_of_parts(A: T.Buffer((8, 12), "float32"), B: T.Buffer((4,), "float32")):
    with T.block("root"):
        T.reads(A[0:8, 0:12])
        T.writes(B[0:4])
        rows = T.match_buffer(A[2:6, 0:12])
        corner = T.match_buffer(rows[0:4, 3:7], (4, 4))
        for i in range(4):
            B[i] = corner[i, i] + rows[i, 11]


@T.prim_func
def strides_by_name(a: T.handle, b: T.handle) -> None:
    n, m = T.int64(), T.int64()
    row, column = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32", strides=[row, column], elem_offset=0, align=64, offset_factor=1)
    B = T.match_buffer(b, (n, m), dtype="float32")
    for i, j in T.grid(n, m):
        B[i, j] = A[i, j] + T.cast(row * 10 + column, "float32")


@T.prim_func
def memory_in_another_shape(A: T.Buffer((4, 6), "float32"), B: T.Buffer((24,), "float32")):
    flat = T.decl_buffer((24,), "float32", data=A.data)
    C = T.alloc_buffer((24,), "float32")
    square = T.Buffer((2, 12), data=C.data)
    for i in range(24):
        C[i] = flat[i] * 2.0
    for i, j in T.grid(2, 12):
        B[i * 12 + j] = square[i, j]


@T.prim_func
def buffers_in_every_spelling(A: T.Buffer[(16,), "float32"], B: T.Buffer[16, "float32"]):  # noqa: F821  # pyright: ignore[reportGeneralTypeIssues]
    one = T.alloc_buffer([16], "float32", scope="global")
    two = T.decl_buffer((16,), "float32")
    three = T.alloc_shared((16,), "float32")
    four = T.alloc_local([16])
    with T.allocate([16], "float32", "local") as five:
        for i in T.serial(0, 16):
            one[i] = A[i] + 1.0
            two[i] = one[i] + 1.0
            three[i] = two[i] + 1.0
            four[i] = three[i] + 1.0
            five[i] = four[i] + 1.0
        for i in range(16):
            B[i] = five[i]


@T.prim_func
def no_dimensions(A: T.Buffer((), "float32"), B: T.Buffer((5,), "float32"), C: T.Buffer((), "float32")):
    C[()] = A[()]
    for i in range(5):
        C[()] = C[()] + B[i]


@T.prim_func
def integers_of_64_bits(A: T.Buffer((T.int64(8), T.int64(4)), "float32"), B: T.Buffer((T.int64(8), T.int64(4)), "float32")):
    for i, j in T.grid(T.int64(8), T.int64(4)):
        with T.sblock("B"):
            vi = T.axis.spatial(T.int64(8), i)
            vj = T.axis.S(T.int64(4), j)
            B[vi, vj] = A[vi, vj] + T.Cast("float32", vi)


@T.prim_func
def halves(A: T.Buffer((16,), "float16"), B: T.Buffer((16,), "bfloat16"), C: T.Buffer((16,), "float32")):
    for i in T.vectorized(16):
        C[i] = T.float32(A[i]) * 2.0 + T.Cast("float32", B[i])


@T.prim_func
def compacted(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
    """As TVM prints it after compaction: a buffer of a row, inside the loop."""
    for i in range(8):
        with T.sblock(""):
            T.reads(A[i, 0:16])
            T.writes(C[i, 0:16])
            B = T.sblock_alloc_buffer((1, 16), "float32", scope="local")
            for j in range(16):
                with T.sblock():
                    T.reads(A[i, j])
                    T.writes(B[0, j])
                    B[0, j] = A[i, j] + T.float32(1)
            for j in range(16):
                with T.sblock():
                    T.reads(B[0, j])
                    T.writes(C[i, j])
                    C[i, j] = B[0, j] * T.float32(2)


REFERENCES = {
    tiles_by_match_buffer: np.matmul, batches_by_match_buffer: lambda a: a.transpose(0, 2, 1),
    parts_of_parts: lambda a: np.diag(a[2:6, 3:7]) + a[2:6, 11], strides_by_name: lambda a: a + F(a.shape[1] * 10 + 1),
    memory_in_another_shape: lambda a: a.reshape(-1) * 2, buffers_in_every_spelling: lambda a: a + 5,
    no_dimensions: lambda a, b: a + b.sum(), integers_of_64_bits: lambda a: a + np.arange(8, dtype=F)[:, None],
    halves: lambda a, b: a.astype(F) * 2 + b.astype(F), compacted: lambda a: (a + 1) * 2,
}
