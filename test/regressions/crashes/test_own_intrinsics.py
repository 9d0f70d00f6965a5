"""Ops of a device's own in kernels of the script language, and C functions that take and return addresses."""
import ctypes
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

import legato
from legato.core.mlir import arith, ext, ir
from legato.dialects import tir
from legato.script import T, parse, print_script
from legato.targets.registry import isolated

SOURCE = """
#include <math.h>
static int log_[64]; static int count;
int *unit_log(void) { return log_; }
void *unit_queue(void) { return &count; }
void unit_dep_pop(int *queue, int from, int to) { log_[2 * *queue] = from; log_[2 * *queue + 1] = to; ++*queue; }
void unit_load(float *to, const float *from, int n, int step) { for (int i = 0; i < n; ++i) to[i] = from[i * step]; }
float unit_scale(const float *a, float by) { return a[0] * by; }
void *unit_context(float by) { static float kept; kept = by; return &kept; }
void unit_apply(void *context, const float *a, float *b, int n) { for (int i = 0; i < n; ++i) b[i] = a[i] * *(float *)context; }
void unit_both(const float *a, float *b, float *c) { for (int i = 0; i < 4; ++i) { b[i] += a[i]; c[i] = 2 * b[i]; } }
"""
F = "float32"
X = np.arange(1, 9, dtype=np.float32)


class Unit(ext.Dialect, name="unit"):
    """What the device has."""


class DepPop(Unit.Operation, name="dep_pop"):
    """Waits for a queue: an effect, without a result."""

    source: ext.Operand[Any]
    target: ext.Operand[Any]


class Load(Unit.Operation, name="load"):
    """Copies every ``step``-th element."""

    to: ext.Operand[Any]
    origin: ext.Operand[Any]
    count: ext.Operand[Any]
    step: ir.IntegerAttr


class Triple(Unit.Operation, name="triple", traits=[ext.Pure]):
    """Three times a number."""

    x: ext.Operand[Any]
    y: ext.Result[Any]


class Queue(Unit.Operation, name="queue"):
    """The address of the device's queue."""

    handle: ext.Result[Any]


class Both(Unit.Operation, name="both"):
    """Has two results, which a kernel cannot take."""

    a: ext.Result[Any]
    b: ext.Result[Any]


@T.prim_func
def pops(A: T.Buffer((8,), F), B: T.Buffer((8,), F)):
    T.unit.dep_pop(3, 2)
    for i in range(8):
        if i % 4 == 0:
            T.evaluate(T.unit.dep_pop(i, T.int32(7)))
        B[i] = T.unit.triple(A[i]) + 1.0


@T.prim_func
def loads(A: T.Buffer((8,), F), B: T.Buffer((4,), F)):
    T.unit.load(B.access_ptr("w"), A, 4, step=2)


def tripled(x):
    return T.unit.triple(x)


@T.prim_func
def in_a_python_function(A: T.Buffer((8,), F), B: T.Buffer((8,), F)):
    for i in T.vectorized(8):
        B[i] = tripled(A[i])


@T.prim_func
def handles(A: T.Buffer((8,), F), B: T.Buffer((8,), F)):
    context = T.call_extern("handle", "unit_context", T.float32(2.5))
    T.call_extern("void", "unit_apply", context, A.data, B.access_ptr("w"), 8)


@T.prim_func
def handle_in_place(A: T.Buffer((8,), F), B: T.Buffer((8,), F)):
    T.evaluate(T.call_extern("void", "unit_apply", T.call_extern("handle", "unit_context", T.float32(0.5)), A, B, 8))


@T.prim_func
def two_outputs(A: T.Buffer((4,), F), B: T.Buffer((4,), F), C: T.Buffer((4,), F)):
    T.call_extern("void", "unit_both", A.access_ptr("r"), B.access_ptr("rw"), C.access_ptr("w"))


KERNELS = [pops, loads, in_a_python_function, handles, handle_in_place, two_outputs]


