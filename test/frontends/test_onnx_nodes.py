"""ONNX's own tests of single nodes: each computes what it should, or is refused, as onnx_node_passes.txt says (node_suite.py).

All cases are imported here, in the way that the list says, and those that take tensors run by the dialect's numpy semantics, with a symbol
for every size; one of eighty is compiled. ``make node-suite`` compiles all.
"""
import numpy as np
import pytest
from interpret import interpret
from node_suite import DRAWN, PAGE, REFUSED, WAYS, difference, lengths, listed, load, page, part, reason_of, run, with_constants
from onnx_check import imported, symbols_for
from thoroughly import first_of

from legato import LegatoError, UnsupportedError

PARTS = 160
REGENERATE = "make node-suite WRITE=--write writes the list anew"


@pytest.fixture(scope="module")
def cases():
    return load()


@pytest.fixture(scope="module")
def known():
    return listed()


def test_every_case_is_listed(cases, known):
    assert sorted(known) == sorted(cases), REGENERATE
    assert PAGE.read_text() == page(cases, known), REGENERATE


def test_imports(cases, known):
    """Each case is imported in its way, and refused in those before it, at the import or at the call."""
    found = []
    for name, one in known.items():
        ways = list(WAYS) if one.way == REFUSED else ["run-time" if one.way == DRAWN else one.way]
        for way in ways:
            proto, given = with_constants(cases[name], way)
            try:
                imported(proto, shapes=lengths(given))
            except UnsupportedError as error:
                if one.way in (way, DRAWN):
                    found.append(f"{name} is no longer imported ({way}): {reason_of(error)}")
                continue
            except LegatoError as error:
                found.append(f"{name} ({way}): {error}")
                continue
            if one.way == REFUSED and not one.reason.startswith("at the call: "):
                found.append(f"{name} is imported now ({way}): {REGENERATE}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("number", first_of([0, PARTS // 2]))
def test_a_part_compiled(number, cases, known):
    wrong = [f"{name}: {one.way} {one.reason}" for name, one in run(part(cases, number, PARTS)) if one.way != known[name].way]
    assert not wrong, "not as the list says:\n" + "\n".join(wrong)


@pytest.mark.thorough
def test_with_symbols(cases, known):
    """With a symbol for every size the result is the same, where the node can be imported at all; by the dialect's numpy semantics."""
    wrong, count, total = [], 0, 0
    for name, one in known.items():
        case = cases[name]
        if one.way in (REFUSED, DRAWN) or not all(isinstance(array, np.ndarray) for array in (*case.inputs, *case.outputs)):
            continue
        total += 1
        proto, given = with_constants(case, one.way)
        try:
            module = imported(proto, shapes=symbols_for(given))
            if any(op.operation.name.startswith("scf.") for op in module.function().entry_block.operations):
                continue
            ours = interpret(module, list(given.values()))
        except LegatoError:
            continue
        count += 1
        if (problem := difference(case, ours)) is not None:
            wrong.append(f"{name} {one.way}: {problem}")
    assert not wrong, "\n".join(wrong)
    assert count > 0.8 * total      # others have branches or loops, which are not interpreted, or need numbers
