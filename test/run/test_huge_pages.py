"""Memory of weights and results in huge pages."""
import weakref
from pathlib import Path

import numpy as np
import pytest
from harness import Net

from legato.core.cpu_table import HUGE_PAGE
from legato.core.weight_memory import CHUNK, WeightMemory
from legato.dialects import relax

asked = pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="this kernel has no huge pages for programs")


def is_advised(address: int) -> bool:
    """Whether the kernel was asked for huge pages at an address of this process."""
    is_there = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *others = line.split()
        if not first.endswith(":"):
            begin, end = first.split("-")
            is_there = int(begin, 16) <= address < int(end, 16)
        elif is_there and first == "VmFlags:":
            return "hg" in others
    raise AssertionError("no memory is there")


def test_arrays_lie_one_behind_the_other():
    memory, sizes = WeightMemory(), (1, 63, 64, 65, 0, 1000, HUGE_PAGE + 3, 7, CHUNK + 5, 12)
    arrays = [memory.empty([size, 2], np.dtype(np.int16)) for size in sizes]
    for number, array in enumerate(arrays):
        array[...] = number
    for number, array in enumerate(arrays):
        assert array.shape == (sizes[number], 2) and array.ctypes.data % 64 == 0 and (array == number).all()
    assert arrays[1].ctypes.data - arrays[0].ctypes.data == 64


def test_memory_is_freed_with_its_last_array():
    memory = WeightMemory()
    first, second = (memory.empty([1000], np.dtype(np.float32)) for _ in range(2))
    chunk = first
    while isinstance(chunk.base, np.ndarray):
        chunk = chunk.base
    mapped = weakref.ref(chunk)
    del memory, first, chunk
    assert mapped() is not None
    del second
    assert mapped() is None


@asked
def test_weights():
    assert is_advised(WeightMemory().empty([100], np.dtype(np.float32)).ctypes.data)


@asked
@pytest.mark.parametrize("target", ["llvm", "llvm{threads=2}"])
def test_results(target):
    """Of a product with a matrix that is computed in an arena."""
    net = Net(target)
    with net.building():
        x = net.input((1024, 1024))
        net.output(relax.matmul(x, relax.exp(x)))
    given = np.random.default_rng(1).standard_normal((1024, 1024)).astype(np.float32)
    result = np.asarray(net.executable(given))
    np.testing.assert_allclose(result, given @ np.exp(given), rtol=1e-3, atol=1e-3)
    assert is_advised(result.ctypes.data + HUGE_PAGE // 2)
