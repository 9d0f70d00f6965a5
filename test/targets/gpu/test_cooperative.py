"""Products by the matrices of subgroups (Vulkan's cooperative matrices): schedules, and results on the CPU, where each thread of a subgroup
has the whole matrices."""
import re
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from emulate import barriers_of, emulated
from product_models import FLOAT, HALF, batched, check, conv, feeds, gemm, matmul, model, product
from standin import outlined
from thoroughly import first_of, sampled, thorough

import legato
from legato.core.ir_helpers import find
from legato.schedule.state import ScheduleError
from legato.script import T

MULTIPLY, LOAD, COMPUTE = "tir.multiply_matrices", "gpu.subgroup_mma_load_matrix", "gpu.subgroup_mma_compute"
TARGET = "vulkan{{matrices={}}}"
F16 = TARGET.format("m16n16k16_f16_f32")
BF16 = TARGET.format("m16n16k16_bf16_f32")
NODES = [matmul(37, 45, 70, HALF), matmul(9, 72, 200, HALF), matmul(50, 12, 33, HALF), matmul(20, 40, 1024, HALF, "Relu"),
         *(replace(node, dtype=HALF) for node in (gemm(24, 40, 64, False, False, "Relu"), batched((2, 1), (3,), 20, 24, 40),
                                                  conv(1, 8, (9, 7), 24, 3, 2, 1), conv(1, 16, (5, 5), 20, 1, groups=2),
                                                  conv(1, 32, (9, 7), 48, 3, 2, 1, groups=2)))]
SYMBOLIC = [matmul("n", 40, 56, HALF, "Relu"), matmul("n", "m", "k", HALF)]
SHAPES = ["m8n8k16", "m16n8k16", "m16n8k8", "m32n32k16", "m8n16k16", "m16n16k32"]     # as devices have them


def kernels_with_matrices(module, target):
    """How many kernels multiply matrices."""
    lowered = outlined(module, target)
    return sum(bool(find(kernel, MULTIPLY)) for kernel in find(lowered.operation, "gpu.func"))


def right(nodes, target, **sizes):
    """Runs a model on the CPU, each node's product in matrices, and checks its results."""
    module, given = legato.from_onnx(model(nodes)), feeds(nodes, **sizes)
    lowered = outlined(module, target)
    assert kernels_with_matrices(lowered, target) == len(nodes)
    check(nodes, emulated(lowered, target)(*given.values()), given)


def test_products_of_halves_are_right():
    """Matmuls of odd sizes, few rows, few columns, a depth in parts, batches and convolutions, each one launch with what reads it."""
    right(NODES, F16)


@pytest.mark.parametrize("shape", sampled(SHAPES, 3))
def test_matrices_of_other_shapes_are_right(shape):
    right(NODES[:1] + NODES[5:6], f"vulkan{{matrices={shape}_f16_f32 subgroup=16}}")


def test_products_of_symbolic_sizes_are_right():
    module = legato.from_onnx(model(SYMBOLIC))
    exe = emulated(module, F16)
    for sizes in ((33, 18, 50), (1, 1, 1), (70, 8, 0), (0, 5, 3)):
        given = feeds(SYMBOLIC, **dict(zip("nmk", sizes)))
        check(SYMBOLIC, exe(*given.values()), given)


def error(kernel, left, right, type_, target):
    """How far a kernel's results are from numpy's in 64 bits."""
    random = np.random.default_rng(0)
    a = random.standard_normal((72, 40) if left else (40, 72)).astype(type_)
    b = random.standard_normal((56, 72) if right else (72, 56)).astype(type_)
    x, y = (array.astype(np.float64) for array in (a, b))
    found = emulated(kernel, target)(a, b) if isinstance(target, str) else target(a, b)
    return np.abs(found - (x.T if left else x) @ (y.T if right else y)).max()


@pytest.mark.parametrize("left, right", first_of([(True, True), (True, False), (False, True)], 2))
@pytest.mark.parametrize("dtype, type_, target", [("float16", np.float16, F16), ("bfloat16", ml_dtypes.bfloat16, BF16)])
def test_transposed_operands_are_loaded_as_they_lie(dtype, type_, target, left, right):
    """The sums are f32: they differ from those in 64 bits by less than a half has digits."""
    kernel = product(dtype, left, right)
    assert kernels_with_matrices(kernel, target) == 1
    assert error(kernel, left, right, type_, target) < 1e-5


def test_infinities_and_nans_stay_where_they_are():
    """Beyond the ends of operands tiles are 0, and nothing of these reaches the result."""
    random = np.random.default_rng(0)
    a, b = random.standard_normal((37, 45)).astype(np.float16), random.standard_normal((45, 50)).astype(np.float16)
    a[3, 7], a[5, 44], a[36, 0], a[8], b[2, 49], b[:, 9] = np.inf, np.nan, -np.inf, -0.0, np.nan, 6e-8
    exe = emulated(product("float16", m=37, n=50, k=45), F16)
    np.testing.assert_allclose(exe(a, b), a.astype(np.float32) @ b.astype(np.float32), rtol=1e-5, atol=1e-5)


