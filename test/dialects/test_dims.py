"""Symbolic sizes: normal form, text, bounds, types, and their run-time values."""

from itertools import product

import numpy as np
import pytest

from legato.analysis.indices.sizes import SizeNumbers, never_negative
from legato.core.errors import LegatoError
from legato.core.mlir import ir, passmanager
from legato.dialects import Module, make_context
from legato.dialects.relax import dims
from legato.dialects.relax.dim_bounds import lower_bound
from legato.dialects.relax.dims import UNKNOWN, Dim, parse
from legato.passes.memory.plan_memory.placement import Life, place

CONTEXT = make_context()


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("n", "n"), ("4*n", "n * 4"), ("n + n*2", "n * 3"), ("m + n", "m + n"), ("n - n", "0"), ("(n + 1) * (n - 1)", "n * n - 1"),
        ("7", "7"), ("-(n // 2)", "-(n // 2)"), ("m - n % 4", "m - (n % 4)"),
        ("5 - n", "5 - n"), ("-n", "-n"), ("(n * 4 + 5) // 4", "n + 1"), ("(n * 4 + m) // 4", "n + m // 4"), ("(n * 4 + 5) % 4", "1"),
        ("n // 2 // 3", "n // 6"), ("(n*m + n) // (m + 1)", "n"), ("n * m * 4 // n", "m * 4"), ("(n * m) // (n * 3)", "m // 3"),
        ("n % n", "0"), ("(n // 2 + 1) // 2", "(n + 2) // 4"), ("(n // 2 - 3) // 2", "(n + 2) // 4 - 2"),
        ("(n % 8 * 3 + 1) % 4", "(n * 3 + 1) % 4"),
        ("n + n % 2", "((n + 1) // 2) * 2"), ("n + (7 - n % 7) % 7", "((n + 6) // 7) * 7"), ("n - n % 7 + 3", "(n // 7) * 7 + 3"),
        ("n + 3 - (n + 5) % 4", "((n + 1) // 4) * 4 + 2"), ("n * 3 + n % 4", "((n * 3 + 3) // 4) * 4"), ("n * 2 + n % 4", "n * 2 + n % 4"),
        ("min(n, n + 3)", "n"), ("max(n, 1)", "n"), ("min(1, n)", "1"), ("max(n - 2, 0)", "max(0, n - 2)"), ("min(128, n)", "min(128, n)"),
        ("max(n // 2, 0)", "n // 2"), ("m - (n // 2) * 3", "m - (n // 2) * 3"), ("2 * 3 - -4", "10"), ("-7 // 2", "-4"), ("min(4, 3)", "3"),
    ],
)  # fmt: skip
def test_normal_form(text, normal):
    assert str(parse(text)) == normal
    assert parse(str(parse(text))) == parse(text)


def test_rounding_again_and_again_stays_short():
    size = dims.symbol("n")
    for _ in range(5):      # as layers do that merge patches: a pad to an even size, and every second
        size = (size + size % 2 + 1) // 2
    assert str(size) == "(n + 31) // 32"


def test_equality_and_hash():
    assert parse("n * 4") == parse("4 * n") and hash(parse("n * 4")) == hash(parse("4 * n"))
    assert parse("n") != parse("m") and parse("n") != 4
    assert UNKNOWN == UNKNOWN and UNKNOWN + 1 is UNKNOWN and 3 * UNKNOWN is UNKNOWN and parse("?") is UNKNOWN


@pytest.mark.parametrize(
    ("text", "name"),
    [("batch-size", "batch_size"), ("n", "n"), ("2x", "_2x"), ("a.b/c", "a_b_c"), ("min", "_min"), ("é", "_"), ("", "_")],
)
def test_symbol_names(text, name):
    assert dims.symbol_name(text) == name and parse(name).is_symbol


def test_types():
    with CONTEXT, ir.Location.unknown():
        made = dims.tensor_type([dims.symbol("n") * 4, 3], ir.F32Type.get())
        assert str(made) == 'tensor<?x3xf32, #relax.dims<["n * 4", 3]>>'
        assert dims.dims(made) == (parse("4 * n"), 3) and str(dims.strip(made)) == "tensor<?x3xf32>"
        assert str(dims.tensor_type([UNKNOWN, 3], ir.F32Type.get())) == "tensor<?x3xf32>"
        partly = dims.tensor_type([UNKNOWN, "n"], ir.F32Type.get())
        assert str(partly) == 'tensor<?x?xf32, #relax.dims<["?", "n"]>>' and dims.dims(partly) == (UNKNOWN, parse("n"))
        assert dims.strip(dims.strip(made)) == dims.strip(made)


