"""The OpenMP runtime: found or not, and code that uses it."""
import warnings

import numpy as np
import pytest
from models import build, numbers

from legato.core.errors import LegatoError
from legato.runtime import load, threads

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


def test_without_a_runtime_one_thread_and_one_warning(monkeypatch):
    monkeypatch.setattr(threads, "openmp_runtime", lambda: None)
    threads._warn_once.cache_clear()
    with pytest.warns(UserWarning, match="no OpenMP runtime was found: code for 4 threads is made for one thread"):
        assert threads.usable_threads(4) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert threads.usable_threads(4) == 1 and threads.usable_threads(1) == 1
    with pytest.raises(LegatoError, match="the model runs on several threads and needs an OpenMP runtime"):
        threads.load_openmp("the model")


@pytest.mark.skipif(threads.openmp_runtime() is None, reason="no OpenMP runtime here")
def test_parallel_code(tmp_path):
    assert threads.usable_threads(2) == 2
    exe = build(PARALLEL, target="llvm{threads=2}")
    assert exe.signature.openmp
    x = numbers(64, 8)
    np.testing.assert_array_equal(exe(x), x * 2)
    np.testing.assert_array_equal(load(exe.save(tmp_path / "parallel.legato"))(x), x * 2)
