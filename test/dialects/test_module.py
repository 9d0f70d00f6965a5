"""Modules with weights, contexts, locations, element types."""

import gc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

from legato.core import dtypes
from legato.core.errors import LegatoError
from legato.core.locations import describe, model_name
from legato.core.mlir import ext, ir
from legato.core.weights import WeightStore
from legato.dialects import Module, load_dialects, loading, make_context
from legato.dialects.loading import USES, scratch_context

TEXT = """
func.func @main(%x: tensor<2x3xf32> {relax.name = "x"}, %w: tensor<3xf32> {relax.weight = "lifted"}) -> tensor<2x3xf32> {
  %0 = "relax.constant"() {weight = "w"} : () -> tensor<2x3xf32> loc("big")
  %1 = "relax.add"(%x, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
func.func private @declared(tensor<f32>)
module @npu attributes {relax.codegen = "npu"} {
  func.func @part() -> tensor<1xf32> {
    %0 = "relax.constant"() {weight = "inner"} : () -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
}
"""


def module_with_weights():
    weights = WeightStore()
    for key, shape in (("w", (2, 3)), ("inner", (1,)), ("lifted", (3,)), ("unused", (4,))):
        weights.add(key, np.ones(shape, np.float32))
    return Module.parse(TEXT, weights)


def test_functions_constants_and_weights():
    module = module_with_weights()
    assert [f.name.value for f in module.functions()] == ["main", "declared"] and module.function().name.value == "main"
    assert [c.weight for c in module.constants()] == ["w", "inner"]
    assert module.drop_unused_weights() == ["unused"] and set(module.weights) == {"w", "inner", "lifted"}
    with pytest.raises(LegatoError, match=r"no function @f in the module, which has: @main, @declared"):
        module.function("f")


def test_clones_are_independent():
    module = module_with_weights()
    module.operation.attributes["relax.note"] = ir.Attribute.parse("7 : i64", module.context)
    clone = module.clone()
    assert str(clone) == str(module) and clone.context is module.context
    clone.function("declared").operation.erase()
    clone.weights.drop("w")
    assert "declared" in str(module) and "w" in module.weights and np.shares_memory(clone.weights["inner"], module.weights["inner"])
    with module.context, ir.Location.unknown(), ir.InsertionPoint(module.body):
        module.clone()
    assert len(module.functions()) == 2, "a clone ended up at the insertion point"


def test_functions_keep_their_module():
    module = Module.parse("func.func @main() { return }")
    function, (other,) = module.clone().function(), module.clone().functions()
    gc.collect()
    assert function.operation.parent.name == other.operation.parent.name == "builtin.module"


def test_save_and_load(tmp_path):
    module = module_with_weights()
    module.save(tmp_path / "m.mlir")
    loaded = Module.load(tmp_path / "m.mlir")
    assert str(loaded) == str(module) and set(loaded.weights) == set(module.weights)
    assert model_name(loaded.constants()[0]) == "big"


