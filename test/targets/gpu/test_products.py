"""Default schedules of products: results on Vulkan and under the emulator against onnxruntime in 64 bits, no races, and their PTX."""
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest
import standin
from emulate import emulated
from lowering import Lowering
from product_models import HALF, INT, Node, batched, check, conv, feeds, gemm, matmul, model, random_nodes, without_bias
from thoroughly import thorough
from vulkan_driver import needs_vulkan

import legato
from legato import relax
from legato.codegen.cubin import find_ptxas
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.targets.catalog import Catalog

STATIC = [matmul(37, 41, 29), matmul(130, 68, 32, then="Relu"), gemm(65, 34, 20, True, False), matmul(40, 48, 24, HALF),
          matmul(40, 36, 20, INT), matmul(9, 40, 33), batched((2, 1), (1, 3), 33, 40, 20), conv(2, 3, (17, 17), 20, 7, 2, 3),
          conv(2, 8, (10, 10), 12, 3, pad=1, groups=2), conv(1, 24, (9, 9), 20, 3, pad=1, groups=2),
          conv(1, 24, (8, 7), 8, 3, 2, 1, groups=4), matmul(20, 33, 1536, then="Relu"),
          matmul(150, 13, 40, then="Relu"), matmul(140, 7, 25), conv(1, 16, (13, 11), 16, 3, pad=1, groups=4),
          without_bias(conv(1, 24, (9, 9), 20, 3, pad=1, groups=2)), without_bias(conv(1, 6, (9,), 16, 3, pad=1, groups=2, then="Sigmoid"))]
SYMBOLIC = [matmul("n", 48, 40, then="Relu"), matmul("n", 12, 40), matmul("n", "m", 33),
            batched(("b",), ("b",), 33, 20, "k"),
            batched((3,), (3,), "n", "n", "k"), conv("b", 4, ("h", "h"), 20, 3, pad=1),
            without_bias(conv("b", 4, ("h", "h"), 20, 3, pad=1, groups=2))]
SIZES = [{"n": 5, "m": 7, "k": 9, "b": 2, "h": 8}, {"n": 100, "m": 70, "k": 33, "b": 3, "h": 11}, {"n": 1, "m": 1, "k": 1, "b": 1, "h": 3},
         {"n": 0, "m": 4, "k": 0, "b": 2, "h": 4}]


@pytest.mark.parametrize("nodes", [STATIC, SYMBOLIC], ids=["static", "symbolic"])
def test_products_are_made_in_tiles(nodes):
    """Each product, and nothing else, has the step in its schedule, and in those of its forms for numbers of rows."""
    lowered = legato.lower(legato.from_onnx(model(nodes)), "nvvm", last="schedules")
    tiled = {sequence_of(op) for op in find(lowered.operation, "tir.sch_tile_product")}
    kernels = [one for one in find(lowered.operation, "func.func") if "tir.schedule" in one.attributes]
    assert len({str(one.attributes["tir.form_of" if "tir.form_of" in one.attributes else "sym_name"]).strip('@"') for one in kernels
                if one.attributes["tir.schedule"].value in tiled}) == len(nodes)


def sequence_of(op):
    """The name of the sequence that a step is in."""
    while op.name != "transform.named_sequence":
        op = op.parent
    return op.attributes["sym_name"].value


@needs_vulkan
def test_products_on_vulkan():
    exe = legato.compile(legato.from_onnx(model(STATIC)), "vulkan")
    given = feeds(STATIC)
    check(STATIC, exe(**given), given)


@needs_vulkan
def test_products_of_symbolic_sizes_on_vulkan():
    exe = legato.compile(legato.from_onnx(model(SYMBOLIC)), "vulkan")
    for sizes in SIZES:
        given = feeds(SYMBOLIC, **sizes)
        check(SYMBOLIC, exe(**given), given)


@pytest.mark.thorough
@needs_vulkan
def test_products_by_chance_on_vulkan():
    nodes = random_nodes(1)
    given = feeds(nodes)
    check(nodes, legato.compile(legato.from_onnx(model(nodes)), "vulkan")(**given), given)