def constant_value(size, sizes):
    """What `materialize` computes for symbols that are constants, folded by upstream."""
    with CONTEXT, ir.Location.unknown():
        module = Module.parse("func.func @main() -> index { %0 = arith.constant 0 : index\n return %0 : index }", context=CONTEXT)
        block = module.function("main").entry_block
        with ir.InsertionPoint(block.operations[1]):
            table = {name: dims.materialize(value, {}) for name, value in sizes.items()}
            block.operations[len(block.operations) - 1].operands[0] = dims.materialize(size, table)
        passmanager.PassManager.parse("builtin.module(canonicalize)").run(module.operation)
        return module.function("main").entry_block.operations[0].attributes["value"].value


@pytest.mark.parametrize(
    "text",
    ["n", "n * 4 + m", "(n + 3) // 4", "n % 4 - m", "min(n, m) * max(n, 5)", "m - n * 3", "7", "(n - m * 9) // 4", "(n - m * 9) % 4"],
)
def test_materialize(text):
    values = {"n": 10, "m": 3}
    assert constant_value(parse(text), values) == dims.substitute(parse(text), values)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("broadcast(broadcast(n, m), m)", "broadcast(n, m)"), ("broadcast(broadcast(n, m), n)", "broadcast(n, m)"),
        ("broadcast(n, broadcast(m, n))", "broadcast(n, m)"),
        ("broadcast(broadcast(n, m), broadcast(m, k))", "broadcast(broadcast(n, m), k)"),
        ("broadcast(n, broadcast(m, k))", "broadcast(broadcast(n, m), k)"), ("broadcast(broadcast(n, m), 1)", "broadcast(n, m)"),
        ("broadcast(broadcast(n, m - 4), max(m - 4, 0))", "broadcast(n, m - 4)"), ("broadcast(n, m) * 2", "broadcast(n, m) * 2"),
    ],
)
def test_broadcasts_of_the_same_sizes_stay_short(text, normal):
    assert str(parse(text)) == normal


@pytest.mark.parametrize("shape", ["{0}", "broadcast({0}, {1})", "broadcast({1}, {0})"])
def test_broadcast_sizes_are_numpys(shape):
    for names in product("nmk", repeat=3):
        size = parse(f"broadcast({shape.format(names[0], names[1])}, {shape.format(names[2], names[1])})")
        used = dims.symbols(parse(f"{names[0]} + {names[2]}" + (f" + {names[1]}" if "1" in shape else "")))
        for given in product((1, 5), repeat=3):
            values = dict(zip("nmk", given))
            assert dims.substitute(size, values) == np.broadcast_shapes(*((values[name],) for name in used))[0]


def test_materialize_builds_parts_once():
    with CONTEXT, ir.Location.unknown():
        module = Module.parse("func.func @main(%n: index, %m: index) { return }", context=CONTEXT)
        block = module.function("main").entry_block
        table, made = dict(zip("nm", block.arguments)), {}
        for text in ("(n * m + 63) // 64 * 64",
                     "(n * m + 63) // 64 * 64 + n", "max((n * m + 63) // 64, m) * 3", "(n * m + 63) // 64 * 64 * 3 + n"):
            dims.materialize(parse(text), table, ir.InsertionPoint(block.operations[len(block.operations) - 1]), made=made)
        names = [op.name for op in block.operations]
        assert names.count("arith.floordivsi") == 1 and names.count("arith.maxsi") == 1
        assert names.count("arith.constant") == 4       # 63, 64, 3, 192


