"""Products of half floats by matrix instructions: results on the stand-in, which has the fragments of PTX's definition, and the PTX."""
import re
import subprocess
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
import standin
import standin_matrices
from onnx import helper, numpy_helper
from product_models import HALF, batched, check, conv, feeds, gemm, matmul, model, product
from thoroughly import pairs

import legato
from legato.codegen.cubin import find_ptxas
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.schedule import matrix_primitives
from legato.schedule.state import ScheduleError
from legato.targets.catalog import Catalog

MMA, LOAD, COPY = "nvgpu.mma.sync", "nvgpu.ldmatrix", "nvgpu.device_async_copy"
NODES = [matmul(37, 45, 70, HALF), matmul(9, 72, 200, HALF), matmul(50, 12, 33, HALF), matmul(20, 40, 1024, HALF, "Relu"),
         *(replace(node, dtype=HALF) for node in (gemm(24, 40, 64, False, False, "Relu"), batched((2, 1), (3,), 20, 24, 40),
                                                  conv(1, 8, (9, 7), 24, 3, 2, 1), conv(1, 16, (5, 5), 20, 1, groups=2),
                                                  conv(1, 32, (9, 7), 48, 3, 2, 1, groups=2)))]
SYMBOLIC = [matmul("n", 40, 56, HALF, "Relu"), matmul("n", "m", "k", HALF)]


def outlined(module, target="nvvm"):
    """A module whose kernels are functions."""
    return legato.lower(module, target, last="outlined")


def count(module, target="nvvm"):
    """How many instructions multiply, in the text of a module's kernels."""
    lowered = outlined(module, target)
    return len(find(lowered.operation, MMA))


def multiplied(module, given, nodes):
    """Runs a model on the stand-in, and checks that instructions on matrices did it, without conflicts of banks."""
    exe, driver = standin.compiled(module), standin.driver()
    before = driver.standin_conflicts(), driver.standin_instructions(1)
    check(nodes, exe(*given.values()), given)
    assert driver.standin_conflicts() == before[0] and driver.standin_instructions(1) > before[1]


def test_products_of_halves_are_right():
    """Matmuls of odd sizes, few rows, few columns, batches and convolutions, each one launch with what reads it."""
    module = legato.from_onnx(model(NODES))
    lowered = outlined(module, standin.TARGET)
    assert sum(bool(find(kernel, MMA)) for kernel in find(lowered.operation, "gpu.func")) == len(NODES)
    multiplied(lowered, feeds(NODES), NODES)


def test_products_of_symbolic_sizes_are_right():
    module = legato.from_onnx(model(SYMBOLIC))
    exe = standin.compiled(module)
    for sizes in ({"n": 33, "m": 18, "k": 50}, {"n": 1, "m": 1, "k": 1}, {"n": 70, "m": 8, "k": 0}):
        given = feeds(SYMBOLIC, **sizes)
        check(SYMBOLIC, exe(*given.values()), given)


def test_floats_are_rounded_only_if_asked_for():
    """Products of f32 of both layouts by tf32: equal to those of rounded numbers, and no instruction without the option."""
    target, error_of = "nvvm{approx=true matmul-precision=tf32}", {}
    for left, right in ((False, True), (True, False)):
        kernel, random = product("float32", left, right), np.random.default_rng(0)
        shapes = (72, 40) if left else (40, 72), (56, 72) if right else (72, 56)
        a, b = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
        found = standin.compiled(kernel, target)(a, b)
        for name, (x, y) in {"rounded": map(nearest, (a, b)), "exact": (a, b)}.items():
            x, y = (array.astype(np.float64) for array in (x, y))
            error_of[name] = np.abs(found - (x.T if left else x) @ (y.T if right else y)).max()
        assert error_of["rounded"] < 1e-5 < 1e-3 < error_of["exact"] < 3e-2
        lowered = outlined(kernel, target)
        assert len(find(lowered.operation, MMA)) == 4 and find(lowered.operation, COPY) and not count(kernel)
    with pytest.raises(legato.LegatoError, match="option 'matmul-precision' wants f32 or tf32, found 'bf16'"):
        outlined(product("float32"), "nvvm{matmul-precision=bf16}")


def nearest(array):
    """The nearest numbers of tf32, which has 10 bits behind the point."""
    mantissa, exponent = np.frexp(array.astype(np.float64))
    return np.ldexp(np.round(mantissa * 2**11), exponent - 11)


def error(kernel, left_turned, right_turned, type_, m=40, n=56, k=72):
    """How far a kernel's results are from numpy's in 64 bits."""
    random = np.random.default_rng(0)
    a = random.standard_normal((k, m) if left_turned else (m, k)).astype(type_)
    b = random.standard_normal((n, k) if right_turned else (k, n)).astype(type_)
    x, y = (array.astype(np.float64) for array in (a, b))
    return np.abs(standin.compiled(kernel)(a, b) - (x.T if left_turned else x) @ (y.T if right_turned else y)).max()


