"""Kernels written as naive loops: what they raise to, or why not; raised and unraised they agree with numpy."""
import loop_kernels
import numpy as np
import pytest
from test_kernels import arguments

import legato
from legato.dialects import tir
from legato.driver import lower
from legato.report import Report

UNCOUNTED = ("linalg.fill", "tensor.empty", "tensor.dim")
LIMITS = {("gather_and_sum", "ids"): 50, ("histogram", "A"): 8}  # what is an index has to be one


def inputs_of(exe, kernel):
    arrays = arguments(exe)
    for parameter, array in zip(exe.inputs, arrays):
        if (kernel.__name__, parameter.name) in LIMITS:
            np.abs(array, out=array)
            array %= LIMITS[kernel.__name__, parameter.name]
    return arrays


def as_written(kernel):
    """The module in which the kernel's loops are taken for scheduled ones."""
    module = kernel.module()
    for function in module.functions():
        if "tir.prim_func" in function.attributes:
            with module.context:
                tir.set_state(function, "scheduled")
    return module


def check(kernel, reference):
    exe = legato.compile(kernel)
    arrays = inputs_of(exe, kernel)
    want = reference(*arrays)
    for got in (exe(*arrays), legato.compile(as_written(kernel))(*arrays)):
        for g, w in zip(*((x,) if isinstance(x, np.ndarray) else x for x in (got, want)), strict=True):
            assert g.dtype == w.dtype
            np.testing.assert_allclose(g, w, rtol=2e-3 if g.dtype == np.float16 else 1e-4, atol=1e-5)


def raised(kernel):
    """The report of a kernel, and its structured ops."""
    report = Report()
    module = lower(kernel, last="legalized", report=report)
    body = next(f for f in module.functions() if f.name.value != "main").body.blocks[0]
    names = [op.operation.name for op in body.operations]
    structured = [n for n in names if n.startswith(("linalg.", "tensor.")) and n not in UNCOUNTED]
    return report.details["raise-loops"][kernel.__name__], tuple(structured)


@pytest.mark.parametrize("kernel", loop_kernels.RAISED, ids=lambda k: k.__name__)
def test_it_is_raised(kernel):
    ops, reference = loop_kernels.RAISED[kernel]
    assert raised(kernel) == ("raised", ops)
    check(kernel, reference)


@pytest.mark.parametrize("kernel", loop_kernels.KEPT, ids=lambda k: k.__name__)
def test_it_stays_and_says_why(kernel):
    reason, reference = loop_kernels.KEPT[kernel]
    assert reason in raised(kernel)[0]
    check(kernel, reference)
