"""Default schedules keep what is a thread's own in registers: their kernels through NVIDIA's assembler, where it is installed."""
import re
import subprocess
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import standin
from onnx import TensorProto, helper
from product_models import HALF, Node, batched, conv, matmul, model, product, random_nodes
from thoroughly import thorough

import legato
from legato.codegen.cubin import find_ptxas
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.targets.catalog import Catalog
from legato.targets.gpu import unknown_sizes
from legato.targets.gpu.product_tiles import FAST

CHIPS = ("sm_80", "sm_90a")
REGISTERS = 255
SAID = r"properties for (\S+)\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores.*\n.*Used (\d+) registers(.*)"
SHARED = 48 << 10     # bytes, of a kernel that does not ask for more at its launch


def check(module, chip):
    """AssertionError where a kernel has buffers in memory, or the assembler puts registers there, or refuses it."""
    pytest.importorskip("llvmlite")
    target = f"nvvm{{approx=true cubin=false chip={chip}}}"
    text = ptx(legato.lower(module, target), Catalog().resolve(target))
    assert "__local_depot" not in text, re.findall(r"\.local .*", text)
    assembler = find_ptxas()
    if assembler is None:
        return
    done = subprocess.run([assembler, "-v", f"-arch={chip}", "-o", "/dev/null", "/dev/stdin"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = re.findall(SAID, done.stderr)
    assert len(said) == text.count(".entry"), done.stderr
    for name, stack, spilled, registers, rest in said:
        memory = re.search(r"(\d+) bytes smem", rest)
        assert int(stack) == int(spilled) == 0 and int(registers) <= REGISTERS, (name, stack, spilled, registers)
        assert memory is None or int(memory[1]) <= SHARED, (name, rest)


def softmax(shape, dtype):
    """Softmax of rows."""
    return Node("Softmax", (shape,), {"axis": -1}, dtype)


NODES = [matmul(512, 16, 2048, HALF, "Tanh"), matmul(37, 3, 2048), matmul(97, 97, 1024), softmax((64, 49, 7), HALF),
         softmax((512, 3, 7), "float32"), batched((1, 1), (1,), 1, 24, 27),
         conv(1, 32, (28, 28), 32, 7, 1, 1, 1, 32), matmul(2048, 2048, 500, HALF, "Tanh")]


@pytest.mark.parametrize("chip", [CHIPS[0], *thorough(CHIPS[1:])])
def test_ragged_sizes(chip):
    """Parts of a depth with fewer columns than a block has threads, rows in numbers that are no powers of two, large filters."""
    check(legato.from_onnx(model(NODES)), chip)


@pytest.mark.parametrize("node", [matmul(2048, 2048, 500), *thorough([conv(8, 64, (56, 56), 256, 1), batched((12,), (12,), 1024, 1024, 64)],
                                                                     names=1)])
def test_the_largest_tiles_of_floats(node):
    """A multiprocessor runs two of their blocks where a thread has 128 registers: ptxas would rather spill for it."""
    check(legato.from_onnx(model([node])), "sm_90a")


def test_the_filters_of_a_group_fill_tiles():
    """ResNeXt's 4 filters of each of 32 groups: a tile has no columns that are not theirs."""
    module = legato.from_onnx(model([conv(1, 128, (56, 56), 128, 3, pad=1, groups=32)]))
    lowered = legato.lower(module, "nvvm{approx=true}", last="outlined")
    launch, = (one for one in find(lowered.operation, "gpu.launch_func") if "conv" in str(one.attributes["kernel"]))
    grid = [value.owner.attributes["value"].value for value in list(launch.operands)[:3]]
    assert grid == [-(-56 * 56 // 128), 1, 32]
    check(legato.from_onnx(model([conv(1, 128, (56, 56), 128, 3, pad=1, groups=32), matmul(4096, 13, 768)])), "sm_80")


@pytest.mark.parametrize("tiles", [FAST[0], *thorough(FAST[1:], names=1)])
def test_tiles_of_unknown_sizes(tiles, monkeypatch):
    """With indices of 32 bits, and of 64."""
    monkeypatch.setattr(unknown_sizes, "in_one_launch", lambda *given: [one for one in (tiles, FAST[1]) if given[-1] or not one.turned][:1])
    nodes = [matmul("n", 200, 700, then="Tanh"), conv("n", 24, (14, 14), 72, 3, pad=1), matmul("n", "m", "k")]
    check(legato.from_onnx(model(nodes)), "sm_80")


@pytest.mark.parametrize("sizes, right", [((1024, 4096, 1624), True), *thorough([((2048, 2048, 512), False)], names=2)])
def test_products_of_bytes(sizes, right):
    """By copies of 8 bytes; and by exchanged bytes."""
    check(product("float8_e4m3fn", False, right, *sizes), "sm_90a")


def attention(sizes, dtype):
    """An attention: of batches, heads, rows, keys, and the size of a head."""
    batch, heads, rows, keys, depth = sizes
    type_ = TensorProto.FLOAT16 if dtype == HALF else TensorProto.FLOAT
    nodes = [helper.make_node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]), helper.make_node("MatMul", ["q", "t"], ["s"]),
             helper.make_node("Softmax", ["s"], ["p"]), helper.make_node("MatMul", ["p", "v"], ["y"])]
    shapes = {"q": rows, "k": keys, "v": keys, "y": rows}
    infos = [helper.make_tensor_value_info(name, type_, [batch, heads, size, depth]) for name, size in shapes.items()]
    graph = helper.make_graph(nodes, "attention", infos[:3], infos[3:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_parts_in_large_numbers():
    """A kernel has 4,352 bytes of parameters, which the descriptors of 60 images exceed."""
    names = [f"x{n}" for n in range(60)]
    graph = helper.make_graph([helper.make_node("Concat", names, ["y"], axis=1)], "parts",
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3, 4, 5]) for name in names],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 180, 4, 5])])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    check(legato.from_onnx(made), "sm_80")
    given = np.random.default_rng(0).standard_normal((60, 2, 3, 4, 5)).astype(np.float32)
    np.testing.assert_array_equal(standin.compiled(legato.from_onnx(made))(*given), np.concatenate(given, 1))


@pytest.mark.parametrize("seed", thorough(range(12)))
def test_random_sizes(seed):
    """Products, convolutions, softmax and an attention, of any sizes."""
    r = Random(seed)
    chip, dtype = r.choice(CHIPS), r.choice([HALF, "float32"])
    nodes = [one if one.dtype == "int32" else replace(one, dtype=dtype) for one in random_nodes(seed)]
    channels, size = r.choice([8, 32, 100]), r.choice([7, 14, 28])
    nodes += [matmul(r.randint(1, 3000), r.choice([1, 8, 37, 500, 4096]), r.choice([64, 1000, 2048]), dtype),
              replace(conv(1, channels, (size, size), channels, r.choice([3, 5, 7]), 1, 1, 1, channels), dtype=dtype),
              softmax((r.choice([1, 64]), r.choice([3, 49, 197]), r.choice([7, 64, 1000])), dtype)]
    check(legato.from_onnx(model(nodes)), chip)
    sizes = (1, r.choice([1, 12]), r.choice([16, 197]), r.choice([16, 77, 1024]), r.choice([16, 40, 64, 96, 128, 192, 256]))
    check(legato.from_onnx(attention(sizes, dtype)), chip)