def test_each_barrier_is_needed():
    kernel = product("float16")
    count = barriers_of(kernel, F16)
    assert count == 3     # tiles are written, read, and the result's is
    for number in range(count):
        assert not error(kernel, False, False, np.float16, emulated(kernel, F16, without=[number])) < 1e-2


@T.prim_func
def half_sums(A: T.Buffer((40, 48), "float16"), B: T.Buffer((48, 56), "float16"), C: T.Buffer((40, 56), "float16")):
    for i, j, k in T.grid(40, 56, 48):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_sums_are_of_the_type_that_the_kernel_says():
    """Sums of f16 are computed so only for a kernel that has them, and those of f32 never by matrices with sums of f16."""
    sums = TARGET.format("m16n16k16_f16_f16")
    assert kernels_with_matrices(half_sums, sums) == 1 and kernels_with_matrices(half_sums, F16) == 0
    assert kernels_with_matrices(product("float16"), sums) == 0
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((40, 48), (48, 56)))
    np.testing.assert_allclose(emulated(half_sums, sums)(a, b), a.astype(np.float64) @ b, atol=0.06)


def test_a_product_takes_matrices_only_where_the_device_has_them():
    """Not f32, which would lose digits unless the device multiplies it; not other types; not fewer than 8 rows, columns or steps; not
    without the option."""
    assert kernels_with_matrices(product("float32"), F16) == 0
    assert kernels_with_matrices(product("float32"), TARGET.format("m16n16k8_f32_f32")) == 1
    assert kernels_with_matrices(product("bfloat16"), F16) == 0
    assert kernels_with_matrices(product("float16"), "vulkan{matrices=none}") == 0
    assert kernels_with_matrices(product("float16"), "nvvm") == 0
    for sizes in ({"m": 7}, {"n": 7}, {"k": 7}):
        assert kernels_with_matrices(product("float16", **sizes), F16) == 0
    both = TARGET.format("m16n16k16_f16_f32+m8n8k16_f16_f32")
    assert "m16n16k16" in str(legato.lower(product("float16"), both, last="schedules"))     # the larger ones
    assert kernels_with_matrices(product("float16"), TARGET.format("m64n64k16_f16_f32")) == 0     # no tile is made of them


def test_each_part_of_a_tile_is_loaded_once():
    """Four matrices a subgroup, of a tile of 64 x 64 and 32 steps: two loads of each operand in a step of 16, for four products."""
    lowered = legato.lower(legato.from_onnx(model([matmul(2048, 2048, 512, HALF, "Relu")])), F16)
    text = str(lowered)
    assert (text.count("spirv.KHR.CooperativeMatrixMulAdd"), text.count("spirv.KHR.CooperativeMatrixLoad")) == (8, 8)
    assert text.count("spirv.KHR.CooperativeMatrixStore") == 4