def dep_pop(op, source, target):
    queue = tir.call_extern("unit_queue", [], [ir.Type.parse("!llvm.ptr")])
    return tir.call_extern("unit_dep_pop", [*queue, source, target])


def load(op, to, origin, count):
    step = arith.ConstantOp(ir.IntegerType.get_signless(32), op.attrs["step"]).result
    return tir.call_extern("unit_load", [to, origin, count, step])


def triple(op, x):
    return arith.addf(x, arith.addf(x, x))


@pytest.fixture
def unit():
    with isolated():
        legato.register_target(legato.Target("unit", parents=("llvm",)))
        legato.lower_intrinsic("unit.dep_pop", target="unit")(dep_pop)
        legato.lower_intrinsic("unit.load", target="unit")(load)
        legato.legalize_intrinsic("unit.triple", target="unit", dtypes=("f32",))(triple)
        yield "unit"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("the device is a C library")
    folder = tmp_path_factory.mktemp("unit")
    (folder / "unit.c").write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(folder / "unit.so"), str(folder / "unit.c")], check=True)
    return ctypes.CDLL(str(folder / "unit.so"), mode=ctypes.RTLD_GLOBAL)


def test_own_ops_run(unit, library):
    library.unit_log.restype = ctypes.POINTER(ctypes.c_int)
    np.testing.assert_array_equal(legato.compile(pops, unit)(X), 3 * X + 1)
    assert list(library.unit_log()[:6]) == [3, 2, 0, 7, 4, 7]
    np.testing.assert_array_equal(legato.compile(loads, unit)(X), X[::2])
    np.testing.assert_array_equal(legato.compile(in_a_python_function, unit)(X), 3 * X)


def test_addresses_of_c_functions(library):
    np.testing.assert_array_equal(legato.compile(handles)(X), 2.5 * X)
    np.testing.assert_array_equal(legato.compile(handle_in_place)(X), 0.5 * X)


def test_what_a_c_function_writes_is_said_by_its_pointers(library):
    a, b = X[:4], np.ones(4, np.float32)
    new_b, c = legato.compile(two_outputs)(a, b)
    np.testing.assert_array_equal(new_b, a + 1)
    np.testing.assert_array_equal(c, 2 * (a + 1))
    np.testing.assert_array_equal(b, np.ones(4, np.float32))  # the caller's array stays as it was


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_they_print_as_they_are_written(kernel):
    text = print_script(kernel.module())
    assert print_script(parse(text)) == text


def test_the_rule_of_the_target_is_named_where_there_is_none():
    with pytest.raises(legato.LegatoError, match=r"unit\.dep_pop.*no rule on llvm -> cpu -> generic"):
        legato.compile(pops)


@pytest.mark.parametrize(("statement", "message"), [
    ("T.unit.dep_po(3, 2)", "the dialect 'unit' has no op 'unit.dep_po'; it has unit.dep_pop, unit.load"),
    ("T.unit.dep_pop(3)", r"takes 2 operands \(source, target\), and 1 are given"),
    ("T.unit.load(B, A, 4)", "T.unit.load wants step=...; its attributes: step"),
    ("T.unit.load(B, A, 4, step=2, pace=1)", "has no attribute 'pace'"),
    ("T.unit.load(B, A, 4, step=A[0])", "the attribute 'step' is a number, a text"),
    ("B[0] = T.unit.queue()", 'T.unit.queue has a result: say its type, dtype="float32"'),
    ("B[0] = T.unit.triple(A)", "has a result: say its type"),
    ("T.unit.both()", "at most one result, unlike a, b"),
    ("T.nobody.dep_pop(3)", "T.nobody.dep_pop is not supported"),
    ('T.unit.dep_pop("text", 2)', "a number is wanted"),
])
def test_misuse_is_told_at_its_line(statement, message):
    text = f'@T.prim_func\ndef k(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):\n    {statement}\n    B[1] = A[1]\n'
    with pytest.raises(legato.LegatoError, match=message) as error:
        parse(text, "kernel.py")
    assert str(error.value).startswith("kernel.py:3:")
