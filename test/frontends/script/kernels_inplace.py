"""Kernels that change what they are given: compiled, they take it and give its new content."""


from legato.script import tir as T


@T.prim_func
def double(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[i] = A[i] * 2.0


@T.prim_func
def accumulate(A: T.Buffer((8, 4), "float32"), B: T.Buffer((4, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    for i, j, k in T.grid(8, 6, 4):
        with T.sblock("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def first_and_last(A: T.Buffer(("n", 3), "int32"), B: T.Buffer(("n", 3), "int32"), out: T.Buffer(("n", 3), "int32")):
    n = T.int64()
    for i, j in T.grid(n, 3):
        with T.sblock("both"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(A[vi, vj], out[vi, vj])
            A[vi, vj] = B[vi, vj]
            out[vi, vj] = B[vi, vj] * 2


@T.prim_func
def a_part(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    row = T.match_buffer(A[3, 0:8], (8,))
    for i in range(8):
        row[i] = B[i]


def a_part_numpy(a, b):
    a = a.copy()
    a[3] = b
    return a


REFERENCES = {
    double: lambda a: a * 2, accumulate: lambda a, b, c: c + a @ b, first_and_last: lambda a, b: (b, b * 2), a_part: a_part_numpy,
}
