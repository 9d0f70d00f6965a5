"""A kernel that calls packed functions, and the functions."""
import numpy as np
import tvm_ffi

from legato.script import T

F = "float32"


def packed(name):
    return lambda function: tvm_ffi.register_global_func(f"legato.test.kernel.{name}", function, override=True)


given = []


@packed("sine")
def sine(x, *rest):
    *rest, y = rest
    given.append(rest)
    np.sin(np.from_dlpack(x), out=np.from_dlpack(y))


@packed("total")
def total(x, i):
    return float(np.from_dlpack(x).sum()) + i


@T.prim_func
def mixed(A: T.Buffer((8, 4), F), B: T.Buffer((8, 4), F), C: T.Buffer((8,), F)):
    tmp = T.alloc_buffer((8, 4), F)
    T.call_packed("legato.test.kernel.sine", A, 3, 1.5, "text", True, tmp)
    for i in range(8):
        for j in range(4):
            B[i, j] = tmp[i, j] * T.float32(2)
        x = T.call_packed("legato.test.kernel.total", A[i, 0:4], i, dtype="float32")
        C[i] = x