@pytest.mark.parametrize("dtype, left, right", [("bfloat16", False, True), ("float16", True, False)])
def test_transposed_operands_are_loaded_as_they_lie(dtype, left, right):
    """The sums are f32: they differ from those in 64 bits by less than a half has digits."""
    kernel = product(dtype, left, right)
    assert count(kernel) == 4
    assert error(kernel, left, right, ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16) < 1e-5


@pytest.mark.parametrize("sizes, launches", [((49, 256, 1100), 1), ((49, 64, 2048), 2)])
def test_warps_share_a_long_depth(sizes, launches):
    """Of few results: in one launch, where that leaves 32 blocks; each of four warps has tiles of its own, in two stages."""
    kernel = product("float16", False, True, *sizes)
    lowered = outlined(kernel)
    assert len(find(lowered.operation, "gpu.launch_func")) == launches and find(lowered.operation, MMA)
    if launches == 1:
        function, = find(lowered.operation, "gpu.func")
        shapes = [list(a.type.shape) for a in function.regions[0].blocks[0].arguments if "workgroup" in str(a.type)]
        assert shapes == [[2, 4, 16, 40], [2, 4, 32, 40], [4, 16, 32]]
        assert error(kernel, False, True, np.float16, *sizes) < 1e-4


def test_a_wrong_lane_is_noticed(monkeypatch):
    """The stand-in has the fragments from PTX's definition: code that exchanges two matrices gets other results."""
    right = matrix_primitives.fragments
    monkeypatch.setattr(matrix_primitives, "fragments", lambda *given, across, transpose: right(
        *given, across=not across, transpose=transpose))  # pyright: ignore[reportCallIssue]
    assert error(product("float16"), False, False, np.float16) > 0.1


def test_copies_that_are_not_waited_for_are_noticed(monkeypatch):
    monkeypatch.setitem(standin_matrices.REWRITTEN, "nvvm.cp.async.wait.group", lambda op, entry: None)
    with pytest.raises(RuntimeError, match="LAUNCH_FAILED"):     # they come while others read what was there
        error(product("float16", m=48), False, False, np.float16, m=48)
    standin.driver().standin_reset()


def test_steps_copy_ahead():
    """As many stages as shared memory has room for, up to four: 32 rows and columns of 32 and 8 more halves."""
    lowered = outlined(product("float16"))
    kernel, = find(lowered.operation, "gpu.func")
    shapes = [list(a.type.shape) for a in kernel.regions[0].blocks[0].arguments if "workgroup" in str(a.type)]
    assert shapes == [[4, 32, 40], [4, 32, 40]]
    loop, = find(kernel, "scf.for")
    assert len(find(loop, "gpu.barrier")) == 1 and len(find(kernel, COPY)) == 4 * len(find(loop, COPY)) > 0
    assert not count(product("float16"), "nvvm{chip=sm_75}")


def test_the_instructions_suffice(llvmlite):
    """The largest tile: four multiplications for each load of fragments, asynchronous copies of 16 bytes, one barrier in a step, and no
    other access of shared memory; ptxas, if it is installed, needs no memory for registers."""
    text = ptx(legato.lower(legato.from_onnx(model([matmul(2048, 2048, 512, HALF, "Relu")])), "nvvm"), Catalog().resolve("nvvm"))
    assert (text.count("mma.sync.aligned.m16n8k16"), len(re.findall(r"ldmatrix\S*\.x4", text))) == (64, 16)
    assert len(re.findall(r"cp\.async\.cg\.shared\.global \[", text)) == 16 and text.count("bar.sync") == 1
    assert not re.search(r"[ls][dt]\.shared|\.local|ld\.global", text)
    assembled(text, registers=232, shared=37888)
    bf16 = ptx(legato.lower(product("bfloat16"), "nvvm"), Catalog().resolve("nvvm"))
    assert "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" in bf16
    assembled(bf16, registers=96, shared=20480)


def weighted(rows, columns, depth, given="n"):
    """A product of halves by a constant, and its result of random operands, in f64. ``given``: the rows that the model says."""
    random = np.random.default_rng(5)
    x, w = random.standard_normal((rows, depth)).astype(np.float16), (random.standard_normal((depth, columns)) / 8).astype(np.float16)
    module = legato.from_onnx(helper.make_model(
        helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "weighted",
                          [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), [given, depth])],
                          [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(x.dtype), None)],
                          [numpy_helper.from_array(w, "w")]), opset_imports=[helper.make_opsetid("", 19)], ir_version=9))
    return module, x, x.astype(np.float64) @ w.astype(np.float64)


