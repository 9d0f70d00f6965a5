"""Integers that are infinite as f16, compared: of one with few significant bits, the cast was dropped, and it stayed finite."""
import numpy as np
import pytest

import legato
from legato import tir as T
from legato.core import cpu
from legato.targets.cpu.machine import LEVELS

CPUS = ["host", *(level for level in LEVELS if not cpu.missing_features(level, ""))]


@T.prim_func
def of_unsigned(a: T.Buffer((64,), "uint64"), b: T.Buffer((64,), "uint64"), same: T.Buffer((64,), "bool")):
    for i in range(64):
        same[i] = T.cast((a[i] % T.uint64(2)) << T.uint64(55), "float16") == T.cast(b[i], "float16")


@T.prim_func
def of_signed(a: T.Buffer((64,), "int32"), b: T.Buffer((64,), "int32"), same: T.Buffer((64,), "bool")):
    for i in range(64):
        same[i] = T.cast((a[i] & 1) * -(1 << 20), "float16") == T.cast(b[i], "float16")


@pytest.mark.parametrize("level", CPUS)
@pytest.mark.parametrize(("kernel", "step", "dtype", "others"), [
    (of_unsigned, 1 << 55, np.uint64, (0, 1 << 60, 65519, 65520, (1 << 64) - 1)),
    (of_signed, -(1 << 20), np.int32, (0, -(1 << 25), -65519, -65520, 1 << 30))])
def test_infinities_are_equal(kernel, step, dtype, others, level):
    a, b = np.arange(64).astype(dtype), np.resize(np.array(others, dtype), 64)
    with np.errstate(over="ignore"):
        expected = ((a & 1) * dtype(step)).astype(np.float16) == b.astype(np.float16)
    np.testing.assert_array_equal(np.from_dlpack(legato.compile(kernel, f"llvm{{cpu={level}}}")(a, b)), expected)