def test_a_missing_or_wrong_weight_is_an_error(tmp_path):
    (tmp_path / "m.mlir").write_text(TEXT)
    with pytest.raises(LegatoError, match=r"relax.constant \"big\": the weight 'w' is missing because there is no .*m.mlir.safetensors"):
        Module.load(tmp_path / "m.mlir")
    weights = WeightStore()
    weights.add("w", np.ones((2, 3), np.float64))
    weights.save(tmp_path / "m.mlir.safetensors")
    with pytest.raises(LegatoError, match=r"the weight 'w' is \[2, 3\] f64, but the constant is tensor<2x3xf32>"):
        Module.load(tmp_path / "m.mlir")


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    for path, why in ((tmp_path / "missing.mlir", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(LegatoError, match=f"cannot read {path}: {why}"):
            Module.load(path)


def test_wrong_text_is_an_error_that_says_where():
    with pytest.raises(LegatoError, match=r"custom op 'rturn' is unknown"):
        Module.parse("func.func @f() { rturn }")
    with pytest.raises(LegatoError, match=r"'relax.exp' op expects 1 operand, has 0"):
        Module.parse('func.func @f() { %0 = "relax.exp"() : () -> tensor<f32> return }')


def test_the_scratch_context_knows_what_dialects_in_python_have(monkeypatch):
    monkeypatch.setattr(loading, "_scratch", loading._Scratch())    # of which no test before has used a part
    context = scratch_context()
    assert scratch_context() is context

    class Scratch(ext.Dialect, name="scratch"):
        pass

    context = scratch_context()
    assert scratch_context() is context
    with ThreadPoolExecutor() as pool:
        assert pool.submit(scratch_context).result() is not context

    class Op(Scratch.Operation, name="op"):
        pass

    assert scratch_context() is not context


def test_the_scratch_context_is_not_kept_for_ever(monkeypatch):
    monkeypatch.setattr(loading, "_scratch", loading._Scratch())
    assert len({id(context) for context in [scratch_context() for _ in range(USES + 1)]}) == 2


def test_loading_dialects_twice_and_from_threads():
    context = make_context()
    assert load_dialects(context) is context and load_dialects(context) is context
    failures = []

    def load():
        try:
            make_context()
            load_dialects(context)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    with context:
        assert load_dialects() is context


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('loc("a")', "a"), ('loc("a"("f.py":1:2))', "a"), ('loc(callsite("callee" at "caller"))', "callee"),
        ('loc(callsite("f.py":1:2 at "caller"))', "caller"), ('loc(fused["f.py":1:2, "b"])', "b"), ('loc("f.py":1:2)', None),
        ("loc(unknown)", None),
    ],
)  # fmt: skip
def test_model_names(text, name):
    module = Module.parse(f"func.func @f() {{ %0 = arith.constant 1 : i32 {text}\n return }}")
    op = module.function("f").entry_block.operations[0]
    assert model_name(op) == model_name(op.location) == model_name(op.result) == name
    assert describe(op) == (f'arith.constant "{name}"' if name else "arith.constant")


DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i1": np.bool_,
    "i8": np.int8,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui64": np.uint64,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "i4": ml_dtypes.int4,
    "ui2": ml_dtypes.uint2,
}


@pytest.mark.parametrize("spelling", DTYPES)
def test_element_types(spelling):
    with make_context(), ir.Location.unknown():
        dtype = np.dtype(DTYPES[spelling])
        assert dtypes.numpy_dtype(ir.Type.parse(spelling)) == dtypes.as_dtype(spelling) == dtypes.as_dtype(dtype.name) == dtype
        assert str(dtypes.mlir_type(dtype)) == dtypes.spelling(dtype.type) == spelling
        values = np.array([[0, 1, 2], [3, 4, 100]]).astype(dtype)
        for array in (
            values,
            values.T,
            values[:1, :1],
            np.full((2, 2), values[1, 1]),
            values[0, 1],
            np.zeros((0, 3), dtype),
            np.zeros(5000).astype(dtype),
        ):
            array = np.asarray(array)
            read = dtypes.array_of(dtypes.dense_attribute(array))
            assert read.dtype == dtype and read.shape == array.shape and read.tobytes() == array.tobytes() and not read.flags.writeable


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2fnuz])
def test_dense_attributes_keep_every_bit(dtype):
    with make_context(), ir.Location.unknown():
        special = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-40, 3.14159, 65504], np.float64).astype(dtype)
        assert dtypes.array_of(dtypes.dense_attribute(special)).tobytes() == special.tobytes()
        many = np.random.default_rng(0).standard_normal(300).astype(dtype)
        assert dtypes.array_of(dtypes.dense_attribute(many)).tobytes() == many.tobytes()


@pytest.mark.parametrize("value", ["f8", "complex64", "float128", object, "si8"])
def test_unsupported_element_types(value):
    with pytest.raises(LegatoError, match=r"is not supported: use one of f16, bf16"):
        dtypes.as_dtype(value)


def test_the_store_and_the_errors_load_no_compiler():
    code = "import sys, legato.core.weights, legato.core.errors; sys.exit(any('mlir' in m for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
