"""Threads of models: the pool of their own, and OpenMP's runtime where a kernel reduces among threads."""
import ctypes
import gc
import os
import platform
import threading
import time

import numpy as np
import pytest
from models import build, numbers

import legato
from legato.core.errors import LegatoError
from legato.runtime import load, threads
from legato.script import tir as T

PARALLEL = """
func.func @main(%x: memref<64x8xf32> {relax.name = "x"}) -> memref<64x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %y = memref.alloc() : memref<64x8xf32>
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c8) step (%c1, %c1) {
    %v = memref.load %x[%i, %j] : memref<64x8xf32>
    %s = arith.addf %v, %v : f32
    memref.store %s, %y[%i, %j] : memref<64x8xf32>
    scf.reduce
  }
  return %y : memref<64x8xf32>
}"""


REDUCED = """
func.func @main(%x: memref<64xf32> {relax.name = "x"}) -> memref<1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %y = memref.alloc() : memref<1xf32>
  %sum = scf.parallel (%i) = (%c0) to (%c64) step (%c1) init (%zero) -> f32 {
    %v = memref.load %x[%i] : memref<64xf32>
    scf.reduce(%v : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }
  memref.store %sum, %y[%c0] : memref<1xf32>
  return %y : memref<1xf32>
}"""


def own_threads() -> int:
    """The threads of this process, Python's and others."""
    return len(os.listdir("/proc/self/task"))


def several(tmp_path, number):
    """A model of parallel loops, compiled and loaded, and its result for numbers(64, 8)."""
    exe = build(PARALLEL, target=f"llvm{{threads={number}}}")
    return [exe, load(exe.save(tmp_path / "parallel.legato"))]


@pytest.mark.parametrize("number", [2, 3, 17, 400])
def test_parallel_code(tmp_path, number):
    x = numbers(64, 8)
    for exe in several(tmp_path, number):
        assert not exe.signature.openmp and exe.signature.threads == number
        for _ in range(50):
            np.testing.assert_array_equal(exe(x), x * 2)


def test_threads_begin_with_the_first_loop_and_end_with_the_last_instance(tmp_path):
    gc.collect()
    before = own_threads()
    exe = several(tmp_path, 4)[1]
    assert own_threads() == before
    exe(numbers(64, 8))
    assert own_threads() == before + 3
    other = load(tmp_path / "parallel.legato")
    other(numbers(64, 8))
    del exe, other
    gc.collect()
    assert own_threads() == before


def test_callers_at_once(tmp_path):
    """One of them has the pool, the others compute all steps themselves."""
    for exe in several(tmp_path, 3):
        wrong = []

        def work(seed, exe=exe, wrong=wrong):
            x = numbers(64, 8) + seed
            for _ in range(300):
                if not np.array_equal(exe(x), x * 2):
                    wrong.append(seed)

        callers = [threading.Thread(target=work, args=(seed,)) for seed in range(5)]
        [one.start() for one in callers]
        [one.join() for one in callers]
        assert not wrong


def test_instances_that_come_and_go(tmp_path):
    several(tmp_path, 3)
    x, wrong = numbers(64, 8), []

    def work():
        for _ in range(40):
            if not np.array_equal(load(tmp_path / "parallel.legato")(x), x * 2):
                wrong.append(1)

    callers = [threading.Thread(target=work) for _ in range(4)]
    [one.start() for one in callers]
    [one.join() for one in callers]
    assert not wrong


@pytest.mark.filterwarnings("ignore:This process")   # of Python, about forks of processes with threads
def test_a_forked_process_has_threads_of_its_own(tmp_path):
    x = numbers(64, 8)
    for exe in several(tmp_path, 3):
        exe(x)
        child = os.fork()
        if child == 0:
            try:
                right = all(np.array_equal(exe(x), x * 2) for _ in range(20)) and own_threads() == 3
                del exe
                os._exit(0 if right else 1)
            finally:
                os._exit(2)
        end = time.monotonic() + 30
        while (found := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
            time.sleep(0.01)
        assert found == (child, 0)
        np.testing.assert_array_equal(exe(x), x * 2)


def test_signals_reach_the_thread_of_the_caller(tmp_path):
    import signal

    exe = several(tmp_path, 3)[0]
    exe(numbers(64, 8))
    blocked = [int(line.split()[1], 16) for task in os.listdir("/proc/self/task")
               for line in open(f"/proc/self/task/{task}/status") if line.startswith("SigBlk")]
    assert sum(bool(mask >> (signal.SIGINT - 1) & 1) for mask in blocked) >= 2
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & {signal.SIGINT}


@T.prim_func
def nested(A: T.Buffer((6, 40), "float32"), B: T.Buffer((6, 40), "float32")):
    for i in T.parallel(6):
        for j in T.parallel(40):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)


def test_a_loop_in_a_loop():
    exe = legato.compile(nested, target="llvm{threads=3}", cache=False)
    x = numbers(6, 40)
    for _ in range(50):
        np.testing.assert_array_equal(exe(x), x + 1)


@T.prim_func
def plus_one(A: T.Buffer((64, 8000), "float32"), B: T.Buffer((64, 8000), "float32")):
    for i in T.parallel(64):
        for j in range(8000):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)


def test_threads_round_as_the_caller_does():
    """Threads take the floating-point mode of the thread that made them, and callers may change theirs, or be others."""
    upward = 0x400000 if platform.machine() == "aarch64" else 0x800    # C's FE_UPWARD
    exe = legato.compile(plus_one, target="llvm{threads=3}", cache=False)
    x, libm = np.full((64, 8000), 1e-9, "float32"), ctypes.CDLL("libm.so.6")
    assert (exe(x) == 1).all()       # the threads begin
    before = libm.fegetround()
    libm.fesetround(upward)
    try:
        results = [exe(x) for _ in range(40)]
    finally:
        libm.fesetround(before)
    assert all((one == np.nextafter(np.float32(1), np.float32(2))).all() for one in results)
    assert (exe(x) == 1).all()


def test_without_a_runtime_a_reduction_among_threads_is_refused(monkeypatch):
    monkeypatch.setattr(threads, "openmp_runtime", lambda: None)
    with pytest.raises(LegatoError, match="the model runs on several threads and needs an OpenMP runtime"):
        threads.load_openmp("the model")
    with pytest.raises(LegatoError, match="needs an OpenMP runtime, which was not found"):
        build(REDUCED, target="llvm{threads=2}")


@pytest.mark.skipif(threads.openmp_runtime() is None, reason="no OpenMP runtime here")
def test_a_reduction_among_threads_uses_openmp():
    exe = build(REDUCED, target="llvm{threads=2}")
    assert exe.signature.openmp and exe.signature.threads == 2
    x = numbers(64)
    np.testing.assert_allclose(exe(x), [x.astype(np.float64).sum()], rtol=1e-5)
