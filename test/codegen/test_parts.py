"""Parts of a model that LLVM compiles side by side: they compute what the whole does, in this process and saved."""
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from thoroughly import first_of, thorough

import legato
from bench import light
from legato import relax as R
from legato import tir as T
from legato.codegen import machine_code, parts
from legato.codegen.jit import jit
from legato.codegen.parts import divided
from legato.core.mlir import ir


@T.prim_func
def printf(a: T.Buffer((1000,), "float32"), b: T.Buffer((1000,), "float32")):
    for i in T.parallel(1000):
        b[i] = T.exp(a[i])


@T.prim_func
def memcpy(a: T.Buffer((1000,), "float32"), b: T.Buffer((1000,), "float32")):
    for i in range(1000):
        b[i] = a[i] * 2.0


@T.prim_func
def picked(a: T.Buffer((1000,), "float32"), n: T.Buffer((5,), "int64"), b: T.Buffer((5,), "float32")):
    for i in range(5):
        b[i] = a[n[i]]


@R.function
def model(x: R.Tensor((1000,), "float32"), n: R.Tensor((5,), "int64")):
    y = R.call_tir(printf, [x], R.Tensor((1000,), "float32"))
    z = R.call_tir(memcpy, [y], R.Tensor((1000,), "float32"))
    w = R.call_tir(picked, [z, n], R.Tensor((5,), "float32"))
    v = R.call_tir(printf, [z], R.Tensor((1000,), "float32"))
    return w, R.nn.softmax(v)


INPUTS = {"x": np.linspace(-1, 1, 1000, dtype=np.float32), "n": np.array([7, 0, 999, 3, 3])}


@pytest.mark.parametrize("target", first_of(["llvm{threads=2 check-bounds=true}", "llvm{threads=2}", "llvm"]))
@pytest.mark.parametrize("ops", [1, 60])
def test_parts_compute_what_the_whole_does(monkeypatch, tmp_path, target, ops):
    lowered = legato.lower(model, target)
    before = str(lowered.module)
    assert not list(divided(lowered.module).kernels)
    with monkeypatch.context() as patch:
        patch.setattr(parts, "PART", ops)
        assert len(list(divided(lowered.module).kernels)) > 1
        assert str(lowered.module) == before
        executable = jit(lowered.module, lowered.weights)
    whole = jit(lowered.module, lowered.weights)
    saved = legato.load(executable.save(tmp_path / "model.legato"))
    right = whole(**INPUTS)
    for one in (executable, saved):
        for found, expected in zip(one(**INPUTS), right, strict=True):
            assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()
    np.testing.assert_allclose(np.asarray(right[0]), 2 * np.exp(INPUTS["x"][INPUTS["n"]]), rtol=1e-5)
    if "check" in target:
        for one in (executable, saved):
            with pytest.raises(IndexError, match="index 1000 of axis 0"):
                one(**INPUTS | {"n": np.array([1, 2, 1000, 3, 4])})
            one(**INPUTS)


@R.function
def counting(x: R.Tensor((1000,), "float32"), n: R.Tensor((5,), "int64")):
    places = R.nonzero(R.greater(R.take(x, n, axis=0), R.const(0.0)), size="m")
    y = R.call_tir(printf, [x], R.Tensor((1000,), "float32"))
    return places, R.call_tir(memcpy, [y], R.Tensor((1000,), "float32")), R.nn.softmax(y)


@pytest.mark.parametrize("graph, target", [
    (model, "llvm{threads=2}"), *thorough([(counting, "llvm"), (counting, "llvm{threads=2 check-bounds=true}")], 2)])
def test_what_records_a_profile_is_compiled_when_it_is_needed(monkeypatch, tmp_path, graph, target):
    """A detector's took a third of LLVM's time."""
    lowered = legato.lower(graph, target)
    assert divided(lowered.module).profiled is None     # it is small
    monkeypatch.setattr(parts, "PART", 1)
    division = divided(lowered.module)
    assert "func internal @legato.main(" in str(division.main) and "@main_profiled" not in str(division.main)
    made = []
    engine = machine_code.Engine

    def counted(module, *args, **options):
        made.append(module)
        return engine(module, *args, **options)

    monkeypatch.setattr(machine_code, "Engine", counted)
    executable = jit(lowered.module, lowered.weights)
    right = executable(**INPUTS)
    before = len(made)
    found = legato.profile(executable, **INPUTS, runs=2)
    assert len(made) == before + 1
    legato.profile(executable, **INPUTS, runs=1)
    saved = legato.load(executable.save(tmp_path / "model.legato"))
    assert len(made) == before + 1      # once, also for what is saved
    assert len(found.calls) == len(legato.profile(saved, **INPUTS, runs=1).calls) >= 3
    assert found.events
    for one in (executable, saved):
        for value, expected in zip(one(**INPUTS), right, strict=True):
            assert np.asarray(value).tobytes() == np.asarray(expected).tobytes()
    other = legato.load(jit(lowered.module, lowered.weights).save(tmp_path / "other.legato"))     # which nobody has profiled before
    assert legato.profile(other, **INPUTS, runs=1).events