def test_products_under_the_emulator():
    """The kernels of nvvm without asynchronous copies, with threads that are held up at random."""
    nodes = [matmul(37, 41, 18), conv(1, 4, (6, 6), 8, 3, pad=1), matmul(9, 12, 1024)]
    given = feeds(nodes)
    check(nodes, emulated(legato.from_onnx(model(nodes)), "nvvm{chip=sm_75}", seed=1)(**given), given)


def test_operands_are_copied_some_steps_ahead():
    """Asynchronous copies, which the stand-in makes at once or late: of whole and of ragged tiles, of a padded image, and of depths that
    threads of a block share."""
    nodes = [matmul(96, 128, 100, then="Relu"), matmul(68, 36, 520), conv(1, 16, (14, 14), 32, 3, pad=1), matmul(140, 256, 1100, INT)]
    lowered = legato.lower(legato.from_onnx(model(nodes)), "nvvm", last="outlined")
    kernels = [one for one in find(lowered.operation, "gpu.func") if find(one, "math.fma", "arith.muli") and find(one, "gpu.barrier")]
    assert sum(bool(find(one, "nvgpu.device_async_copy")) for one in kernels) == len(nodes)
    given = feeds(nodes)
    check(nodes, standin.compiled(lowered, "nvvm")(**given), given)


def test_tiles_are_those_that_take_least_time():
    """Rows, columns, and parts of the depth that threads share, and that blocks take: the largest tiles for many results; smaller ones, or
    parts, where those would leave multiprocessors without work, or with few threads; no parts, which are one launch more, for little."""
    chosen = {(4096, 4096, 4096): (128, 128, 1, 1), (1024, 1024, 1024): (64, 64, 1, 1), (768, 768, 768): (32, 32, 2, 1),
              (128, 3072, 768): (32, 32, 2, 1), (128, 768, 3072): (64, 64, 1, 16), (512, 512, 512): (32, 32, 2, 1),
              (20, 768, 768): (8, 32, 4, 1), (196, 256, 1024): (16, 32, 2, 1), (196, 256, 2304): (64, 64, 1, 16)}
    for sizes, (rows, columns, slices, parts) in chosen.items():
        text = str(legato.lower(legato.from_onnx(model([matmul(*sizes)])), "nvvm{chip=sm_90a}", last="schedules"))
        found, = re.findall(r"(?:slices = (\d+) : i64, )?tiles = array<i64: (\d+), (\d+)", text)
        cut = re.findall(r"factors = array<i64: (\d+), -1>", text) if "sch_rfactor" in text else ["1"]
        assert (*map(int, found[1:]), int(found[0] or 1), int(cut[0])) == (rows, columns, slices, parts), sizes


@pytest.mark.parametrize("node", [matmul(200, 200, 36), gemm(40, 48, 21, True, True), matmul(9, 40, 1024), matmul(64, 128, 1100),
                                  conv(1, 8, (14, 14), 16, 3, pad=1), matmul(40, 40, 72, HALF)],
                         ids=lambda node: node.op + str(node.shapes[0]))
def test_products_have_no_races(node):
    pytest.importorskip("z3")
    from launch_races import check_launch, launches

    lowered = legato.lower(legato.from_onnx(model([node])), "nvvm", last="scheduled")
    found = [check_launch(launch) for launch in launches(lowered.module)]
    assert max(one.proved for one in found) > 10 and not any(one.races or one.undecided for one in found)


# what a kernel has by its tile: rows and columns; fused multiply-adds, loads of 16 bytes from shared memory, and copies of single elements
TILES = {128: (2048, 1024, 48, 32), 64: (1024, 512, 48, 0), 32: (768, 64, 8, 0)}


