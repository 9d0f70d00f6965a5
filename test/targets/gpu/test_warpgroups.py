"""Products by Hopper's warpgroups, whose operands the copy engine brings: results on the stand-in, which has mbarriers, tensor maps, the
layout of tiles and the fragments of PTX's definition; faults that it notices; and the PTX."""
import re
from dataclasses import replace

import ml_dtypes
import numpy as np
import onnx
import pytest
import standin
from assembled_warpgroups import check_assembly
from product_models import FLOAT, HALF, batched, check, feeds, gemm, matmul, model, product
from thoroughly import first_of

import legato
from legato.codegen.jit import jit
from legato.core.ir_helpers import find
from legato.core.mlir import arith, ir
from legato.dialects.module import Module
from legato.driver import ptx
from legato.passes.gpu import tile_loop
from legato.schedule.state import ScheduleError
from legato.script import T
from legato.targets.catalog import Catalog

TARGET = "nvvm{approx=true chip=sm_90a}"
MULTIPLY, COPY, WAIT = "nvvm.wgmma.mma_async", "nvvm.cp.async.bulk.tensor.shared.cluster.global", "nvvm.mbarrier.try_wait.parity"
TILE = [64, 64, 64]
KINDS = {"bfloat16": (ml_dtypes.bfloat16, "wgmma_m64k16_bf16", 3e-5), "float16": (np.float16, "wgmma_m64k16_f16", 3e-5),
         "float32": (np.float32, "wgmma_m64k8_tf32", 3e-2)}     # the last rounds factors to 11 bits


@pytest.fixture(autouse=True)
def hopper(monkeypatch):
    monkeypatch.setenv("STANDIN_CHIP", "90")


def outlined(module, target=TARGET):
    """A module whose kernels are functions."""
    return legato.lower(module, target, last="outlined")


def test_products_of_halves_are_right():
    """Odd rows and columns, steps of depth beyond the end, a bias, a batch, rows of unknown number: all by warpgroups, and no two rows of
    a matrix in the same bank. Launches are kept as graphs, whose tensor maps change with the arguments' addresses."""
    nodes = [matmul("n", 136, 200, HALF, "Relu"), replace(gemm(130, 72, 96, False, False), dtype=HALF), batched((3,), (3,), 64, 72, 136)]
    nodes[2] = replace(nodes[2], dtype=HALF)
    exe, driver = standin.compiled(legato.from_onnx(model(nodes)), TARGET.replace("}", " graphs=true}")), standin.driver()
    before = driver.standin_tile_conflicts(), driver.standin_products()
    counts = []
    for rows in (70, 2, 70):
        given = feeds(nodes, n=rows)
        check(nodes, exe(*given.values()), given)
        counts.append(driver.standin_products() - before[1] - sum(counts))
    others = 3 * 2 * 2 * 4 + 3 * 2 * 3 * 4      # blocks x steps of 64 x products of 16
    long, short = 2 * 3 * 4 * 4 + others, 3 * 4 * 4 + others
    assert counts == [long, short, long] and driver.standin_tile_conflicts() == before[0]


def exact(node, **sizes):
    """Inputs of a product that tf32 holds exactly."""
    return {name: array.astype(np.float16).astype(np.float32) for name, array in feeds([node], **sizes).items()}


def test_operands_of_floats_are_turned_by_a_launch_before():
    """Where the columns are along the rows of the right operand, and many rows share it; few rows are multiplied by warps."""
    target = TARGET.replace("}", " matmul-precision=tf32}")
    for node, turned in ((matmul(520, 136, 200, then="Relu"), True), (batched((2,), (2,), 516, 72, 136), True),
                         (matmul(72, 128, 96), False)):
        module = legato.from_onnx(model([node]))
        lowered, given = outlined(module, target), exact(node)
        kernels = find(lowered.operation, "gpu.func")
        assert len(kernels) == 1 + turned and sum(bool(find(one, MULTIPLY)) for one in kernels) == turned
        check([node], standin.compiled(module, target)(*given.values()), given)


