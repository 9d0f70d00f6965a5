"""Kernels that nobody has raised before: each is raised or stays loops with a reason, and computes what Python computes of its text."""
import kernels_naive
import numpy as np
import pytest
from loop_kernels import RAISED
from naive_kernels import naive_kernel
from thoroughly import first_of, sampled

import legato
from legato.core.ir_helpers import everything
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of
from legato.driver import lower
from legato.passes.loops.raise_loops import RaiseLoops
from legato.passes.pipeline.base import PassContext
from legato.report import Report
from legato.script import parse

COUNT, COMPILED, MUTANTS = 160, 20, 12


def report_of(module, name):
    report = Report()
    lower(module, last="legalized", report=report)
    return report.details["raise-loops"][name]


@pytest.mark.parametrize("first", first_of(range(0, COUNT, 40)))
def test_random_kernels_are_raised_or_stay_with_a_reason(first):
    reports = {}
    for seed in range(first, first + 40):
        kernel = naive_kernel(seed)
        try:
            reports[seed] = report_of(parse(kernel.text), "naive")
        except legato.LegatoError as error:
            raise AssertionError(f"{kernel.text}\n{error}") from error
    assert all(reports.values())
    assert list(reports.values()).count("raised") > 10


@pytest.mark.parametrize("seed", sampled(range(1000, 1000 + COMPILED), 2))
def test_random_kernels_compute_what_python_does(seed):
    kernel = naive_kernel(seed)
    arrays = [np.random.default_rng(seed).random(shape).astype("f") for shape in kernel.shapes[:-1]]
    want = kernel.expected(*arrays)
    got = legato.compile(parse(kernel.text))(*arrays)
    np.testing.assert_allclose(got[kernel.written], want[kernel.written], rtol=1e-4, atol=1e-5, err_msg=kernel.text)


@pytest.mark.parametrize("kernel", kernels_naive.KERNELS, ids=lambda k: k.__name__)
def test_kernels_that_raising_got_wrong(kernel):
    report, reference, sizes = kernels_naive.KERNELS[kernel]
    assert report in report_of(kernel.module(), kernel.__name__)
    exe = legato.compile(kernel)
    for size in sizes:
        a = np.random.default_rng(size).random(size).astype("f")
        np.testing.assert_allclose(exe(a), reference(a), rtol=1e-5)


def mutate(function, rng):
    """Changes an operand of an op in a kernel, or a number; what is invalid then is left out."""
    operations = [op for op in everything(function) if len(op.operands) or op.name == "arith.constant"]
    op = operations[rng.integers(len(operations))]
    number = op.results[0] if op.name == "arith.constant" else None
    if number is not None and constant_of(number) is not None:
        op.attributes["value"] = ir.IntegerAttr.get(number.type, int(rng.choice((0, 1, 2, 5, -1))) if str(number.type) != "i1" else 1)
    elif number is None:
        values = [v for other in operations for v in other.results] + list(function.regions[0].blocks[0].arguments)
        at = int(rng.integers(len(op.operands)))
        same = [v for v in values if v.type == op.operands[at].type]
        if same:
            op.operands[at] = same[rng.integers(len(same))]
    try:
        return function.verify()
    except ir.MLIRError:
        return False


@pytest.mark.parametrize("kernel", sampled(RAISED, 6), ids=lambda k: k.__name__)
def test_changed_kernels_are_raised_or_stay_with_a_reason(kernel):
    valid = 0
    for seed in range(MUTANTS):
        module = kernel.module()
        with module.context, ir.Location.unknown():
            function = next(f for f in module.functions() if f.name.value == kernel.__name__)
            if not mutate(function.operation, np.random.default_rng(seed)):
                continue
            valid += 1
            text, context = str(module), PassContext()
            try:
                RaiseLoops().run(Module(module.module), context)
                assert module.operation.verify()
            except Exception as error:
                raise AssertionError(text) from error
            assert context.report["raise-loops"][kernel.__name__]
    assert valid