@pytest.mark.parametrize("tile", TILES)
def test_a_matmul_multiplies_from_registers(tile):
    """Eight multiply-adds and more for each load from shared memory, copies and stores of 16 bytes, and no register in memory."""
    pytest.importorskip("llvmlite")
    size, multiplies, loads, single = TILES[tile]
    text = ptx_of([matmul(size, size, 64, then="Relu")])
    assert text.count("fma.rn.f32") == multiplies >= 8 * loads
    assert len(re.findall(r"ld\.shared\S*\.v4", text)) == text.count("ld.shared") == loads
    assert text.count("bar.sync") == 1 and text.count("cp.async.cg") > 0 and text.count("cp.async.ca") == single
    assert not re.findall(r"ld\.global|st\.shared", text)
    assert len(re.findall(r"st\.global\.v4", text)) == len(re.findall(r"st\.global", text)) > 0 and ".local" not in text
    assembled(text)


def test_products_take_their_schedules_without_spills():
    pytest.importorskip("llvmlite")
    nodes = [conv(1, 48, (6, 6), 128, 5, pad=2)]   # its depth is shared, and its columns are as many as the threads that add up the parts
    assert len(find(legato.lower(legato.from_onnx(model(nodes)), "nvvm", last="schedules").operation, "tir.sch_rfactor")) == 1
    assembled(ptx_of([matmul(100, 70, 1100), conv(1, 128, (14, 14), 64, 3, pad=1)]))
    assembled(ptx_of([matmul(37, 41, 29), matmul(40, 48, 24, HALF), conv(2, 3, (17, 17), 20, 7, 2, 3), matmul("n", "m", "k")]))


# few results of a long depth, with sizes that tiles do not divide
SLICED = [matmul(100, 70, 1100, then="Relu"), conv(1, 128, (14, 14), 64, 3, pad=1, then="Relu"), conv(1, 1024, (7, 7), 160, 1, 1, groups=1),
          batched((3,), (3,), 60, 40, 1030), conv(1, 256, (12, 12), 80, 3, pad=1, groups=2), matmul(128, 64, 1024, INT)]


def test_threads_of_a_block_share_a_long_depth():
    """A product of few results is one launch, whose blocks have two or four times the threads of a tile."""
    lowered = legato.lower(legato.from_onnx(model(SLICED)), "nvvm", last="outlined")
    kernels = [f for f in find(lowered.operation, "func.func") if any(name in str(f.attributes["sym_name"]) for name in ("conv", "matmul"))]
    launches = [find(kernel, "gpu.launch_func") for kernel in kernels]
    assert len(kernels) == len(SLICED) and all(len(one) == 1 for one in launches)
    assert all(size_of(one.operands[5]) in (2, 4) for (one,) in launches)


@pytest.mark.thorough
def test_blocks_share_a_long_depth():
    """Where copies are asynchronous, blocks take parts of a depth, some no multiple of a tile's, and a second launch adds them up."""
    nodes = [matmul(120, 260, 3000, then="Relu"), conv(1, 256, (8, 8), 132, 3, pad=1, then="Relu")]
    lowered = legato.lower(legato.from_onnx(model(nodes)), "nvvm", last="schedules")
    assert len(find(lowered.operation, "tir.sch_rfactor")) == len(nodes)
    given = feeds(nodes)
    check(nodes, standin.compiled(legato.from_onnx(model(nodes)), "nvvm")(**given), given)


def test_rows_are_turned_on_their_way_to_shared_memory():
    """By copies of single elements, also beyond the ends of rows, columns and depth."""
    node = matmul(1921, 2047, 33, then="Relu")
    lowered = legato.lower(legato.from_onnx(model([node])), "nvvm", last="schedules")
    assert len(find(lowered.operation, "tir.sch_transform_layout")) == 1
    given = feeds([node])
    check([node], standin.compiled(legato.from_onnx(model([node])), "nvvm")(**given), given)


def size_of(value):
    """A constant of a launch."""
    return value.owner.attributes["value"].value


@needs_vulkan
def test_shared_depths_on_vulkan():
    given = feeds(SLICED)
    check(SLICED, legato.compile(legato.from_onnx(model(SLICED)), "vulkan")(**given), given)


