"""Einsum of letters that one input repeats, compiled, beside numpy: of sizes that are known and that only a call knows."""
import numpy as np
import pytest
from onnx import helper
from onnx_check import model, value
from thoroughly import first_of

import legato

SIZES = {"i": 3, "j": 2, "k": 4}


@pytest.mark.parametrize("symbolic", first_of([True, False]))
@pytest.mark.parametrize("equation", ["ii->", "ii", "ii->i", "iii->i", "iii", "iiii->i", "iiij->ij", "jiijj->ij", "...ii->...i",
                                      "iij,ij->j", "iii,ijj->ij"])  # fmt: skip
def test_diagonals(equation, symbolic):
    terms = [term.replace("...", "jk") for term in equation.partition("->")[0].split(",")]
    arrays = [np.random.default_rng(0).standard_normal([SIZES[letter] for letter in term]).astype(np.float32) for term in terms]
    inputs = [value(f"x{n}", array, list(term) if symbolic else None) for n, (term, array) in enumerate(zip(terms, arrays, strict=True))]
    names = [one.name for one in inputs]
    exe = legato.compile(legato.from_onnx(model([helper.make_node("Einsum", names, ["y"], equation=equation)], inputs, ["y"])))
    np.testing.assert_allclose(exe(*arrays), np.einsum(equation, *arrays), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("equation", ["i,j->ji", "ij,jk->kij", "...i,...j->j...i", "ij,k,ik->jki", "i,->i"])
def test_products_without_a_sum_are_elementwise(equation, symbolic):
    letters = [term.replace("...", "k") for term in equation.partition("->")[0].split(",")]
    arrays = [np.random.default_rng(0).standard_normal([SIZES[letter] for letter in term]).astype(np.float32) for term in letters]
    inputs = [value(f"x{n}", array, list(term) if symbolic else None) for n, (term, array) in enumerate(zip(letters, arrays, strict=True))]
    module = legato.from_onnx(model([helper.make_node("Einsum", [one.name for one in inputs], ["y"], equation=equation)], inputs, ["y"]))
    assert "relax.matmul" not in str(module)
    np.testing.assert_allclose(legato.compile(module)(*arrays), np.einsum(equation, *arrays), rtol=1e-6)


def test_a_diagonal_of_two_sizes_is_refused():
    x = np.zeros((3, 4), np.float32)
    diagonal = helper.make_node("Einsum", ["x"], ["y"], equation="ii->i")
    exe = legato.compile(legato.from_onnx(model([diagonal], [value("x", x, ["a", "b"])], ["y"])))
    assert exe(np.eye(3, dtype=np.float32)).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="cannot run on these sizes"):
        exe(x)
    with pytest.raises(legato.LegatoError, match="axes 0 and 1, of one letter, to have equal sizes, found 3 and 4"):
        legato.from_onnx(model([diagonal], [value("x", x)], ["y"]))


@pytest.mark.parametrize("equation, text", [("ij->ik", "has 'k', which no input has"), ("ij->ii", "has 'i' more than once"),
                                            ("ij->i.j", "has a dot"), ("...j->......j", "has a dot")])  # fmt: skip
def test_outputs_of_letters_that_no_input_has_are_refused(equation, text):
    node = helper.make_node("Einsum", ["x"], ["y"], equation=equation)
    with pytest.raises(legato.LegatoError, match=text):
        legato.from_onnx(model([node], [value("x", np.zeros((3, 4), np.float32))], ["y"]))


def test_what_is_beside_a_diagonal_does_not_go_into_it():
    x = np.where(np.eye(4), -0.0, np.nan).astype(np.float32)
    exe = legato.compile(legato.from_onnx(model([helper.make_node("Einsum", ["x"], ["y"], equation="ii->i")], [value("x", x)], ["y"])))
    assert exe(x).tolist() == [0, 0, 0, 0]