def test_kernels_that_call_one_another_stay_together(monkeypatch):
    monkeypatch.setattr(parts, "PART", 1)
    lowered = legato.lower(model, "llvm{threads=2}")
    division = divided(lowered.module)
    kernels = list(division.kernels)
    called = [symbol for _, symbols in kernels for symbol in symbols]
    assert {symbol.split("_")[-1] for symbol in called} == {"legato.kernel.printf", "memcpy", "legato.kernel.picked", "softmax"}
    assert len(kernels) == len(called) == 4        # the body of printf's loop is with printf
    assert "legato.kernel.printf" in str(division.main) and "llvm.func internal @printf" not in str(division.main)
    assert "legato.pool" in division.table_symbols


def test_a_large_model_is_divided_as_it_comes():
    lowered = legato.lower(legato.from_onnx(light.shipped("squeezenet")), "llvm")
    number = len(list(divided(lowered.module).kernels))
    assert 2 <= number <= parts.MOST and number % 2 == 0


def test_half_of_a_part_is_worth_two(monkeypatch):
    """Of one part LLVM would use one processor."""
    lowered = legato.lower(model, "llvm")
    groups = parts._groups(parts._Symbols(lowered.module))
    assert not groups
    monkeypatch.setattr(parts, "PART", 250)
    sizes = parts._Symbols(lowered.module).sizes
    movable = sum(sizes[name] for name in sizes if parts._Symbols(lowered.module).is_movable(name))
    assert 125 <= movable < 500      # less than two parts
    assert len(list(divided(lowered.module).kernels)) == 2


def test_kernels_with_parallel_regions_of_openmp_stay_with_main(monkeypatch):
    """What is left for an OpenMP runtime may name symbols anywhere in it."""
    monkeypatch.setattr(parts, "PART", 1)
    lowered = legato.lower(model, "llvm{threads=2}")
    for op in lowered.module.body.operations:
        if op.operation.name == "llvm.func" and "memcpy" in op.attributes["sym_name"].value:
            with lowered.context, ir.InsertionPoint.at_block_begin(op.regions[0].blocks[0]), ir.Location.unknown():
                ir.Operation.create("omp.barrier")
    division = divided(lowered.module)
    assert not any("memcpy" in symbol for _, symbols in division.kernels for symbol in symbols)
    assert "internal @kernel_memcpy" in str(division.main)


def test_threads_compile_one_module_at_once(monkeypatch):
    """Its context is shared: what works in it keeps Python's lock."""
    monkeypatch.setattr(parts, "PART", 1)
    module = model.module()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: legato.compile(module, "llvm{threads=2}", cache=False)(**INPUTS), range(12)))
    for results in found[1:]:
        for one, expected in zip(results, found[0], strict=True):
            assert np.asarray(one).tobytes() == np.asarray(expected).tobytes()


def test_modules_of_dialects_are_not_searched_for(monkeypatch):
    """The bindings import a dialect's module at the first op of it that they meet, and forget that there is none."""
    searched = []

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if ".dialects." in name:
                searched.append(name)

    legato.lower(model, "llvm{threads=2}")     # imports those there are
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    legato.lower(model, "llvm{threads=2}")
    assert not searched


def layers(count):
    """Products of [3, 8] by as many matrices, which are 1 and 2 in turns."""
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(count)]
    weights = [numpy_helper.from_array(np.eye(8, dtype=np.float32) * (1 + i % 2), f"w{i}") for i in range(count)]
    infos = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 8])] for name in ("x0", f"x{count}")]
    graph = helper.make_graph(nodes, "g", infos[0], infos[1], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_large_main_leaves_what_records_a_profile_also_where_kernels_are_few(monkeypatch):
    """Hundreds of equal layers have one set of kernels; LLVM's time for main and its copy was quadratic in their number."""
    lowered = legato.lower(legato.from_onnx(layers(60)), "llvm")
    symbols = parts._Symbols(lowered.module)
    size = symbols.sizes["main_profiled"]
    assert sum(symbols.sizes[name] for name in symbols.ops if symbols.is_movable(name)) < size
    monkeypatch.setattr(parts, "PART", 2 * size + 2)
    assert divided(lowered.module).profiled is None
    monkeypatch.setattr(parts, "PART", 2 * size)
    assert divided(lowered.module).profiled is not None
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    executable = jit(lowered.module, lowered.weights)
    assert (np.asarray(executable(x)) == x * 2.0 ** 30).all()
    assert len(legato.profile(executable, x, runs=1).events) == 60


def test_what_records_a_profile_leaves_with_the_parts_of_its_blocks(tmp_path):
    """LLVM's time for the copy of main, which has three times its ops, was quadratic in the number of layers."""
    lowered = legato.lower(legato.from_onnx(layers(400)), "llvm")
    division = divided(lowered.module)
    assert division.profiled is not None and "@main_profiled_block_1" in str(lowered.module) and "main_profiled" not in str(division.main)
    x = np.arange(24, dtype=np.float32).reshape(3, 8) * 2.0 ** -100
    executable = jit(lowered.module, lowered.weights)
    executable.save(tmp_path / "layers.legato")
    for model in (executable, legato.load(tmp_path / "layers.legato")):
        assert (np.asarray(model(x)) == x * np.float32(2) ** 100 * np.float32(2) ** 100).all()
        assert len(legato.profile(model, x, runs=1).events) == 400
