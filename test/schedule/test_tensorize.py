"""blockize and tensorize: a tile done by an intrinsic of the device, here a C function that stands for it."""
import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import legato
from legato import Schedule, ScheduleError
from legato.schedule.tensor_primitives import TENSOR_INTRINSICS
from legato.script import tir as T

F = np.float32
SOURCE = """
static int calls;
int stub_calls(void) { return calls; }
int stub_mma(const float *a, const float *b, float *c, long lda, long ldb, long ldc) {
  calls++;
  for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) for (int k = 0; k < 4; k++) c[i * ldc + j] += a[i * lda + k] * b[k * ldb + j];
  return 0;
}
"""


@T.prim_func
def matmul(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def mma_description(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j, k in T.grid(4, 4, 4):
        with T.block("mma"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def mma_of_c(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    T.evaluate(T.call_extern("int32", "stub_mma", A.access_ptr("r"), B.access_ptr("r"), C.access_ptr("rw"), T.int64(A.strides[0]),
                             T.int64(B.strides[0]), T.int64(C.strides[0])))


@T.prim_func
def mma_of_vectors(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i in T.unroll(4):
        for k in T.unroll(4):
            for j in T.vectorized(4):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


legato.register_tensor_intrinsic("stub_mma", mma_description, mma_of_c)
legato.register_tensor_intrinsic("vector_mma", mma_description, mma_of_vectors)


def tiled():
    sch = Schedule(matmul)
    i, j, k = sch.get_loops(sch.get_block("C"))
    (i0, i1), (j0, j1), (k0, k1) = (sch.split(loop, [None, 4]) for loop in (i, j, k))
    sch.reorder(i0, j0, k0, i1, j1, k1)
    return sch, k0, i1


def agrees(sch):
    a, b = np.random.rand(16, 16).astype(F), np.random.rand(16, 16).astype(F)
    np.testing.assert_allclose(legato.compile(sch.module)(a, b), a @ b, rtol=1e-4)


def test_blockize():
    sch, _, i1 = tiled()
    outer = sch.blockize(i1)
    assert outer.name == "C_o" and outer.operation.opview.axes == ["vio", "vjo", "vko"] and outer.operation.opview.extents == [4, 4, 4]
    assert [b.split('"')[1] for b in str(sch).split("name = ")[1:] if b.startswith('"C')] == ["C_init", "C", "C_o"]
    agrees(sch)
    assert str(Schedule(matmul).replay(sch.trace)) == str(sch)


def test_tensorize_by_vectors():
    sch, _, i1 = tiled()
    sch.tensorize(i1, "vector_mma")
    assert str(sch).count("memref.subview") == 3
    agrees(sch)
    other, _, i1 = tiled()
    block = other.blockize(i1)
    assert other.tensorize(block, "vector_mma").name == "C_o"
    assert str(other) == str(sch) == str(Schedule(matmul).replay(other.trace))
    with pytest.raises(ScheduleError, match="block 'C_o' holds no loops that 'vector_mma' could do: blockize makes such a block"):
        other.tensorize(block, "vector_mma")


VIEW = r"'A' by a view of it, of memref.subview: \w+ comes before tensorize"


@pytest.mark.parametrize(("step", "message"), [
    (lambda sch, block, loop: sch.cache_read(block, "A", "local"), VIEW),     # read the view before it was made
    (lambda sch, block, loop: sch.read_at(loop, block, 0, "local"), VIEW),
    (lambda sch, block, loop: sch.reindex(block, ("read", 0)), VIEW),
    (lambda sch, block, loop: sch.cache_write(block, 0, "local"), "'C' is also used by memref.subview, in which its elements are not seen"),
], ids=["cache_read", "read_at", "reindex", "cache_write"])
def test_buffers_that_an_intrinsic_takes_parts_of(step, message):
    sch, k0, i1 = tiled()
    block = sch.tensorize(i1, "vector_mma")
    before = str(sch)
    with pytest.raises(ScheduleError, match=message):
        step(sch, block, k0)
    assert str(sch) == before


@T.prim_func
def read_around(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), D: T.Buffer((16, 16), "float32"),
                E: T.Buffer((16, 16), "float32")):
    C = T.alloc_buffer((16, 16), "float32")
    for i, j in T.grid(16, 16):
        with T.block("start"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, vi]
    for i, j in T.grid(16, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj]
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 16):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = C[vi, vj]


def test_an_intrinsic_writes_between_readers():
    """It writes parts by other names: one copy for both readers gave the second what was before."""
    sch = Schedule(read_around)
    loops = sch.get_loops(sch.get_block("C"))
    (i0, i1), (j0, j1), (k0, k1) = (sch.split(loop, [None, 4]) for loop in loops)
    sch.reorder(i0, j0, k0, i1, j1, k1)
    block = sch.tensorize(i1, "vector_mma")
    first, last = sch.get_block("D"), sch.get_block("E")
    with pytest.raises(ScheduleError, match=f"cache_read: 'C' is written by block '{block.name}' between the blocks 'D' and 'E'"):
        sch.cache_read(first, "C", "global", [last])
    assert [b.name for b in sch.get_consumers(block)] == ["E"] and block.name in [b.name for b in sch.get_producers(last)]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_tensorize_with_a_device_intrinsic(tmp_path):
    (tmp_path / "stub.c").write_text(SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "stub.so", tmp_path / "stub.c"], check=True)
    library = ctypes.CDLL(tmp_path / "stub.so", mode=ctypes.RTLD_GLOBAL)
    sch, k0, i1 = tiled()
    sch.decompose_reduction(sch.tensorize(i1, "stub_mma"), k0)
    assert str(sch).count("call @stub_mma(") == 1
    agrees(sch)
    assert library.stub_calls() == 64


@T.prim_func
def subtracting(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j, k in T.grid(4, 4, 4):
        with T.block("mma"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] - A[vi, vk] * B[vk, vj]


@T.prim_func
def transposed(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j, k in T.grid(4, 4, 4):
        with T.block("mma"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vk, vi] * B[vk, vj]


@pytest.mark.parametrize(("description", "message"), [
    (subtracting, "'other' does .*arith.subf.*; block 'C' does .*arith.addf"), (transposed, "does not compute what 'other' does")])
def test_what_is_not_the_intrinsic_is_refused(description, message, monkeypatch):
    monkeypatch.setitem(TENSOR_INTRINSICS, "other", (description, mma_of_vectors))
    sch, _, i1 = tiled()
    before = str(sch)
    with pytest.raises(ScheduleError, match=message):
        sch.tensorize(i1, "other")
    assert str(sch) == before and str(sch.module).count("func.func private @matmul") == 1


def test_other_sizes_and_names_are_refused(monkeypatch):
    for name in {*TENSOR_INTRINSICS} - {"stub_mma", "vector_mma"}:   # of other tests in this process
        monkeypatch.delitem(TENSOR_INTRINSICS, name)
    sch = Schedule(matmul)
    with pytest.raises(ScheduleError, match=r"'vector_mma' is loops of \[4, 4, 4\] steps; under i are loops of \[16, 16, 16\]"):
        sch.tensorize(sch.get_loops(sch.get_block("C"))[0], "vector_mma")
    with pytest.raises(ScheduleError, match="there is no intrinsic 'mma'; there are: stub_mma, vector_mma"):
        sch.tensorize(sch.get_loops(sch.get_block("C"))[0], "mma")


@T.prim_func
def rows_only(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        C[i, j] = A[i, j]


@T.prim_func
def wider(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        C[i, j] = C[i, j] + A[i, 0] * B[0, j]


@pytest.mark.parametrize("name, description, implementation, message", [
    ("", mma_description, mma_of_c, "the name is a text"),
    ("x", 3, mma_of_c, "the description is a kernel under @T.prim_func, not 3"),
    ("x", mma_description, lambda: None, "the implementation is a kernel under @T.prim_func, not <function"),
    ("x", mma_description, rows_only, r"the parameters of the description are tensor<4x4xf32>, .*; the implementation has tensor<4x4xf32>, "
                                      "tensor<4x4xf32>$"),
    ("x", mma_description, wider, "the implementation has tensor<4x8xf32>, tensor<8x4xf32>, tensor<4x4xf32>$")])
def test_what_no_intrinsic_is_made_of(name, description, implementation, message):
    with pytest.raises(legato.LegatoError, match=f"^register_tensor_intrinsic\\({name!r}, ...\\): .*{message}"):
        legato.register_tensor_intrinsic(name, description, implementation)
    assert "x" not in TENSOR_INTRINSICS
