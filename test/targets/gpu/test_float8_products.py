"""Products of floats of 8 bits by matrix instructions: results on the stand-in, which has the fragments of PTX's definition; the PTX."""
import re
import subprocess

import ml_dtypes
import numpy as np
import pytest
import standin
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from product_models import product
from thoroughly import thorough

import legato
from legato.codegen.cubin import find_ptxas
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.schedule import matrix_primitives
from legato.schedule.state import ScheduleError
from legato.script import T
from legato.targets.catalog import Catalog

MMA, WGMMA, COPY = "nvgpu.mma.sync", "nvvm.wgmma.mma_async", "nvgpu.device_async_copy"
TYPES = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


def target(chip, monkeypatch):
    """The target of a chip, which the stand-in is."""
    monkeypatch.setenv("STANDIN_CHIP", chip.strip("sm_a"))
    return f"nvvm{{approx=true chip={chip}}}"


def used(module, on):
    """The instructions that multiply and copy in a module's kernels."""
    lowered = standin.outlined(module, on)
    return [name for name in (MMA, WGMMA, COPY) if find(lowered.operation, name)]


def error(kernel, on, type_, left_turned, right_turned, m, n, k):
    """How far a kernel's results are from numpy's in 64 bits; no two rows of a matrix are in one bank."""
    random, driver = np.random.default_rng(0), standin.driver()
    a = (random.standard_normal((k, m) if left_turned else (m, k)) * 2).astype(type_)
    b = (random.standard_normal((n, k) if right_turned else (k, n)) * 2).astype(type_)
    before = driver.standin_conflicts(), driver.standin_tile_conflicts()
    found = standin.compiled(kernel, on)(a, b)
    assert (driver.standin_conflicts(), driver.standin_tile_conflicts()) == before
    x, y = (array.astype(np.float64) for array in (a, b))
    return np.abs(found - (x.T if left_turned else x) @ (y.T if right_turned else y)).max()


@pytest.mark.parametrize("dtype, left, right, chip, instructions", [
    ("float8_e4m3fn", False, True, "sm_89", [MMA, COPY]),
    ("float8_e5m2", False, True, "sm_90a", [WGMMA]),
    *thorough([("float8_e5m2", True, False, "sm_90a", [MMA]), ("float8_e4m3fn", False, True, "sm_90a", [WGMMA]),
              ("float8_e4m3fn", False, True, "sm_80", [])], names=5)])
def test_products_in_scripts_are_right(dtype, left, right, chip, instructions, monkeypatch):
    """Both operands' rows along the depth, as they are copied, or not, where bytes are exchanged on the way; older chips widen."""
    on = target(chip, monkeypatch)
    kernel = product(dtype, left, right, 72, 136, 272)
    assert used(kernel, on) == instructions
    assert error(kernel, on, TYPES[dtype], left, right, 72, 136, 272) < 1e-4