@pytest.mark.thorough
def test_shared_depths_under_the_emulator():
    nodes = [matmul(9, 12, 1024), matmul(34, 66, 1030)]
    given = feeds(nodes)
    check(nodes, emulated(legato.from_onnx(model(nodes)), "nvvm{chip=sm_75}", seed=1)(**given), given)


@needs_vulkan
def test_a_product_whose_depth_cannot_be_cut_is_in_tiles():
    """Filters in groups are two axes of the result's last index, which a sum of parts does not take."""
    nodes = [conv(1, 256, (3, 3), 12, 3, pad=1, groups=2)]
    module, given = legato.from_onnx(model(nodes)), feeds(nodes)
    exe = legato.compile(module, "vulkan")
    products = [kernel for kernel in exe.explain().kernels if any("conv2d" in op for op in kernel.ops)]
    assert [kernel.schedule for kernel in products] == ["product"] and products[0].reasons[0].startswith("product: rfactor")
    check(nodes, exe(**given), given)


@needs_vulkan
def test_vectors_of_halves_are_as_long_as_the_device_has_them():
    """Vulkan has vectors of four elements, of any width."""
    nodes = [Node("Add", ((16, 24), (16, 24)), dtype=HALF), matmul(40, 64, 32, HALF, then="Relu")]
    given = feeds(nodes)
    check(nodes, legato.compile(legato.from_onnx(model(nodes)), "vulkan")(**given), given)


def test_halves_are_loaded_by_16_bytes():
    pytest.importorskip("llvmlite")
    text = ptx_of([matmul(40, 64, 32, HALF)], "nvvm{chip=sm_75}")    # without matrix instructions
    assert re.findall(r"ld\.global\S*", text) == ["ld.global.v4.b32"] * 2


@relax.function
def gated(x: relax.Tensor(("n", 36), "float32"), w: relax.Tensor((36, 50), "float32"), r: relax.Tensor(("n", 50), "float32"),
          c: relax.Tensor(("n", 1), "float32")):
    with relax.dataflow():
        y = relax.add(relax.add(relax.nn.silu(relax.matmul(x, w)), r), c)
        relax.output(y)
    return y


@needs_vulkan
def test_what_reads_a_product_is_computed_where_it_is_written():
    """An activation that reads the result twice, and operands of its shape and of a column's, in one launch, of which the host chooses."""
    lowered = legato.lower(gated, "nvvm", last="outlined")
    assert [one.parent.name for one in find(lowered.operation, "gpu.launch_func")] == ["scf.if"] * 3
    exe, random = legato.compile(gated, "vulkan"), np.random.default_rng(0)
    for n in (1, 45):
        x, w, r, c = (random.standard_normal(shape) for shape in ((n, 36), (36, 50), (n, 50), (n, 1)))
        found = exe(*(array.astype(np.float32) for array in (x, w, r, c)))
        np.testing.assert_allclose(found, x @ w / (1 + np.exp(-(x @ w))) + r + c, rtol=1e-4, atol=1e-4)


DEPTHWISE = [conv(1, 8, (11, 9), 8, 3, pad=1, groups=8), conv(2, 12, (10, 10), 12, 3, 2, 1, groups=12, then=""),
             conv(2, 4, (9, 12), 4, 5, pad=2, dilation=2, groups=4, then="Sigmoid"), conv("b", 8, (7, "w"), 8, 3, pad=1, groups=8),
             replace(conv(1, 4, (8, 8), 4, 2, groups=4, then=""), shapes=((1, 4, 8, 8), (4, 1, 2, 2)))]


@needs_vulkan
def test_depthwise_convolutions_on_vulkan():
    exe = legato.compile(legato.from_onnx(model(DEPTHWISE)), "vulkan")
    for sizes in ({"b": 3, "w": 10}, {"b": 1, "w": 2}):
        given = feeds(DEPTHWISE, **sizes)
        check(DEPTHWISE, exe(**given), given)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("node", [DEPTHWISE[0], conv("b", 96, (14, 14), 96, 3, pad=1, groups=96), DEPTHWISE[3]],
                         ids=["known", "batch", "width"])
