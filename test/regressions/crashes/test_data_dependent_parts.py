"""Parts for backends around sizes that are known only after an op has run: what a backend cannot be given is refused with a reason, and
everything that names such a size stays after the op that finds it."""
import numpy as np
import pytest
from partition_backends import Interpreter
from thoroughly import first_of

import legato
from legato.artifacts import Lowered
from legato.patterns import is_op, wildcard

COUNT, FLOATS = 'tensor<1x?xi64, #relax.dims<[1, "k"]>>', 'tensor<1x?xf32, #relax.dims<[1, "k"]>>'
EXP, TANH, ADD, SUM = (is_op(f"relax.{name}") for name in ("exp", "tanh", "add", "sum"))
COUNTED = is_op("relax.nonzero")(wildcard())
SPREAD = is_op("relax.broadcast_to")(wildcard())
SUM_OF_COUNTED = SUM(is_op("relax.astype")(COUNTED))
X = np.array([1, 0, 2, -800, 0, 0, 5, 1], np.float32)


class ByNumpy(Interpreter):
    name = "mine"

    def __init__(self, *patterns):
        super().__init__()
        self.patterns = [(f"p{number}", pattern) for number, pattern in enumerate(patterns)]


class AsIr(ByNumpy):
    def codegen(self, module, options):
        return Lowered(module)


def given_to(backend, text, *inputs):
    """The model's results with and without the backend, compared; the reasons for what it was not given, and how many groups it got."""
    module = legato.Module.parse(text)
    executable = legato.compile(module, backends=[backend])
    expected = legato.compile(module)(*inputs)
    for found, one in zip(executable(*inputs), expected, strict=True):
        np.testing.assert_allclose(found, one, rtol=1e-6)
    records = executable.explain().partition
    assert all(record.reason is None or record.reason in str(executable.explain()) for record in records)
    return [r.reason for r in records if r.reason], sum(r.function is not None for r in records)


SIMPLE = f"""
func.func @main(%x: tensor<8xf32>) -> ({COUNT}, tensor<8xf32>) {{
  %e = "relax.exp"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %a = "relax.nonzero"(%e) {{size = "k"}} : (tensor<8xf32>) -> {COUNT}
  %c = "relax.add"(%a, %a) : ({COUNT}, {COUNT}) -> {COUNT}
  return %c, %e : {COUNT}, tensor<8xf32>
}}"""


@pytest.mark.parametrize("backend", [ByNumpy, AsIr])
@pytest.mark.parametrize("patterns, taken", [([COUNTED], 0), ([ADD(COUNTED, wildcard())], 0), ([ADD, EXP, COUNTED], 2)],
                         ids=["counted", "added", "around"])
def test_a_size_found_by_a_group_of_which_it_is_the_result(patterns, taken, backend):
    reasons, groups = given_to(backend(*patterns), SIMPLE, X)
    assert groups == taken
    assert any("the size k of its result is known only after relax.nonzero has run" in reason for reason in reasons)


BEHIND = f"""
func.func @main(%x: tensor<8xf32>, %o: tensor<1x1xf32>) -> (tensor<f32>, tensor<8xf32>, tensor<f32>) {{
  %p = "relax.exp"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %a = "relax.nonzero"(%p) {{size = "k"}} : (tensor<8xf32>) -> {COUNT}
  %f = "relax.astype"(%a) {{dtype = f32}} : ({COUNT}) -> {FLOATS}
  %s = "relax.sum"(%f) : ({FLOATS}) -> tensor<f32>
  %b = "relax.broadcast_to"(%o) {{shape = #relax.dims<[1, "k"]>}} : (tensor<1x1xf32>) -> {FLOATS}
  %t = "relax.sum"(%b) : ({FLOATS}) -> tensor<f32>
  %q = "relax.tanh"(%p) : (tensor<8xf32>) -> tensor<8xf32>
  return %s, %q, %t : tensor<f32>, tensor<8xf32>, tensor<f32>
}}"""


@pytest.mark.parametrize("backend", first_of([AsIr, ByNumpy]))
@pytest.mark.parametrize("patterns, refused", [
    ([EXP, TANH], None),    # the merged group, after which the count moves, stands after the broadcast
    ([SUM_OF_COUNTED], "the size k, which relax.nonzero finds, is also used outside, by relax.broadcast_to"),
    ([EXP, TANH, SUM(SPREAD)], "relax.broadcast_to needs the size k, which no dimension of an input or a result of the group gives"),
], ids=["sorted", "used outside", "unknown inside"])
def test_ops_that_name_the_size_stay_behind(patterns, refused, backend):
    reasons, _ = given_to(backend(*patterns), BEHIND, X, np.full((1, 1), 2, np.float32))
    assert refused is None or any(refused in reason for reason in reasons)


def test_a_merge_that_would_hide_the_size():
    _, groups = given_to(AsIr(EXP, TANH, SPREAD, SUM), BEHIND, X, np.full((1, 1), 2, np.float32))
    assert groups == 5


@pytest.mark.parametrize("backend", [ByNumpy, AsIr])
def test_a_size_that_stays_inside(backend):
    text = BEHIND[:BEHIND.index("  %b")] + '  return %s, %p : tensor<f32>, tensor<8xf32>\n}'
    text = text.replace("(tensor<f32>, tensor<8xf32>, tensor<f32>)", "(tensor<f32>, tensor<8xf32>)")
    assert given_to(backend(SUM_OF_COUNTED), text, X, np.ones((1, 1), np.float32)) == ([], 1)


@pytest.mark.parametrize("visibility", ["private", ""])
def test_a_function_marked_by_hand(visibility):
    marked = f"""
func.func @main(%x: tensor<8xf32>) -> {COUNT} {{
  %0 = call @found(%x) : (tensor<8xf32>) -> {COUNT}
  return %0 : {COUNT}
}}
func.func {visibility} @found(%x: tensor<8xf32>) -> {COUNT} attributes {{relax.codegen = "mine"}} {{
  %a = "relax.nonzero"(%x) {{size = "k"}} : (tensor<8xf32>) -> {COUNT}
  return %a : {COUNT}
}}"""
    with pytest.raises(legato.LegatoError, match="@found goes to the backend 'mine' and its results have the size k, which is known only"):
        legato.compile(legato.Module.parse(marked), backends=[ByNumpy(EXP)])


@pytest.mark.parametrize("backend", [ByNumpy, AsIr])
def test_a_size_that_its_tensors_do_not_give(backend):
    """A slice to the lesser of 2 and a size, of a tensor that does not have the size: no dimension of the group tells it."""
    least = 'tensor<?xf32, #relax.dims<["min(2, n)"]>>'
    text = f"""
func.func @main(%x: tensor<2xf32>, %n: tensor<?xf32, #relax.dims<["n"]>>) -> {least} {{
  %a = "relax.strided_slice"(%x) {{begin = #relax.dims<[0]>, end = #relax.dims<["min(2, n)"]>}} : (tensor<2xf32>) -> {least}
  %b = "relax.exp"(%a) : ({least}) -> {least}
  return %b : {least}
}}"""
    reasons, groups = given_to(backend(is_op("relax.strided_slice"), EXP), text, np.ones(2, np.float32), np.ones(5, np.float32))
    assert groups == 0 and any("needs the size n, which no dimension of an input or a result of the group gives" in r for r in reasons)
