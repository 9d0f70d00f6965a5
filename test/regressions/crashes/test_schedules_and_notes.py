"""Schedules that pack, attached to kernels; annotations of blocks and loops of any constants."""
import numpy as np
import pytest
from thoroughly import sampled

import legato
from legato import Schedule
from legato.core.ir_helpers import find
from legato.script import R, T, parse, print_script
from legato.script import ir as I

WEIGHT = (np.arange(48 * 40, dtype=np.float32).reshape(48, 40) % 7) - 3
X = np.random.default_rng(0).standard_normal((8, 48)).astype(np.float32)


@I.ir_module
class Model:
    @T.prim_func
    def dense(A: T.Buffer((8, 48), "float32"), W: T.Buffer((48, 40), "float32"), C: T.Buffer((8, 40), "float32")):
        for i, j, k in T.grid(8, 40, 48):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]

    @T.prim_func
    def twice(A: T.Buffer((8, 40), "float32"), B: T.Buffer((8, 40), "float32")):
        for i, j in T.grid(8, 40):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor((8, 48), "float32")):
        w = R.const(WEIGHT)
        a = R.call_tir(Model.dense, (R.nn.relu(x), w), R.Tensor((8, 40), "float32"))
        b = R.call_tir(Model.dense, (x, w), R.Tensor((8, 40), "float32"))
        return R.call_tir(Model.twice, (R.add(a, b),), R.Tensor((8, 40), "float32"))


EXPECTED = 2 * (np.maximum(X, 0) @ WEIGHT + X @ WEIGHT)


def schedule(buffer, tiles, split=False):
    made = Schedule(Model, "dense")
    block = made.get_block("C")
    made.pack(block, buffer, tiles)
    if split:
        *_, k = made.get_loops(block)
        made.split(k, [3, 16])
    return made.trace


@pytest.mark.parametrize("given", [("W", (16, 16)), ("W", (32, 8), True), ("A", (4, 16)), (1, (48, 40))], ids=str)
def test_an_attached_schedule_packs(given):
    module = legato.attach_schedule(Model, "dense", str(schedule(*given)))
    executable = legato.compile(module)
    np.testing.assert_allclose(executable(X), EXPECTED, rtol=1e-4, atol=1e-4)
    saved = legato.lower(module, last="relax")
    np.testing.assert_allclose(legato.compile(saved, from_stage="relax")(X), EXPECTED, rtol=1e-4, atol=1e-4)


def test_a_pack_behind_legalization_is_an_error():
    stage = "legalized"
    trace = str(schedule("W", (16, 16))).replace('name = "C"', 'name = "contract"')    # of the raised kernel
    kernels = [f.name.value for f in legato.lower(Model, last=stage).functions() if f.name.value.startswith("dense")]
    module = legato.attach_schedule(legato.lower(Model, last=stage), kernels[0], trace)
    with pytest.raises(legato.LegatoError, match=r"packs a parameter, .* the module is legalized already"):
        legato.compile(module, from_stage=stage)


def test_a_constant_is_packed_at_compile_time_and_another_schedule_waits():
    other = Schedule(Model, "twice")
    i, _ = other.get_loops(other.get_block("B"))
    other.split(i, [2, 4])
    module = legato.attach_schedule(Model, "dense", str(schedule("W", (16, 16))))
    module = legato.attach_schedule(module, "twice", str(other.trace))
    graph = legato.lower(module, last="relax")
    assert not find(graph.operation, "relax.pad", "relax.permute_dims", "relax.reshape")
    assert str(graph).count("tir.schedule = ") == 1 and str(graph).count("transform.named_sequence @") == 1
    np.testing.assert_allclose(legato.compile(module)(X), EXPECTED, rtol=1e-4, atol=1e-4)
    assert "named_sequence" not in str(legato.lower(module, last="scheduled"))


CONSTANTS = ["[1, 2, 3]", "(1, 2)", '["a", "b"]', "[1.5, 2]", "[[1, 2], [3]]", '{"x": 1, "y": [2, "z"]}', "[]", "[True, False]",
             '[{"n": [1]}]', "None", "[None, 1]", '{"n": None}', '"text"', "3", "2.5", "True"]


@pytest.mark.parametrize("value", sampled(CONSTANTS, 2))
def test_annotations_are_any_constants(value):
    text = f"""
@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    T.func_attr({{"global_symbol": "kernel", "note": {value}}})
    for i in T.serial(8, annotations={{"note": {value}}}):
        with T.block("B"):
            T.block_attr({{"note": {value}, "other": 1}})
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)
"""
    with pytest.warns(UserWarning, match="'note' is dropped"):
        module = parse(text)
    printed = print_script(module)
    assert print_script(parse(printed)) == printed
    assert ('"note"' in printed) == ("None" not in value)
    np.testing.assert_array_equal(legato.compile(module)(np.ones(8, np.float32)), np.full(8, 2, np.float32))


@pytest.mark.parametrize("value", [[1, 2], [1.5], ["a", 1], [[1], [2]], {"a": [1]}, (), True, "x"], ids=str)
def test_annotations_of_a_schedule_print(value):
    made = Schedule(Model, "twice")
    made.annotate(made.get_block("B"), "note", value)
    made.annotate(made.get_loops(made.get_block("B"))[0], "note", value)
    printed = print_script(made.module)
    assert printed.count('"note"') == 2 and print_script(parse(printed)) == printed
