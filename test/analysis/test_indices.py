"""The evaluator of index arithmetic against the arithmetic itself, at every point of random programs."""
from random import Random

import numpy as np
import pytest
from index_programs import UndefinedError, compute, make_program
from thoroughly import first_of

from legato.analysis.indices.arithmetic import Evaluator
from legato.analysis.indices.build import build
from legato.analysis.indices.conditions import constraints
from legato.analysis.indices.forms import Forms, in_loops, linear
from legato.analysis.indices.linear import Linear, Quotient, variables
from legato.analysis.indices.points import Points
from legato.analysis.indices.sizes import SizeNumbers, never_negative
from legato.core.ir_helpers import present
from legato.core.mlir import ir
from legato.dialects.loading import make_context
from legato.dialects.relax import dims

SEEDS = first_of(range(6))
PROGRAMS, OPERATIONS = 20, 14
PARAMETERS = (5, 0)
KINDS = ("simple", "any", "narrow")


@pytest.fixture(params=SEEDS)
def programs(request):
    """Random programs; what their values are at all points at which they are defined."""
    rng = Random(request.param)
    with make_context(), ir.Location.unknown():
        found = [make_program(rng, OPERATIONS, from_0=n % 2 == 0, kind=KINDS[n % 3]) for n in range(PROGRAMS)]
        assert all(p.module.operation.verify() for p in found)
        yield found


def known(program, point):
    return point | dict(zip(program.parameters, PARAMETERS))


def defined(program, value):
    """The points at which a value is defined, with the value there."""
    for point in program.points():
        try:
            yield point, compute(value, known(program, point))
        except UndefinedError:
            pass


def of_form(form, at):
    """A form at a point; terms that are values are computed."""
    def term(t):
        return of_form(t.numerator, at) // t.divisor if isinstance(t, Quotient) else compute(t, at)
    return sum(factor * term(t) for t, factor in form.terms.items()) + form.constant


def test_forms_are_what_is_computed(programs):
    seen = 0
    for program in programs:
        for value in program.values:
            for form in (linear(value), in_loops(value)):
                for point, number in defined(program, value):
                    assert of_form(form, known(program, point)) == number, f"{value}\n{program.module}"
                seen += form != Linear({value: 1})
    assert seen > PROGRAMS * OPERATIONS / 2     # most are more than a name for a value


def test_plain_forms_have_values_of_the_ir_only(programs):
    assert not any(isinstance(term, Quotient) for p in programs for v in p.values for term in linear(v).terms)


def test_bounds_hold(programs):
    for program in programs:
        forms = Forms()
        for value in program.values:
            bounds = forms.bounds(forms.form(value))
            numbers = [n for _, n in defined(program, value)]
            if bounds is not None and numbers:
                low, high = map(int, map(str, bounds))
                assert low <= min(numbers) and max(numbers) <= high, f"{value}\n{program.module}"


def test_ranges_are_reached(programs):
    seen = 0
    for program in programs[::2]:
        extents = {v: len(r) for v, r in program.ranges.items()}
        for value in program.values:
            found = in_loops(value).range(extents)
            numbers = [n for _, n in defined(program, value)]
            if found is not None and numbers:
                assert found == (min(numbers), max(numbers)), f"{value}\n{program.module}"
                seen += found[0] != found[1]
    assert seen > 20


def test_points_are_what_is_computed(programs):
    for program in programs:
        parameters = program.parameters
        points = Points([(v, r.start, len(r)) for v, r in program.ranges.items()], lambda v, parameters=parameters: v in parameters)
        order = {tuple(point.values()): n for n, point in enumerate(program.points())}
        for value in program.values:
            sample = points.evaluate(value)
            if sample is None:
                continue
            array = points.flat(sample.array)
            for point, number in defined(program, value):
                at = known(program, point)
                total = int(array[order[tuple(point.values())]]) + sum(f * at[s] for s, f in sample.symbols.items())
                assert total == number, f"{value} at {point.values()}\n{program.module}"


def is_arithmetic(value, parameters):
    """Whether a value is computed from variables by arithmetic on integers of several bits."""
    if isinstance(value.owner, ir.Block):
        return value not in parameters
    return str(value.type) != "i1" and all(is_arithmetic(v, parameters) for v in value.owner.operands)


def test_points_know_all_arithmetic(programs):
    seen = 0
    for program in programs:
        points = Points([(v, r.start, len(r)) for v, r in program.ranges.items()], lambda v: False)
        for value in program.values:
            if is_arithmetic(value, program.parameters):
                assert points.evaluate(value) is not None, f"{value}\n{program.module}"
                seen += 1
    assert seen > PROGRAMS * OPERATIONS / 2