def test_weights_of_floats_are_turned_when_compiled():
    """For unknown rows, by warpgroups with one launch; a single row is a reduction."""
    node, target = matmul("n", 136, 200), TARGET.replace("}", " matmul-precision=tf32}")
    made, given = model([node]), exact(node, n=70)
    made.graph.initializer.append(onnx.numpy_helper.from_array(given["x0_1"], "x0_1"))
    del made.graph.input[1]
    lowered = outlined(legato.from_onnx(made), target)
    kernels = find(lowered.operation, "gpu.func")
    assert sorted(bool(find(one, MULTIPLY)) for one in kernels) == [False, True]
    exe = standin.compiled(legato.from_onnx(made), target)
    for rows in (70, 1):
        some = given | {"x0_0": given["x0_0"][:rows]}
        check([node], exe(some["x0_0"]), some)


def scheduled(kernel, intrinsic="wgmma_m64k16_f16", stages=2, tile=TILE):
    """A kernel whose tiles are multiplied by warpgroups."""
    sch = legato.Schedule(kernel)
    init, left, right, multiply, result = sch.tile_product(sch.get_block("C"), tile, unconverted=True)
    batch, rows, columns, *_ = sch.get_loops(result)
    for loop, thread in ((rows, "blockIdx.x"), (columns, "blockIdx.y"), (batch, "blockIdx.z")):
        sch.bind(loop, thread)
    sch.annotate(sch.get_loops(left)[3], "pipeline_stages", stages)
    for block in (init, result):
        m, n = sch.get_loops(block)[-2:]
        z, half, y = sch.split(m, [None, 2, 8])
        j, x, pair = sch.split(n, [None, 4, 2])
        sch.reorder(z, y, x, j, half, pair)
        for loop, thread in ((z, "threadIdx.z"), (y, "threadIdx.y"), (x, "threadIdx.x")):
            sch.bind(loop, thread)
        for loop in (j, half, pair):
            sch.unroll(loop)
    for block in (left, right):
        sch.tensorize(sch.get_loops(block)[-2], "tma_tile")
    sch.tensorize(sch.get_loops(multiply)[-3], intrinsic)
    return sch


def operands(type_, left, right, m, n, k):
    """Random operands, and their product in 64 bits."""
    random = np.random.default_rng(0)
    a = random.standard_normal((k, m) if left else (m, k)).astype(type_)
    b = random.standard_normal((n, k) if right else (k, n)).astype(type_)
    x, y = (array.astype(np.float64) for array in (a, b))
    return a, b, (x.T if left else x) @ (y.T if right else y)


@pytest.mark.parametrize("dtype, left, right, tile", first_of([
    ("bfloat16", True, True, [64, 64, 64]), ("float16", True, False, [128, 64, 128]), ("float32", False, True, [64, 64, 32])], 4))
def test_transposed_operands_are_multiplied_as_they_lie(dtype, left, right, tile):
    """Of two warpgroups, and with several panels along the depth; the trace replays to the same kernel."""
    kernel = product(dtype, left, right, 136, 72, 200)
    type_, intrinsic, error = KINDS[dtype]
    sch = scheduled(kernel, intrinsic, tile=tile)
    assert str(legato.Schedule(kernel).replay(str(sch.trace))) == str(sch)
    a, b, expected = operands(type_, left, right, 136, 72, 200)
    assert np.abs(standin.compiled(sch.module, TARGET)(a, b) - expected).max() < error


@pytest.fixture(scope="module")
def staged():
    """A product of five steps through two stages, at the stage outlined."""
    return str(outlined(scheduled(product("float16", m=64, n=64, k=320)).module))


def erase(number, name):
    """A fault: an instruction that is left out."""
    return lambda kernel: find(kernel, name)[number].erase()


def first_parity(kernel):
    """The copying warp waits for the wrong phase."""
    wait = find(kernel, WAIT)[0]
    with ir.InsertionPoint(wait):
        wait.operands[1] = arith.constant(wait.operands[1].type, 1)


def fewer_bytes(kernel):
    """The barrier is told of the first tile only."""
    expect, = find(kernel, "nvvm.mbarrier.arrive.expect_tx")
    with ir.InsertionPoint(expect):
        expect.operands[1] = arith.constant(expect.operands[1].type, 64 * 64 * 2)


def exchanged_lanes(kernel):
    """Two sums of a thread are taken for each other."""
    first, _, second, *_ = find(kernel, "llvm.extractvalue")
    first.attributes["position"], second.attributes["position"] = second.attributes["position"], first.attributes["position"]


def no_swizzle(kernel):
    """A matrix is described as if its rows followed each other as they are."""
    for op in find(kernel, "arith.constant"):
        value = op.attributes["value"]
        if isinstance(value, ir.IntegerAttr) and value.value >> 62 == 1:
            op.attributes["value"] = ir.IntegerAttr.get(value.type, value.value ^ 1 << 62)