def quantized(code, m, n, k, turned=False, halves=False, zero=False):
    """A product of a quantized input and a quantized weight, with a scale for each column, a bias and an activation."""
    random, float_ = np.random.default_rng(0), TensorProto.FLOAT16 if halves else TensorProto.FLOAT
    shape = (n, k) if turned else (k, n)
    of_x = ["sx", "zero"] if zero else ["sx"]
    nodes = [helper.make_node("QuantizeLinear", ["x", *of_x], ["xq"], **({} if zero else {"output_dtype": code})),
             helper.make_node("DequantizeLinear", ["xq", *of_x], ["xd"]),
             helper.make_node("DequantizeLinear", ["wq", "sw"], ["wd"], axis=0 if turned else 1),
             helper.make_node("Gemm", ["xd", "wd", "b"], ["h"], transB=int(turned)), helper.make_node("Relu", ["h"], ["y"])]
    weights = [helper.make_tensor("sx", float_, [], [0.02]), helper.make_tensor("sw", float_, [n], np.linspace(0.01, 0.03, n)),
               helper.make_tensor("zero", code, [], [0.0]), helper.make_tensor("b", float_, [n], random.standard_normal(n)),
               helper.make_tensor("wq", code, shape, random.standard_normal(shape).ravel() * 30)]
    graph = helper.make_graph(nodes, "quantized", [helper.make_tensor_value_info("x", float_, [m, k])],
                              [helper.make_tensor_value_info("y", float_, [m, n])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("options, chip, instructions", [
    ({"turned": True}, "sm_89", [MMA, COPY]), ({"m": "n", "zero": True}, "sm_90a", [WGMMA]),
    *thorough([({"halves": True}, "sm_89", [MMA, COPY]), ({"m": 1}, "sm_89", []), ({}, "sm_80", [COPY])], names=3)])
def test_quantized_models_are_right(options, chip, instructions, monkeypatch):
    """The factors are multiplied as they are, and scaled in the launch that multiplies; a row alone, and older chips, widen. Compared with
    ONNX's reference."""
    on = target(chip, monkeypatch)
    model = quantized(TensorProto.FLOAT8E4M3FN, **{"m": 136, "n": 72, "k": 208, **options})
    rows, halves = options.get("m", 136), options.get("halves", False)
    module = legato.from_onnx(model)
    lowered = standin.outlined(module, on)
    assert used(lowered, on) == instructions
    assert len(find(lowered.operation, "gpu.func")) == 2 + (rows == "n")    # and that for one row
    exe = standin.compiled(lowered, on)
    for count in (80, 1) if rows == "n" else (rows,):
        x = np.random.default_rng(1).standard_normal((count, 208)).astype(np.float16 if halves else np.float32)
        wanted, = ReferenceEvaluator(model).run(None, {"x": x})
        found = exe(x)
        assert found.dtype == wanted.dtype
        assert np.abs(found.astype(np.float64) - wanted).max() <= (2e-3 if halves else 1e-6) * np.abs(wanted).max()


def test_products_of_casts_and_batches_are_right(monkeypatch):
    """An attention's products, of which the keys are transposed and the weights cast, by ONNX's reference."""
    on, code = target("sm_89", monkeypatch), TensorProto.FLOAT8E4M3FN
    nodes = [helper.make_node("Cast", [name], [f"{name}8"], to=code) for name in "qkv"]
    nodes += [helper.make_node("Cast", [f"{name}8"], [f"{name}f"], to=TensorProto.FLOAT) for name in "qkv"]
    nodes += [helper.make_node("Transpose", ["kf"], ["kt"], perm=[0, 2, 1]), helper.make_node("MatMul", ["qf", "kt"], ["s"]),
              helper.make_node("Cast", ["s"], ["s8"], to=code), helper.make_node("Cast", ["s8"], ["sf"], to=TensorProto.FLOAT),
              helper.make_node("MatMul", ["sf", "vf"], ["y"])]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 40, 64]) for name in "qkvy"]
    model = helper.make_model(helper.make_graph(nodes, "casts", infos[:3], infos[3:]), opset_imports=[helper.make_opsetid("", 21)],
                              ir_version=10)
    random = np.random.default_rng(0)
    given = {name: random.standard_normal((3, 40, 64)).astype(np.float32) for name in "qkv"}
    wanted, = ReferenceEvaluator(model).run(None, given)
    lowered = standin.outlined(legato.from_onnx(model), on)
    assert len(find(lowered.operation, MMA)) == 8
    found = standin.compiled(lowered, on)(*given.values())
    assert np.abs(found - wanted).max() <= 1e-6 * np.abs(wanted).max()


def test_a_wrong_lane_is_noticed(monkeypatch):
    right = matrix_primitives.fragments
    monkeypatch.setattr(matrix_primitives, "fragments", lambda *given, across, transpose: right(
        *given, across=not across, transpose=transpose))  # pyright: ignore[reportCallIssue]
    kernel, on = product("float8_e4m3fn", False, True), target("sm_89", monkeypatch)
    assert error(kernel, on, ml_dtypes.float8_e4m3fn, False, True, 40, 56, 72) > 0.1


