"""Native functions: what is compiled computes what Python computes on the same source; what is outside the language is refused."""
import ctypes
import itertools

import native_functions as native
import pytest

from legato.codegen.native.body import symbol_of
from legato.codegen.native.compiler import compile_functions
from legato.codegen.native.language import fields, size_of
from legato.codegen.native.reach import needs_model
from legato.core.errors import LegatoError
from legato.core.mlir import execution_engine, ir
from legato.core.upstream import run_on

NUMBERS = (-9, -4, -1, 0, 1, 2, 3, 7, 64)


def compiled(function):
    """The function as compiled code, callable with ints."""
    with ir.Context(), ir.Location.unknown():
        text = compile_functions([function]).replace("llvm.linkage = #llvm.linkage<internal>", "")
        module = ir.Module.parse(text)
        run_on(module.operation, "func.func(arith-expand),convert-to-llvm,reconcile-unrealized-casts")
        engine = execution_engine.ExecutionEngine(module, opt_level=0)
    address = engine.raw_lookup(symbol_of(function))
    count = function.__code__.co_argcount + needs_model(function)

    def call(*numbers):
        # what the engine finds is a wrapper, which takes the addresses of the operands and of the result
        words = (ctypes.c_int64 * (count + 1))(*numbers)
        pointers = (ctypes.c_void_p * (count + 1))(*(ctypes.addressof(words) + 8 * i for i in range(count + 1)))
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(pointers))
        return words[count]

    setattr(call, "engine", engine)  # noqa: B010
    return call


@pytest.mark.parametrize("function", native.ON_NUMBERS, ids=lambda f: f.__name__)
def test_computes_what_python_computes(function):
    call = compiled(function)
    for numbers in itertools.product(NUMBERS, repeat=function.__code__.co_argcount):
        try:
            expected = function(*numbers)
        except ZeroDivisionError:
            continue
        assert call(*numbers) == expected, numbers


def test_structs_lie_as_c_has_them():
    class Mixed(ctypes.Structure):
        _fields_ = [("small", ctypes.c_int32), ("large", ctypes.c_int64), ("pair", ctypes.c_int64 * 2), ("last", ctypes.c_int32)]

    offsets = {field[0]: getattr(Mixed, field[0]).offset for field in Mixed._fields_}
    assert {name: f.offset for name, f in fields(native.Mixed).items()} == offsets
    assert size_of(native.Mixed) == ctypes.sizeof(Mixed)
    call, rows = compiled(native.sum_of), (Mixed * 3)()
    for i, row in enumerate(rows):
        row.small, row.large, row.last = -i - 1, 10**12 + i, 5
        row.pair[1] = 100
    expected = sum(r.small + r.large + r.pair[1] + r.last for r in rows)
    assert call(ctypes.addressof(rows), 3) == expected
    assert [r.small for r in rows] == [-2, -3, -4]   # each was decremented


def test_texts_are_formatted():
    call, memory = compiled(native.write), ctypes.create_string_buffer(64)
    assert call(ctypes.addressof(memory), 42) == len("100%: 42 is 'even'")
    assert memory.value == b"100%: 42 is 'even'"
    call(ctypes.addressof(memory), -3)
    assert memory.value == b"100%: -3 is 'odd'"


def test_the_model_is_passed_on():
    """Two models' lists, with one code."""
    twice = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda n: 2 * n)
    call, kept = compiled(native.of_its_model), compiled(native.kept_model)
    for large in (100, 200):
        row = (ctypes.c_int64 * 5)(0, large)
        own = {"test.row": ctypes.addressof(row), "test.twice": ctypes.cast(twice, ctypes.c_void_p).value}
        model = (ctypes.c_void_p * len(native.LIST.places))(*map(own.get, native.LIST.places))
        assert call(ctypes.addressof(model), 7) == large + 14
        memory = (ctypes.c_int64 * 1)()
        code = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(kept(ctypes.addressof(model), ctypes.addressof(memory)))
        assert code(ctypes.addressof(memory), 8) == large + 16
    assert call(ctypes.addressof((ctypes.c_void_p * len(native.LIST.places))()), 7) == -1     # a model that has neither


@pytest.mark.parametrize("function, message", [
    (native.unknown_statement, "'raise ValueError' is not in the language"),
    (native.unknown_name, "'missing' is not in the language"),
    (native.unknown_field, "'pair.third' is not in the language"),
    (native.two_types, "'n' chooses between values of two types"),
    (native.behind_return, "'n = 2' is never reached"),
    (native.stack_in_loop, "'stack(Words)' stands in a loop"),
    (native.known_in_a_branch, "'m' is not in the language"),
    (native.breaks, "'break' is not in the language"),
    (native.address_of_what_needs_it, "'code_of(by_a_callee)' needs the model, which no caller by its address gives"),
    (native.two_models, "'use_model(Words(kept[0]))' says again which model it is"),
    (native.no_models_own, "'model_has(n)' names nothing that a model may have"),
], ids=lambda v: getattr(v, "__name__", ""))
def test_refuses_what_is_outside(function, message):
    with pytest.raises(LegatoError) as error:
        compile_functions([function])
    assert f"native_functions.{function.__name__}: {message}" in str(error.value)