def other_step(kernel):
    """The second step of the depth is taken from another place."""
    multiply = find(kernel, MULTIPLY)[1]
    add = multiply.operands[1].owner
    with ir.InsertionPoint(add):
        add.operands[1] = arith.constant(add.operands[1].type, 4)


FAULTS = {
    "tiles are not waited for": erase(1, WAIT), "stages are not waited for": erase(0, WAIT), "wrong phase": first_parity,
    "sums are not waited for": erase(0, "nvvm.wgmma.wait.group.sync.aligned"),
    "no commit": erase(0, "nvvm.wgmma.commit.group.sync.aligned"),
    "no fence": erase(0, "nvvm.wgmma.fence.aligned"), "stages are not given back": erase(0, "nvvm.mbarrier.arrive"),
    "barriers are not published": erase(0, "nvvm.fence.mbarrier.init"),
    "fewer bytes": fewer_bytes, "wrong lane": exchanged_lanes, "no swizzle": no_swizzle, "wrong step": other_step}


def test_faults_are_noticed(staged):
    """A result is wrong, or the launch fails, for each fault; without one it is right."""
    a, b, expected = operands(np.float16, False, False, 64, 64, 320)

    def error(fault=None):
        module = Module.parse(staged)
        if fault is not None:
            with module.context, ir.Location.unknown():
                fault(find(module.operation, "gpu.func")[0])
        lowered = standin.finished(module, TARGET)
        try:
            found = jit(lowered.module, lowered.weights)(a, b)
        except RuntimeError as problem:
            assert "CUDA_ERROR_LAUNCH_FAILED" in str(problem)
            standin.driver().standin_reset()
            return np.inf
        return np.nan_to_num(np.abs(found - expected), nan=np.inf).max()

    assert error() < 1e-4
    assert not [name for name, fault in FAULTS.items() if not error(fault) > 1e-2]


@pytest.mark.parametrize("rows", first_of(["n", 264]))
def test_blocks_go_through_tiles(rows, monkeypatch):
    """Two blocks, of which each has a multiprocessor, go through nine tiles of five steps in four stages; of unknown rows the kernel is
    told the numbers of tiles. Stages and their phases go on where the tile before has left them."""
    monkeypatch.setenv("STANDIN_MULTIPROCESSORS", "2")
    kernel = product("float16", m=264, n=264, k=320) if rows == 264 else halves_of_any_rows
    made = scheduled(kernel, stages=4, tile=[128, 128, 64]).module
    assert len(find(outlined(made).operation, "tir.multiprocessors")) == (rows == "n")     # nine blocks are few
    monkeypatch.setattr(tile_loop, "RESIDENT", 2)
    assert len(find(outlined(made).operation, "tir.multiprocessors")) == 1
    a, b, expected = operands(np.float16, False, False, 264, 264, 320)
    exe, driver = standin.compiled(made, TARGET), standin.driver()
    before = driver.standin_products()
    assert np.abs(exe(a, b) - expected).max() < 1e-4
    assert driver.standin_products() - before == 9 * 2 * 5 * 4      # tiles x warpgroups x steps x products of 16


@T.prim_func
def halves_of_any_rows(A: T.Buffer(("n", 320), "float16"), B: T.Buffer((320, 264), "float16"), C: T.Buffer(("n", 264), "float32")):
    for i, j, k in T.grid(A.shape[0], 264, 320):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])


def test_the_largest_tile_suffices():
    """128 x 256 x 64: four products of 64 x 256 in a step, a copy for each panel, no memory for registers, and, if ptxas is installed, no
    spills and nothing that it complains of: products that it would make wait, or registers that it does not hand over. Each thread writes
    16 bytes at once."""
    pytest.importorskip("llvmlite")
    lowered = legato.lower(legato.from_onnx(model([matmul(2048, 4096, 512, HALF, "Relu")])), TARGET)
    text = ptx(lowered, Catalog().resolve(TARGET))
    assert len(re.findall(r"wgmma\.mma_async\.sync\.aligned\.m64n256k16\.f32\.f16\.f16", text)) == 4
    assert text.count("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier") == 5 and text.count("mbarrier.try_wait") == 2
    assert re.search(r"setmaxnreg\.dec\S* +40|setmaxnreg\.dec\S*\s+40", text) and "setmaxnreg.inc.sync.aligned.u32" in text
    assert re.search(r"\.param \.align 64 \.b8 \w+\[128\]", text) and not re.search(r"\.local|[ls][dt]\.shared", text)
    assert len(re.findall(r"st\.global\.v4\.b32", text)) == 16 == text.count("st.global") and text.count("shfl.sync.bfly") == 64
    check_assembly(text)