@pytest.mark.parametrize("chip, wanted, registers", [("sm_89", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 136),
                                                     ("sm_90a", "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3", 168)])
def test_the_largest_tiles_suffice(chip, wanted, registers):
    """The instructions, in PTX of a version that has them, and, if NVIDIA's assembler is here, no memory for registers."""
    pytest.importorskip("llvmlite")
    on = f"nvvm{{chip={chip}}}"
    text = ptx(legato.lower(product("float8_e4m3fn", False, True, 2048, 4096, 512), on), Catalog().resolve(on))
    assert text.count(wanted) == (32 if chip == "sm_89" else 4) and (chip == "sm_90a" or ".version 8.4" in text)
    assembler = find_ptxas()
    if assembler is not None:
        command = [assembler, "-v", f"-arch={chip}", "-o", "/dev/null", "/dev/stdin"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0 and "(C" not in done.stderr and " 0 bytes spill stores" in done.stderr, done.stderr
        assert int(re.findall(r"Used (\d+) registers", done.stderr)[0]) <= registers


def test_tiles_with_the_depth_across_their_rows_are_refused():
    sch = legato.Schedule(product("float8_e4m3fn"))
    *_, multiply, _ = sch.tile_product(sch.get_block("C"), [16, 16, 32], unconverted=True)
    with pytest.raises(ScheduleError, match=r"tiles along whose rows the depth is: tile_product\(..., unconverted=True, depth_last=True\)"):
        sch.tensorize(sch.get_loops(multiply)[4], "mma_m16n16k32_e4m3")


@T.prim_func
def through_float8(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float8_e5m2"), C: T.Buffer(("n",), "float16")):
    for i in range(A.shape[0]):
        with T.block("C"):
            vi = T.axis.spatial(A.shape[0], i)
            local = T.alloc_buffer((1,), "float8_e4m3fn")
            local[0] = T.Cast("float8_e4m3fn", A[vi])
            B[vi] = T.Cast("float8_e5m2", A[vi] * T.float32(2))
            C[vi] = T.Cast("float16", T.if_then_else(A[vi] > 0.0, local[0], T.float8_e4m3fn(0.5)))


@pytest.mark.parametrize("on", ["nvvm{approx=true}", "llvm"])
def test_kernels_convert_floats_of_8_bits(on, monkeypatch):
    """By ml_dtypes, on all kinds of numbers."""
    random = np.random.default_rng(0)
    x = np.concatenate([random.standard_normal(100) * 10.0 ** random.integers(-6, 4, 100), [0.0, -0.0, np.inf, -np.inf, np.nan]])
    x = x.astype(np.float32)
    b, c = standin.compiled(through_float8, on)(x) if on.startswith("nvvm") else legato.compile(through_float8, target=on)(x)
    with np.errstate(invalid="ignore", over="ignore"):
        doubled, rounded = (2 * x).astype(ml_dtypes.float8_e5m2), x.astype(ml_dtypes.float8_e4m3fn).astype(np.float16)
    assert b.dtype == ml_dtypes.float8_e5m2
    np.testing.assert_array_equal(b.astype(np.float32), doubled.astype(np.float32))
    np.testing.assert_array_equal(c, np.where(x > 0, rounded, np.float16(0.5)))


def test_kernels_do_not_compute_in_floats_of_8_bits():
    with pytest.raises(legato.LegatoError, match=r'kernels do not compute in float8_e5m2: convert it by T.Cast\("float32", ...\)'):
        @T.prim_func
        def doubled(A: T.Buffer((8,), "float8_e5m2"), B: T.Buffer((8,), "float8_e5m2")):  # pyright: ignore[reportUnusedFunction]
            for i in range(8):
                B[i] = A[i] + A[i]