def test_constraints_say_where_a_condition_holds(programs):
    seen = 0
    for program in programs:
        forms = Forms()
        for value in program.values:
            if str(value.type) != "i1":
                continue
            for holds in (True, False):
                found = constraints(value, forms, holds)
                seen += found is not None
                if found is None:
                    continue
                for point, number in defined(program, value):
                    at = known(program, point)
                    assert all(of_form(f, at) >= 0 for f in found) == (bool(number) == holds), f"{value}\n{program.module}"
    assert seen > 5


def test_what_is_built_of_a_form_is_the_same(programs):
    for program in programs:
        for value in list(program.values):
            form = in_loops(value)
            if not all(isinstance(v.type, (ir.IndexType, ir.IntegerType)) and str(v.type) != "i1" for v in variables(form)):
                continue
            with ir.InsertionPoint.at_block_terminator(list(program.ranges)[-1].owner):
                built = build(form)
            for point, number in defined(program, value):
                assert compute(built, known(program, point)) == number, f"{value}\n{program.module}"


@pytest.mark.parametrize("seed", SEEDS)
def test_sizes_are_what_is_computed(seed):
    rng = Random(seed)
    seen = 0
    with make_context(), ir.Location.unknown():
        for number in range(PROGRAMS):
            program = make_program(rng, OPERATIONS, kind=KINDS[number % 2])
            names = dict(zip(program.ranges, "nmk"))
            sizes = Evaluator(SizeNumbers(lambda v, names=names: dims.symbol(names[v]) if v in names else None, by_symbols=True))
            for value in program.values:
                size = sizes.value(value)
                if size is None:
                    continue
                seen += not isinstance(size, int)
                for _ in range(8):
                    point = {v: rng.randint(1, 40) for v in names}
                    try:
                        want = compute(value, point)
                    except UndefinedError:
                        continue
                    got = dims.substitute(size, {names[v]: n for v, n in point.items()})
                    assert got == want, f"{size} for {value} at {list(point.values())}\n{program.module}"
                    assert want >= 0 or not never_negative(size)
    assert seen > 20


def test_a_range_needs_independent_terms():
    i = object()
    half = Linear({Quotient(frozenset({(i, 1)}), 0, 2): 2})
    assert half.range({i: 8}) == (0, 6)
    assert (Linear({i: 1}) - half).range({i: 8}) is None        # 0 to 1, and not -6 to 7


def test_quotients_resolve_where_they_can():
    i, j = object(), object()
    forms = Forms({i: 4, j: 8})
    index = Linear({i: 8, j: 1})
    assert forms.quotient(index, 8) == Linear({i: 1})
    assert forms.quotient(forms.quotient(index, 2), 4) == Linear({i: 1})
    assert forms.bounds(index - forms.quotient(index, 3).times(3)) == (0, 2)
    assert forms.modulo(index, Linear({}, 8)) == Linear({j: 1})
    assert forms.floor_divide(Linear({j: -1}), Linear({}, 8)) == Linear({Quotient(frozenset({(j, -1)}), 0, 8): 1})
    assert Linear({i: 8, j: 12}, 20).divisor() == 4 and Linear({}).divisor() == 0


def test_points_wrap_narrow_integers():
    with make_context(), ir.Location.unknown():
        program = make_program(Random(0), 0, from_0=True)
        (variable, numbers), *_ = program.ranges.items()
        with ir.InsertionPoint.at_block_terminator(variable.owner):
            i8 = ir.IntegerType.get_signless(8)
            narrow = ir.Operation.create("arith.index_cast", [i8], [variable]).results[0]
            hundred = ir.Operation.create("arith.constant", [i8], [], {"value": ir.IntegerAttr.get(i8, 100)}).results[0]
            large = ir.Operation.create("arith.muli", [i8], [narrow, hundred]).results[0]
        assert linear(large).variable == large          # not 100 * i
        points = Points([(variable, 0, len(numbers))], lambda _: False)
        assert list(points.flat(present(points.evaluate(large)).array)) == list((np.arange(len(numbers)) * 100).astype(np.int8))


def test_a_size_that_is_negative_somewhere_is_not_searched_for_a_proof():
    """Memory of many inputs of sizes of their own, which is not bounded by that of one of them."""
    symbols = [dims.symbol(f"n{number}") for number in range(40)]
    total = sum((dims.floor_divide(n * 4 + 63, 64) * 64 for n in symbols), 0)
    never_negative.cache_clear()
    assert not never_negative(symbols[0] * 1024 - total) and never_negative(total)
    assert never_negative.cache_info().misses < 100