def test_materialize_from_arguments():
    module = Module.parse(
        'func.func @main(%s: index, %a: tensor<?x4xf32, #relax.dims<["n * 2 + 1", 4]>>, %b: tensor<?xf32, #relax.dims<["n"]>>, '
        '%c: tensor<?xf32, #relax.dims<["m * 3"]>>) { return }',
        context=CONTEXT,
    )
    function = module.function("main")
    assert dims.symbol_table(function) == {"n": (2, 0, 1, 0), "m": (3, 0, 3, 0)}
    with CONTEXT, ir.Location.unknown():
        ip = ir.InsertionPoint(function.entry_block.operations[0])
        assert dims.materialize(parse("n"), function, ip).owner.name == "tensor.dim"
        assert dims.materialize(parse("m"), function, ip).owner.name == "arith.floordivsi"
        with pytest.raises(LegatoError, match=r"symbol 'k' is not a dimension of any argument of @main"):
            dims.materialize(parse("k + 1"), function, ip)
        with pytest.raises(LegatoError, match=r"without a name"):
            dims.materialize(UNKNOWN, function, ip)
        with pytest.raises(LegatoError, match=r"no value for the symbol 'n'; there are values for: m"):
            dims.materialize(Dim((((("n",)), 1),)), {"m": None}, ip)
    assert module.operation.verify()


def test_bounds_by_cases():
    n, m = dims.symbol("n"), dims.symbol("m")
    assert dims.minimum(dims.maximum(n, 4), n) == n and dims.maximum(dims.minimum(n, m), m) == m
    assert dims.minimum(n - dims.minimum(m, 3), n) == n - dims.minimum(m, 3)
    assert lower_bound(dims.maximum(n, m) - dims.minimum(n, m)) == 0
    assert lower_bound(n - n // 8 * 8) == 0 and lower_bound(n // 8 * 8 - n) == -7 and dims.minimum(n, (n + 3) // 4 * 4) == n
    assert lower_bound(n - n // 8 * 9) is None and lower_bound(n // 4 * 8 - n * 2) == -6
    assert lower_bound(dims.maximum(n, 4) - m) is None and lower_bound(dims.minimum(n, 4) - n) is None


def test_symbols_of_0():
    """Inference takes symbols for at least 1; the memory of 2 * n - 1 or 0 elements must suffice for n = 0, too."""
    size = dims.symbol("n") * 2 - 1
    assert dims.maximum(size, 0) == size
    careful = dims.maximum(size, 0, symbols_from=0)
    assert [dims.substitute(careful, {"n": n}) for n in (0, 1, 3)] == [0, 1, 5]
    assert dims.substitute(dims.minimum(size, 0, symbols_from=0), {"n": 0}) == -1
    numbers = SizeNumbers(lambda value: None)
    assert dims.substitute(numbers.maximum(size, 0), {"n": 0}) == 0
    assert numbers.maximum(size + 1, 0) == size + 1
    assert SizeNumbers(lambda value: None, naturals=[size]).maximum(size, 0) == size
    shared = place([Life(dims.symbol("n") * 128, 0, 1), Life(dims.symbol("n") * 64 + 64, 2, 3)]).total    # one slot, of the greater
    assert [dims.substitute(shared, {"n": n}) for n in (0, 1, 2)] == [64, 128, 256]


@pytest.mark.parametrize(
    ("size", "magnitude", "nested"),
    [
        ("n - 4", "n + 4", []), ("min(9223372036854775807, n - 1)", "n + 1", ["n - 1"]), ("min(n, m)", "max(m, n)", ["m", "n"]),
        ("(n + 2) // 64", "(n + 2) // 64 + 1", ["n + 2"]), ("(n + 9) // 65 * 65", "((n + 9) // 65) * 65 + 65", ["n + 9"]),
        ("max(0, (n // 100 + m) // 10240)", "(n // 100 + m + 1) // 10240 + 1", ["n", "m + n // 100"]),
        ("n // m", "n + 1", ["n", "m"]), ("n // (m - 5)", "m + n + 5", ["n", "m - 5"]),
        ("(n * k) // (m * 16)", "(n * k) // 16 + 1", ["k * n", "m * 16"]),
    ],
)  # fmt: skip
def test_magnitudes(size, magnitude, nested):
    """What a size is at most, and all sums that its computation goes through."""
    assert dims.magnitude(parse(size)) == parse(magnitude)
    assert list(dims.nested(parse(size))) == [*(parse(one) for one in nested), parse(size)]


def test_a_refutation_that_divides_by_0_is_none():
    """What would show that a size is negative somewhere may divide by 0 there: no call has such sizes."""
    assert not never_negative(parse("n // (m // 4) - a - b - c - d - e - f - g - h - m - n"))