@pytest.mark.parametrize("chip, rows, columns", pairs([80, 90], [1, 40], [57, 60]))
def test_weights_of_any_number_of_columns(chip, rows, columns, monkeypatch):
    """Rows of halves that are no multiple of 16 bytes: the weights are turned, also for the copy engine of warpgroups."""
    monkeypatch.setenv("STANDIN_CHIP", str(chip))
    target = "nvvm{approx=true chip=sm_90a}" if chip == 90 else standin.TARGET
    module, x, right = weighted(rows, columns, 72)
    lowered = outlined(module, target)
    assert any("matmul_turned" in kernel.attributes["sym_name"].value for kernel in find(lowered.operation, "gpu.func"))
    np.testing.assert_allclose(standin.compiled(lowered, target)(x), right, rtol=1e-3, atol=1e-3)


def test_weights_of_an_odd_number_of_columns_are_copied_whole(llvmlite):
    """As of any other number: 16 bytes at once, asynchronously."""
    text, warpgroups = (ptx(legato.lower(weighted(128, 1001, 512, 128)[0], target), Catalog().resolve(target))
                        for target in ("nvvm", "nvvm{chip=sm_90a}"))
    assert "cp.async.cg" in text and "wgmma.mma_async" in warpgroups
    assert not re.search(r"ld\.global|cp\.async\.ca", text + warpgroups)


@pytest.fixture
def llvmlite():
    pytest.importorskip("llvmlite")


def assembled(text, registers, shared):
    """AssertionError where NVIDIA's assembler refuses a text, spills, or needs more; ``shared``: the bytes of shared memory."""
    if (assembler := find_ptxas()) is None:
        return
    done = subprocess.run([assembler, "-v", "-arch=sm_80", "-o", "/dev/null", "/dev/stdin"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr) == [("0", "0")], done.stderr
    used, memory = re.findall(r"Used (\d+) registers, used 1 barriers, (\d+) bytes smem", done.stderr)[0]
    assert int(used) <= registers and int(memory) == shared, done.stderr


def scheduled(kernel, **tiling):
    """A kernel's tiles, and the loop of 16 rows of the product in it."""
    sch = legato.Schedule(kernel)
    init, left, right, multiply, result = sch.tile_product(sch.get_block("C"), [32, 16, 16], **tiling)
    m, n, k = sch.get_loops(multiply)[4:]
    warp, row = sch.split(m, [None, 16])
    return sch, (init, left, right, multiply, result), (warp, row, n, k)


def test_a_user_can_call_the_steps_and_replay_them():
    kernel = product("float16")
    sch, (init, _, _, _, result), (warp, row, _, _) = scheduled(kernel, unconverted=True)
    batch, rows, columns, *_ = sch.get_loops(result)
    for loop, thread in ((rows, "blockIdx.x"), (columns, "blockIdx.y"), (batch, "blockIdx.z"), (warp, "threadIdx.z")):
        sch.bind(loop, thread)
    for block in (init, result):
        m, n = sch.get_loops(block)[-2:]
        z, half, y = sch.split(m, [2, 2, 8])
        j, x, pair = sch.split(n, [2, 4, 2])
        sch.reorder(z, y, x, half, j, pair)
        for loop, thread in ((z, "threadIdx.z"), (y, "threadIdx.y"), (x, "threadIdx.x")):
            sch.bind(loop, thread)
        for loop in (half, j, pair):
            sch.unroll(loop)
    sch.tensorize(row, "mma_m16n16k16_f16")
    again = legato.Schedule(kernel).replay(str(sch.trace))
    assert str(again) == str(sch) and "mma_m16n16k16_f16" in str(sch.trace)
    assert count(sch.module) == 2
    assert error(sch.module, False, False, np.float16) < 1e-5


def test_rows_that_storage_align_has_set_apart():
    """tensorize spaces the rows of its tiles itself."""
    sch, (_, left, *_), (_, row, _, _) = scheduled(product("float16"), unconverted=True)
    sch.storage_align(left, 0, -2, 64, 1)
    sch.tensorize(row, "mma_m16n16k16_f16")
    assert "align = array" not in str(sch) and "A_shared" in str(sch)


@pytest.mark.parametrize("dtype, intrinsic, tiling, reason", [
    ("float16", "mma_m16n16k16_f16", {}, r"this buffer is 'A_shared' of f32 in scope 'shared'|does not compute what"),
    ("float16", "mma_m16n16k16_bf16", {"unconverted": True},
     "multiplies buffers of bf16 in scope 'shared' .* this buffer is 'A_shared' of f16"),
])
def test_what_no_instruction_computes_is_refused(dtype, intrinsic, tiling, reason):
    sch, _, (_, row, n, _) = scheduled(product(dtype), **tiling)
    before = str(sch)
    with pytest.raises(ScheduleError, match=reason):
        sch.tensorize(row, intrinsic)
    with pytest.raises(ScheduleError, match=r"nested loops of \[16, 16, 16\] steps around one block; under .* are loops of \[16, 16\]"):
        sch.tensorize(n, intrinsic)
    assert str(sch) == before
