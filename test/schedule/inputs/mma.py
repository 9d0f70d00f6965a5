"""An intrinsic: four by four products and sums, by a C function."""

import legato
from legato.script import tir as T


@T.prim_func
def description(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j, k in T.grid(4, 4, 4):
        with T.block("mma"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def implementation(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    T.evaluate(T.call_extern("int32", "mma_4x4", A.access_ptr("r"), B.access_ptr("r"), C.access_ptr("rw")))


legato.register_tensor_intrinsic("mma_4x4", description, implementation)