def test_other_chips_and_operands_have_other_schedules():
    """An operand whose rows are no multiple of 16 bytes, few rows, one step of depth, and other chips: by instructions of warps."""
    nodes = [matmul(96, 128, 70, HALF), matmul(24, 128, 200, HALF), matmul(96, 128, 64, HALF)]
    lowered = outlined(legato.from_onnx(model(nodes)))
    kernels = find(lowered.operation, "gpu.func")
    assert [bool(find(one, "nvgpu.mma.sync")) for one in kernels] == [True] * 3 and not any(find(one, MULTIPLY) for one in kernels)
    older = outlined(legato.from_onnx(model([matmul(96, 128, 200, HALF)])), "nvvm{chip=sm_90}")
    assert find(older.operation, "nvgpu.mma.sync") and not find(older.operation, MULTIPLY)


def test_what_the_engine_does_not_copy_is_refused():
    """Rows of 74 bytes, a tile of other rows, a product that is no multiple of 64 rows, and a chip without the engine."""
    with pytest.raises(ScheduleError, match=r"'tma_tile' copies from buffers whose rows are multiples of 16 bytes.*memref<64x37xf16>"):
        scheduled(product("float16", m=64, n=64, k=37))
    with pytest.raises(ScheduleError, match=r"multiples of 8 rows, of multiples of 128 bytes each; 'A_shared' is memref<64x32xf16>"):
        scheduled(product("float16", m=64, n=64, k=320), tile=[64, 64, 32])
    with pytest.raises(ScheduleError, match=r"multiplies multiples of 64 rows, up to 256 columns.* loops of \[32, 64, 64\]"):
        scheduled(product("float16", m=64, n=64, k=320), tile=[32, 64, 64])
    with pytest.raises(ScheduleError, match=r"multiplies buffers of bf16 in scope 'shared'.* 'A_shared' of f16"):
        scheduled(product("float16", m=64, n=64, k=320), "wgmma_m64k16_bf16")
    sch = scheduled(product("float16", m=64, n=64, k=320))
    with pytest.raises(legato.LegatoError, match=r"'nvvm' has no copy engine with tensor maps.*compile it for nvvm\{chip=sm_90a\}"):
        outlined(sch.module, "nvvm")


def test_a_driver_without_tensor_maps_is_named(monkeypatch):
    """The stand-in refuses a map on an older chip, as a driver does that does not know it; the call names the op."""
    exe = standin.compiled(legato.from_onnx(model([matmul(64, 64, 136, HALF)])), TARGET)
    monkeypatch.setenv("STANDIN_CHIP", "80")
    with pytest.raises(RuntimeError, match=r"describing an operand to the copy engine, .* of CUDA 12 or later, for relax.matmul y0"):
        exe(*feeds([matmul(64, 64, 136, HALF)]).values())


@pytest.mark.parametrize("dtype", first_of([HALF, FLOAT]))
def test_blocks_share_a_long_depth(dtype):
    """Where tiles are few: each block has a part of the depth, whole steps of it, and a second launch adds up for what reads the result.
    A depth without such parts is not cut."""
    target = TARGET.replace("}", " matmul-precision=tf32}")
    cut, whole = gemm(70, 72, 1024, False, False), matmul(72, 64, 1032)
    for node, grid in ((replace(cut, dtype=dtype), [2, 2, 8]), (replace(whole, dtype=dtype), [])):
        made, given = model([node]), exact(node) if dtype == FLOAT else feeds([node])
        made.graph.initializer.append(onnx.numpy_helper.from_array(given["x0_1"], "x0_1"))
        del made.graph.input[1]
        lowered = outlined(legato.from_onnx(made), target)
        kernels = find(lowered.operation, "gpu.func")
        assert [list(one.attributes["known_grid_size"]) for one in kernels if find(one, MULTIPLY)] == ([grid] if grid else [])
        if grid:
            assert len(kernels) == 2
            check([node], standin.compiled(legato.from_onnx(made), target)(*(given[value.name] for value in made.graph.input)), given)