def test_depthwise_convolutions_sum_in_registers(node):
    """A thread has four channels: nine vectors of the image and of the filter, in one launch, where the padding is not stored. Where it
    is not known that a channel is in front of none, it is asked once for all four."""
    pytest.importorskip("llvmlite")
    text = ptx_of([node])
    kernel = text[text.rindex(".entry fused_conv2d"):]
    assert kernel.count("fma.rn.f32") == 36 and kernel.count("st.global.v4") == 1 and ".local" not in kernel
    assert len(re.findall(r"ld\.global\S*\.v4", kernel)) == len(re.findall(r"ld\.global", kernel)) == 19
    assembled(text)


@pytest.mark.parametrize(("batch", "side", "threads"), [(1, 28, 128), (1, 20, 64), (1, 12, 32), ("b", 12, 128)])
def test_small_depthwise_convolutions_have_small_blocks(batch, side, threads):
    """At least 128 blocks, as far as a warp each makes them."""
    text = ptx_of([conv(batch, 96, (side, side), 96, 3, pad=1, groups=96)])
    assert text[text.rindex(".maxntid"):].startswith(f".maxntid {threads}, 1, 1")


@pytest.mark.parametrize("node", [conv(1, 16, (14, 14), 32, 3, pad=1), conv(1, 384, (12, 12), 384, 3, pad=1, groups=2)],
                         ids=["together", "groups"])
def test_convolutions_load_vectors_of_padded_images(node):
    """Padding is along the image's sides: channels that are next to each other are inside of it together, those of a group, too. Copied one
    by one they would leave no registers."""
    pytest.importorskip("llvmlite")
    text = ptx_of([node])
    kernel = text[text.index(".entry fused_conv2d"):].partition("\n}\n")[0]
    assert kernel.count("cp.async.cg") > 2 and "cp.async.ca" not in kernel and "ld.global.b32" not in kernel
    assembled(text)


def ptx_of(nodes, target="nvvm"):
    """The PTX of a model."""
    return ptx(legato.lower(legato.from_onnx(model(nodes)), target), Catalog().resolve(target))


def assembled(text):
    """AssertionError where NVIDIA's assembler, if it is installed, refuses a text, or registers do not suffice."""
    if (assembler := find_ptxas()) is None:
        return
    done = subprocess.run([assembler, "-v", "-arch=sm_80", "-o", "/dev/null", "/dev/stdin"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr)
    assert spills and all(one == ("0", "0") for one in spills), done.stderr


ONE_FILTER = [conv(1, 24, (40, 33), 1, 3, pad=1, then="Sigmoid"), conv("b", 136, ("h", "h"), 1, 1), conv("b", 16, ("h", "h"), 1, 3),
              conv(2, 132, (40, 41), 1, 1, then="Relu")]


@pytest.mark.parametrize("on", [pytest.param("vulkan", marks=needs_vulkan), *thorough(["nvvm"])])
def test_one_filter_is_a_row_for_a_warp(on):
    """A convolution with one filter, as of a map of scores: neighbouring threads read neighbouring channels."""
    module = legato.from_onnx(model(ONE_FILTER))
    if on == "nvvm":
        lowering = Lowering(module, standin.TARGET)
        exe, explained = standin.compiled(lowering.at("outlined")), lowering.explained
    else:
        exe = legato.compile(module, on)
        explained = exe.explain()
    used = [kernel.schedule for kernel in explained.kernels]
    assert sum(one in ("rows", "register_rows") for one in used) == len(ONE_FILTER)
    for sizes in ({"b": 2, "h": 5}, {"b": 1, "h": 3}, {"b": 0, "h": 4}):
        given = feeds(ONE_FILTER, **sizes)
        check(ONE_FILTER, exe(**given), given)