def test_rows_of_tiles_begin_at_multiples_of_16_bytes_in_different_banks():
    """Those of the operands, and of the result; all take no more than the 32 KB that every device has."""
    lowered = legato.lower(legato.from_onnx(model([matmul(2048, 2048, 512, HALF)])), F16, last="outlined")
    kernel, = find(lowered.operation, "gpu.func")
    tiles = [a.type for a in kernel.regions[0].blocks[0].arguments if "workgroup" in str(a.type)]
    assert [list(one.shape) for one in tiles] == [[64, 40], [32, 72], [64, 68]]
    rows = [one.shape[1] * one.element_type.width // 8 for one in tiles]
    assert all(row % 32 == 16 for row in rows) and sum(row * one.shape[0] for row, one in zip(rows, tiles)) <= 32 << 10


@pytest.mark.parametrize("options, reason", [
    ("matrices=m16n16k16", "option 'matrices' wants host, none, or shapes and types such as .*; found 'm16n16k16'"),
    ("matrices=m16n16k16_f16_f32+m0n16k16_f16_f32", "found 'm0n16k16_f16_f32'"), ("matrices=m16n16k16_f16_bf16", "sums of f16 or f32"),
    ("subgroup=24", "option 'subgroup' wants the threads of a subgroup, 4, 8, 16, 32, 64 or 128; found '24'"),
    ("subgroup=many", "found 'many'"),
])
def test_wrong_options(options, reason):
    with pytest.raises(legato.LegatoError, match=reason):
        legato.lower(product("float16"), f"vulkan{{{options}}}")


def tiled(kernel, tiles=(32, 32, 16), **flags):
    """A kernel's tiles of 2 x 2 matrices for each of four subgroups, and the loops over rows and columns of a matrix in each."""
    sch = legato.Schedule(kernel)
    blocks = sch.tile_product(sch.get_block("C"), list(tiles), unconverted=True, through_shared=True, **flags)
    init, left, right, multiply, shared, result = blocks
    batch, rows, columns, m, n = sch.get_loops(result)
    for loop, thread in ((rows, "blockIdx.x"), (columns, "blockIdx.y"), (batch, "blockIdx.z")):
        sch.bind(loop, thread)
    for block in (left, right, result):
        _, y, x = sch.split(sch.fuse(*sch.get_loops(block)[-2:]), [None, 2, 32])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    inner = []
    for block in (init, multiply, shared):
        m, n, *_ = sch.get_loops(block)[3 if block is not multiply else 4:]
        subgroup, row = sch.split(m, [2, 16])
        j, column = sch.split(n, [2, 16])
        sch.reorder(subgroup, j, row, column)
        sch.bind(subgroup, "threadIdx.y")
        sch.unroll(j)
        inner.append(row)
    return sch, inner


def test_a_user_can_call_the_steps_and_replay_them():
    kernel = product("float16")
    sch, rows = tiled(kernel)
    for row, does in zip(rows, ("fill", "multiply", "store")):
        sch.tensorize(row, f"subgroup_{does}_m16n16k16_f16_f32_x32")
    again = legato.Schedule(kernel).replay(str(sch.trace))
    assert str(again) == str(sch) and "subgroup_multiply_m16n16k16_f16_f32_x32" in str(sch.trace)
    assert error(sch.module, False, False, np.float16, "vulkan") < 1e-5


@pytest.mark.parametrize("place, intrinsic, reason", [
    (0, "subgroup_multiply_m16n16k16_f16_f32_x32", r"is nested loops of \[16, 16, 16\] steps around one block; .* loops of \[16, 16\]"),
    (0, "subgroup_store_m16n16k16_f16_f32_x32", r"does not compute what '.*' does, shared\[m, n\] = local\[m, n\]"),
    (2, "subgroup_fill_m16n16k16_f16_f32_x32", r"does not compute what '.*' does, tile\[m, n\] = a constant"),
    (0, "subgroup_fill_m16n16k16_f16_f16_x32", "fills buffers of f16 in scope 'local' only; this buffer is 'C_local' of f32"),
    (1, "subgroup_multiply_m16n16k16_bf16_f32_x32", "multiplies buffers of bf16 in scope 'shared' only; this buffer is 'A_shared' of f16"),
    (1, "subgroup_multiply_m16n16k16_f16_f16_x32", "does not compute what"),
    (1, "subgroup_multiply_m16n16k16_s8_s32_x32", "there is no intrinsic"),
])
def test_what_no_matrix_computes_is_refused(place, intrinsic, reason):
    sch, rows = tiled(product("float16"))
    before = str(sch)
    with pytest.raises(ScheduleError, match=reason):
        sch.tensorize(rows[place], intrinsic)
    assert str(sch) == before


def test_a_tile_that_is_half_in_matrices_is_refused():
    sch, rows = tiled(product("float16"))
    sch.tensorize(rows[1], "subgroup_multiply_m16n16k16_f16_f32_x32")
    with pytest.raises(legato.LegatoError, match="local buffer C_local"):
        legato.lower(sch.module, "vulkan", last="outlined")


def test_f32_is_as_it_was():
    """A model of f32 has the same kernels with the option as without."""
    module = legato.from_onnx(model([matmul(64, 64, 64, FLOAT, "Relu")]))
    texts = [str(legato.lower(module, target)) for target in (F16, "vulkan{matrices=none}")]
    assert len({re.sub(r"\{target=[^}]*\}", "", text) for text in texts}) == 1


@pytest.mark.parametrize("left, right, factors", [
    ("uint8", "int8", "u8_s8"), *thorough([("int8", "int8", "s8"), ("int8", "uint8", "s8_u8")], names=3)])
def test_sums_of_integers_are_exact(left, right, factors):
    """Products of bytes, by matrices that the device lists with these signs; other matrices are not taken for them."""
    kernel, target = product(left, False, True, 40, 56, 136, right), TARGET.format(f"m16n16k32_{factors}_i32")
    assert kernels_with_matrices(kernel, target) == 1 and not kernels_with_matrices(kernel, TARGET.format("m16n16k32_u8_i32"))
    random = np.random.default_rng(0)
    a, b = (random.integers(np.iinfo(type_).min, np.iinfo(type_).max + 1, shape, type_) for type_, shape in (
        (left, (40, 136)), (right, (56, 136))))
    np.testing.assert_array_equal(emulated(kernel, target)(a, b), a.astype(np.int64) @ b.T.astype(np.int64))
