"""The targets' options check-bounds and fill-memory: seeded bad indices are errors that name them, seeded reads of fresh memory show."""
import subprocess
import sys
import threading

import numpy as np
import pytest

import legato
from legato import relax as R
from legato import tir as T
from legato.targets.catalog import Catalog

CHECKED = "llvm{check-bounds=true}"
THREADS = "llvm{threads=2 check-bounds=true}"


@T.prim_func
def rows(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (m, 8), "float32")
    for i, j in T.grid(m, 8):
        with T.block("twice"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0      # n may be less than m


@T.prim_func
def parallel_rows(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (4, n), "float32")
    B = T.match_buffer(b, (4, m), "float32")
    for i in T.parallel(4):
        for j in range(m):
            B[i, j] = A[i, j] * 2.0


@T.prim_func
def before(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i - 1]


@T.prim_func
def picked(A: T.Buffer((10,), "float32"), I: T.Buffer((6,), "int64"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        B[i] = A[I[i]]


@T.prim_func
def put(I: T.Buffer((6,), "int64"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        B[i] = 0.0
    for i in range(6):
        B[I[i]] = 1.0


@R.function
def rows_main(x: R.Tensor(("n", 8), "float32"), y: R.Tensor(("m", 8), "float32")):
    doubled = R.call_tir(rows, [x], R.Tensor(("m", 8), "float32"))
    return R.add(doubled, y)


@R.function
def parallel_main(x: R.Tensor((4, "n"), "float32"), y: R.Tensor((4, "m"), "float32")):
    return R.add(R.call_tir(parallel_rows, [x], R.Tensor((4, "m"), "float32")), y)


@R.function
def before_main(x: R.Tensor(("n",), "float32")):
    return R.call_tir(before, [x], R.Tensor(("n",), "float32"))


@R.function
def picked_main(x: R.Tensor((10,), "float32"), i: R.Tensor((6,), "int64")):
    return R.call_tir(picked, [x, i], R.Tensor((6,), "float32"))


@R.function
def put_main(i: R.Tensor((6,), "int64")):
    return R.call_tir(put, [i], R.Tensor((6,), "float32"))


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


PLACES = np.arange(6)
BAD = np.array([0, 1, 2, 3, 10, 5])
CASES = {      # main, target, arguments that fit, arguments that do not, the message
    "vector": (rows_main, CHECKED, (ones(9, 8), ones(9, 8)), (ones(9, 8), ones(12, 8)),
               r"kernel 'rows' \(\"doubled\"\).* of argument 0 'A', memref<\?x8xf32> is out of bounds: index 9 of axis 0"),
    "vector, threads": (rows_main, THREADS, (ones(9, 8), ones(9, 8)), (ones(9, 8), ones(12, 8)), "argument 0 'A'.*index 9 of axis 0"),
    "parallel loop": (parallel_main, THREADS, (ones(4, 9), ones(4, 9)), (ones(4, 9), ones(4, 10)),
                      r"kernel 'parallel_rows'.*: memref.load of argument 0 'A', memref<4x\?xf32> .*index 9 of axis 1, which has 9"),
    "load": (picked_main, CHECKED, (ones(10), PLACES), (ones(10), BAD), r"kernel 'picked'.* of argument 0 'A'.*index 10 of axis 0.* 10 e"),
    "negative": (picked_main, CHECKED, (ones(10), PLACES), (ones(10), -BAD), "argument 0 'A'.*index -1 of axis 0"),
    "store": (put_main, CHECKED, (PLACES,), (BAD,), r"kernel 'put'.*: memref.store of argument 1 'B'.*index 10 of axis 0, which has 6"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_index_is_an_error_of_that_call(name):
    main, target, good, bad, message = CASES[name]
    exe = legato.compile(main, target=target)
    wanted = np.asarray(legato.compile(main)(*good))
    for _ in range(2):      # an error does not stay
        np.testing.assert_array_equal(np.asarray(exe(*good)), wanted)
        with pytest.raises(IndexError, match=message):
            exe(*bad)


def test_the_first_element_has_none_before_it():
    with pytest.raises(IndexError, match=r"kernel 'before'.*index -1 of axis 0, which has 5 elements"):
        legato.compile(before_main, target=CHECKED)(ones(5))


def test_calls_at_the_same_time_never_return_a_wrong_result():
    exe = legato.compile(picked_main, target=CHECKED)
    silent = []

    def call() -> None:
        for _ in range(300):
            try:
                exe(ones(10), BAD)
                silent.append(1)
            except IndexError:
                pass

    callers = [threading.Thread(target=call) for _ in range(3)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert not silent


def test_saved(tmp_path):
    path = legato.compile(rows_main, target=THREADS).save(tmp_path / "rows.legato")
    code = ("import legato, numpy as np, sys\nexe = legato.load(sys.argv[1])\nx = np.ones((9, 8), np.float32)\nexe(x, x)\n"
            "try:\n    exe(x, np.ones((12, 8), np.float32))\nexcept IndexError as error:\n    print(error)")
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert "kernel 'rows'" in done.stdout and "index 9 of axis 0, which has 9 elements" in done.stdout, done.stderr


SHRUNK = """
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<64xf32>, %i: tensor<1xi64>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = call @part(%x, %i, %e) {relax.ops = ["relax.slice cut"]} : (tensor<64xf32>, tensor<1xi64>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @part(%x: tensor<64xf32>, %i: tensor<1xi64>,
                        %out: tensor<8xf32> {bufferization.writable = true, tir.out}) -> tensor<8xf32>
    attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %0 = tensor.extract %i[%c0] : tensor<1xi64>
  %1 = arith.index_cast %0 : i64 to index
  %2 = tensor.extract_slice %x[%1] [8] [1] : tensor<64xf32> to tensor<8xf32>
  %3 = linalg.copy ins(%2 : tensor<8xf32>) outs(%out : tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
"""


def test_a_view_that_ends_too_late():
    exe = legato.compile(legato.Module.parse(SHRUNK), target=CHECKED, from_stage="fused")
    x = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(np.asarray(exe(x, np.array([56]))), x[56:])
    with pytest.raises(IndexError, match=r"kernel 'part' \(relax.slice \"cut\"\).*indices 57 to 64 of axis 0, which has 64 elements"):
        exe(x, np.array([57]))


@T.prim_func
def unwritten(A: T.Buffer((40,), "float32"), B: T.Buffer((40,), "float32")):
    W = T.alloc_buffer((40,), "float32")
    for i in range(40):
        if A[i] > 3.0:
            W[i] = A[i]
    for i in range(40):
        B[i] = W[i] + 1.0


@T.prim_func
def unwritten_integers(A: T.Buffer((40,), "int32"), B: T.Buffer((40,), "int32")):
    W = T.alloc_buffer((40,), "int32")
    for i in range(40):
        if A[i] > 3:
            W[i] = A[i]
    for i in range(40):
        B[i] = W[i]


@pytest.mark.parametrize("kernel, dtype, fresh", [(unwritten, "float32", np.nan), (unwritten_integers, "int32", -0x54545455)])
@pytest.mark.parametrize("target", ["llvm{fill-memory=true}", "llvm{threads=2 fill-memory=true check-bounds=true}"])
def test_what_nobody_wrote_shows(kernel, dtype, fresh, target):
    @R.function
    def main(x: R.Tensor((40,), dtype)):
        return R.call_tir(kernel, [x], R.Tensor((40,), dtype))

    got = np.asarray(legato.compile(main, target=target)(np.arange(40).astype(dtype)))
    np.testing.assert_array_equal(got[:4], np.full(4, fresh, dtype))
    assert np.all(got[4:] >= 4)


def test_options_of_the_environment(monkeypatch):
    monkeypatch.setenv("LEGATO_TARGET_OPTIONS", "check-bounds=true")
    with pytest.raises(IndexError, match="kernel 'picked'"):
        legato.compile(picked_main)(ones(10), BAD)
    assert "tir-check-bounds" not in str(Catalog().resolve("llvm{check-bounds=false}").pipeline())
    monkeypatch.setenv("LEGATO_TARGET_OPTIONS", "check-bound=true")
    with pytest.raises(legato.LegatoError, match=r"LEGATO_TARGET_OPTIONS.*no target has an option 'check-bound'; did you mean 'check-b"):
        legato.compile(picked_main)


def test_a_flag_is_true_or_false():
    with pytest.raises(legato.LegatoError, match="option 'check-bounds' wants true or false, found 'often'"):
        legato.compile(picked_main, target="llvm{check-bounds=often}")
