"""Elements of outputs that a kernel does not write are 0, or the caller's in place; kernels that write all are not charged for it."""
import numpy as np
import one_op
import pytest
from cases import CASES

import legato
from legato.core.errors import LegatoError
from legato.core.mlir import ir, tensor
from legato.driver import lower
from legato.kernels import put
from legato.report import Report
from legato.script import ir as I
from legato.script import relax as R
from legato.script import tir as T
from legato.targets.rule import kernel


@T.prim_func
def half(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(4):
        B[i] = A[i]


@T.prim_func
def even(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(4):
        B[i * 2] = A[i]


@T.prim_func
def one(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    B[3] = A[0]


@T.prim_func
def chosen(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        if A[i] > 3.0:
            B[i] = A[i]


@T.prim_func
def inner(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        if i > 1 and i < 7:
            B[i] = A[i]


@T.prim_func
def all_but_last(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n - 1):
        B[i] = A[i]


@T.prim_func
def scattered(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[T.Cast("int32", A[i]) % 4] = A[i]


@T.prim_func
def nothing_for_0_steps(A: T.Buffer(("n", "k"), "float32"), B: T.Buffer(("n",), "float32")):
    n, k = T.int64(), T.int64()
    for i, j in T.grid(n, k):
        B[i] = A[i, j]


@T.prim_func
def diagonal(A: T.Buffer((8,), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in range(8):
        B[i, i] = A[i]


X = np.arange(1, 9, dtype=np.float32)
PARTIAL = {
    half: (X, np.where(np.arange(8) < 4, X, 0)),
    even: (X, np.stack([X[:4], 0 * X[:4]], 1).reshape(-1)),
    one: (X, np.where(np.arange(8) == 3, X[0], 0)),
    chosen: (X, np.where(X > 3, X, 0)),
    inner: (X, np.where((X > 2) & (X < 8), X, 0)),
    all_but_last: (X, np.append(X[:-1], 0)),
    scattered: (X, np.array([8, 5, 6, 7, 0, 0, 0, 0], np.float32)),
    nothing_for_0_steps: (np.zeros((3, 0), np.float32), np.zeros(3, np.float32)),
    diagonal: (X, np.diag(X)),
}


def outputs(function):
    """The outputs that are filled before the kernel runs."""
    report = Report()
    lower(function.module(), last="legalized", report=report)
    return report.details["outputs"]


def dirty():
    """Fills freed memory of a kernel's size with numbers."""
    for _ in range(4):
        np.full(8, 7.5, np.float32)
        np.full((8, 8), 7.5, np.float32)


@pytest.mark.parametrize("partial", PARTIAL, ids=lambda k: k.__name__)
def test_what_is_not_written_is_0(partial):
    given, want = PARTIAL[partial]
    exe = legato.compile(partial)
    assert "outputs that start from zeros" in str(exe.explain())
    for _ in range(3):
        dirty()
        np.testing.assert_array_equal(exe(given), want)


@T.prim_func
def tiles(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, j in T.grid((n + 3) // 4, 4):
        if i * 4 + j < n:
            B[i * 4 + j] = A[i * 4 + j]


@T.prim_func
def joined(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for f in T.parallel(64 * 64):
        B[f // 64, f % 64] = A[f // 64, f % 64]


@T.prim_func
def large_and_joined(A: T.Buffer((4096, 4096), "float32"), B: T.Buffer((4096, 4096), "float32")):
    for f in T.parallel(4096 * 4096):
        with T.sblock("b"):
            vi = T.axis.spatial(4096, f // 4096)
            vj = T.axis.spatial(4096, f % 4096)
            B[vi, vj] = A[vj, vi]


@T.prim_func
def reversed_rows(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        B[7 - i, j] = A[i, j]


@T.prim_func
def concatenated(a: T.handle, b: T.handle, c: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (m,), "float32")
    C = T.match_buffer(c, (n + m,), "float32")
    for i in range(n):
        C[i] = A[i]
    for i in range(m):
        C[n + i] = B[i]


@T.prim_func
def either(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        if A[i] > 3.0:
            B[i] = A[i]
        else:
            B[i] = 1.0


@T.prim_func
def interleaved(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(4):
        B[i * 2] = A[i]
        B[i * 2 + 1] = A[i + 4]


@T.prim_func
def frame(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(6, 6):
        B[i + 1, j + 1] = A[i + 1, j + 1]
    for i in range(8):
        B[i, 0] = 0.0
        B[i, 7] = 0.0
        B[0, i] = 0.0
        B[7, i] = 0.0


@T.prim_func
def threads(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for b in T.thread_binding(8, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            B[b * 32 + t] = A[b * 32 + t]


WHOLE = (tiles, joined, large_and_joined, reversed_rows, concatenated, either, interleaved, frame, threads)


@pytest.mark.parametrize("whole", WHOLE, ids=lambda k: k.__name__)
def test_what_is_written_wholly_is_not_filled(whole):
    assert not outputs(whole)


def test_schedules_keep_kernels_whole():
    sch = legato.Schedule(tiles_of_matmul)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, [None, 8])
    j0, j1 = sch.split(j, [None, 16])
    sch.reorder(i0, j0, k, i1, j1)
    sch.parallel(sch.fuse(i0, j0))
    sch.vectorize(j1)
    sch.decompose_reduction(block, k)
    report = Report()
    lower(sch.module, last="legalized", report=report)
    assert not report.details["outputs"]


@T.prim_func
def tiles_of_matmul(A: T.Buffer((30, 20), "float32"), B: T.Buffer((20, 50), "float32"), C: T.Buffer((30, 50), "float32")):
    for i, j, k in T.grid(30, 50, 20):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@I.ir_module
class Calls:
    @T.prim_func
    def first(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(4):
            B[i] = A[i] * 2.0

    @R.function
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")):
        cls = Calls
        with R.dataflow():
            kept = R.call_tir_inplace(cls.first, (x, y), [1], R.Tensor((8,), "float32"))
            fresh = R.call_tir(cls.first, (x,), R.Tensor((8,), "float32"))
            total = R.add(fresh, y)
            twice = R.add(y, y)
            over = R.call_tir_inplace(cls.first, (x, twice), [1], R.Tensor((8,), "float32"))
            softmax = R.nn.softmax(R.reshape(fresh, (2, 4)), axis=1)
            R.output(kept, total, over, softmax)
        return kept, total, over, softmax


def test_in_place_the_callers_content_stays():
    y = X * 100
    fresh = np.append(X[:4] * 2, np.zeros(4, np.float32))
    rows = np.exp(fresh.reshape(2, 4) - fresh.reshape(2, 4).max(1, keepdims=True))
    want = [np.append(X[:4] * 2, y[4:]), fresh + y, np.append(X[:4] * 2, y[4:] * 2), rows / rows.sum(1, keepdims=True)]
    exe = legato.compile(Calls)
    for _ in range(2):
        for got, right in zip(exe(X, y), want, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-6)
    np.testing.assert_array_equal(y, X * 100)


@R.function
def exponential(x: R.Tensor((8,), "float32")):
    with R.dataflow():
        y = R.exp(x)
        R.output(y)
    return y


def with_rule(rule):
    return legato.compile(exponential.module(), rules=[rule])


def test_a_rule_that_writes_nothing_is_named():
    @kernel("relax.exp")
    def lazy(k, x, out):
        return out

    with pytest.raises(LegatoError, match=r"lazy .*unwritten"):
        with_rule(lazy)


def test_a_rule_that_writes_a_part_starts_from_zeros():
    @kernel("relax.exp")
    def partly(k, x, out):
        piece = tensor.ExtractSliceOp(ir.RankedTensorType.get([4], x.type.element_type), x, [], [], [], [0], [4], [1]).result
        return put(piece, out, [2])

    exe = with_rule(partly)
    dirty()
    np.testing.assert_array_equal(exe(X), [0, 0, 1, 2, 3, 4, 0, 0])


def test_a_rule_may_claim_to_write_all():
    @kernel("relax.exp")
    def claims(k, x, out):
        k.writes_all()
        return put(x, out, [0])

    exe = with_rule(claims)
    assert not exe.explain().outputs
    np.testing.assert_array_equal(exe(X), X)


def symbolic(case):
    """A case with symbols for the sizes that may be symbolic."""
    symbols = {f"n{size}": size for size in case.dynamic}
    names = {size: name for name, size in symbols.items()}
    shapes = [[names.get(size, size) for size in shape] for shape in case.shapes]
    used = {size for shape in shapes for size in shape}
    attrs = {name: [names.get(s, s) for s in value] if name == "shape" else value for name, value in case.attrs.items()}
    return one_op.Case(case.op, case.arrays(), attrs, shapes, {n: s for n, s in symbols.items() if n in used})


def test_no_kernel_of_an_op_is_filled():
    fixed = [one_op.Case(case.op, case.arrays(), case.attrs) for case in CASES]
    free = [symbolic(case) for case in CASES if case.dynamic]
    for chosen in (fixed, free):
        module, _ = one_op.together(chosen)
        report = Report()
        lower(module, last="legalized", from_stage="relax", report=report)
        assert not report.details["outputs"]
