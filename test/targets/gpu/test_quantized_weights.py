"""Products by weights of few bits on GPUs: against onnxruntime, on Vulkan and on the stand-in for CUDA's driver, and their PTX."""
import re
from collections import Counter

import numpy as np
import pytest
from contrib import DOMAIN, model_of, oracle, tensor
from emulate import emulated
from onnx import helper
from standin import compiled
from test_assembled import check as check_assembled
from vulkan_driver import FOUND

import legato
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.targets.catalog import Catalog

pytestmark = pytest.mark.usefixtures("nothing_is_left")
RNG = np.random.default_rng(4)
HALF, F32 = np.float16, np.float32
COOPERATIVE = "vulkan{matrices=m16n16k16_f16_f32}"


class Products:
    """A model of products by weights of few bits. ``symbolic``: how many rows there are, the call says."""

    def __init__(self, symbolic=False):
        self.nodes, self.infos, self.weights, self.given, self.symbolic = [], [], [], {}, symbolic

    def rows(self, rows, depth, dtype):
        """An operand of so many rows."""
        name = f"x{len(self.nodes)}"
        self.given[name] = RNG.standard_normal((rows, depth)).astype(dtype)
        shape = ["n" if self.symbolic else rows, depth]
        self.infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        return name

    def constants(self, *arrays):
        """Weights; "" for None."""
        names = [f"w{len(self.nodes)}_{number}" if array is not None else "" for number, array in enumerate(arrays)]
        self.weights += [tensor(name, array) for name, array in zip(names, arrays) if name]
        return names

    def nbits(self, rows, depth, columns, bits, block, zeros="", dtype=F32):
        """A MatMulNBits."""
        blocks, x = -(-depth // block), self.rows(rows, depth, dtype)
        zero = {"": None, "packed": RNG.integers(0, 256, (columns, -(-blocks * bits // 8)), dtype=np.uint8),
                "float": (RNG.random((columns, blocks)) * 7).astype(dtype)}[zeros]
        names = self.constants(RNG.integers(0, 256, (columns, blocks, block * bits // 8), dtype=np.uint8),
                               (RNG.random((columns, blocks)) * 0.2).astype(dtype), zero)
        self.nodes.append(helper.make_node("MatMulNBits", [x, *names], [f"y{len(self.nodes)}"], domain=DOMAIN, K=depth, N=columns,
                                           bits=bits, block_size=block))

    def dequantized(self, rows, depth, columns, kind, block, zeros):
        """A MatMul by a weight that DequantizeLinear makes, with a bias and an activation."""
        import ml_dtypes
        dtype, x = np.dtype(getattr(ml_dtypes, kind, kind)), self.rows(rows, depth, F32)
        low, high = {"int8": (-128, 128), "uint8": (0, 256), "int4": (-8, 8), "uint4": (0, 16)}[kind]
        shape, number = (depth // block, columns), len(self.nodes)
        names = self.constants(RNG.integers(low, high, (depth, columns)).astype(dtype), (RNG.random(shape) * 0.2).astype(F32),
                               RNG.integers(low, high, shape).astype(dtype) if zeros else None, RNG.random(columns).astype(F32))
        self.nodes += [helper.make_node("DequantizeLinear", names[:3], [f"w{number}"], axis=0, block_size=block),
                       helper.make_node("MatMul", [x, f"w{number}"], [f"m{number}"]),
                       helper.make_node("Add", [f"m{number}", names[3]], [f"b{number}"]),
                       helper.make_node("Relu", [f"b{number}"], [f"y{number}"])]

    def proto(self):
        """The model."""
        results = [helper.make_empty_tensor_value_info(name) for node in self.nodes for name in node.output if name.startswith("y")]
        graph = helper.make_graph(self.nodes, "g", self.infos, results, self.weights)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def check(self, tolerance=1e-5, rows=None, build=None):
        """Compares all results, relative to the greatest. ``rows``: other numbers of rows to call with, too; ``build``: makes an executable
        of the module."""
        proto = self.proto()
        module = legato.from_onnx(proto)
        for exe in [build(module)] if build else [compiled(module), *([legato.compile(module, "vulkan")] if FOUND is None else [])]:
            for count in rows or [None]:
                given = self.given if count is None else {name: np.resize(x, (count, x.shape[1])) for name, x in self.given.items()}
                found = exe(*given.values())
                for one, wanted in zip(found if isinstance(found, tuple) else (found,), oracle(proto, given), strict=True):
                    assert one.shape == wanted.shape and one.dtype == wanted.dtype
                    most = max(np.abs(wanted).max(initial=0), 1)
                    np.testing.assert_allclose(np.float64(one), np.float64(wanted), rtol=0, atol=tolerance * most)


def test_few_rows():
    products = Products()
    for rows, depth, columns, bits, block, zeros in ((1, 64, 64, 4, 32, ""), (1, 96, 70, 4, 32, "packed"), (3, 100, 36, 4, 16, "float"),
                                                     (8, 256, 132, 4, 128, "packed"), (1, 512, 48, 8, 64, ""), (2, 96, 33, 8, 32, "packed"),
                                                     (1, 16, 8, 4, 16, ""), (5, 384, 1000, 4, 32, ""), (7, 128, 64, 8, 32, "packed")):
        products.nbits(rows, depth, columns, bits, block, zeros)
    products.dequantized(1, 128, 40, "int4", 32, True)
    products.dequantized(4, 96, 40, "int8", 32, False)
    products.check()


def test_many_rows():
    products = Products()
    for rows, depth, columns, bits, block, zeros in ((9, 64, 64, 4, 32, ""), (33, 96, 70, 4, 32, "packed"), (31, 100, 36, 4, 16, "float"),
                                                     (65, 256, 132, 4, 128, "packed"), (16, 512, 48, 8, 64, ""),
                                                     (40, 96, 33, 8, 32, "packed"), (9, 2048, 40, 4, 64, "")):
        products.nbits(rows, depth, columns, bits, block, zeros)
    products.dequantized(36, 128, 40, "uint4", 64, True)
    products.dequantized(20, 96, 72, "int8", 48, False)
    products.check()


def test_halves():
    """Weights are rounded to halves beside many rows of such."""
    products = Products()
    for rows, depth, columns, bits, block, zeros in ((1, 64, 64, 4, 32, ""), (4, 96, 70, 4, 16, "packed"), (33, 96, 72, 4, 32, "packed"),
                                                     (64, 128, 130, 4, 64, ""), (17, 256, 64, 8, 128, ""), (128, 64, 33, 4, 32, "packed")):
        products.nbits(rows, depth, columns, bits, block, zeros, HALF)
    products.check(2e-3)


def test_cooperative_matrices():
    """Of Vulkan: the weight is dequantized on the way to shared memory, from which subgroups multiply."""
    products = Products()
    products.nbits(40, 96, 72, 4, 32, "packed", HALF)
    products.nbits(70, 64, 45, 8, 32, "", HALF)
    lowered = legato.lower(legato.from_onnx(products.proto()), COOPERATIVE, last="outlined")
    assert all(find(kernel, "tir.multiply_matrices") for kernel in find(lowered.operation, "gpu.func"))
    products.check(2e-3, build=lambda module: emulated(module, COOPERATIVE))


def test_symbolic_rows():
    products = Products(symbolic=True)
    products.nbits(7, 96, 72, 4, 32, "packed")
    products.nbits(7, 64, 36, 8, 32)
    products.check(rows=[7, 1, 65])
    halves = Products(symbolic=True)
    halves.nbits(7, 96, 72, 4, 32, "packed", HALF)
    halves.check(2e-3, rows=[7, 65])


def test_gathers():
    """Rows are gathered before they are dequantized."""
    data, places = RNG.integers(0, 256, (30, 32), dtype=np.uint8), np.array([[3, 29], [0, 7]])
    made = model_of("GatherBlockQuantized", [data, places, (RNG.random((30, 4)) + 0.1).astype(F32)], [0, 2], ["y"], False, DOMAIN,
                    gather_axis=0, quantize_axis=1, block_size=16, bits=4)
    module = legato.from_onnx(made)
    assert find(legato.lower(module, "nvvm", last="relax").operation, "relax.right_shift")
    np.testing.assert_allclose(compiled(module)(places), oracle(made, {"i1": places})[0], rtol=1e-6)


def loads(ptx):
    """The loads from global memory in a kernel, by their widths."""
    return Counter(re.findall(r"ld\.global\S*?((?:\.v\d)?\.b\d+)\s", ptx))


def ptx_of(products):
    """The PTX of a model."""
    pytest.importorskip("llvmlite")
    module = legato.from_onnx(products.proto())
    check_assembled(module, "sm_80")
    return ptx(legato.lower(module, "nvvm"), Catalog().resolve("nvvm"))


@pytest.mark.parametrize(("bits", "words"), [(4, 4), (8, 8)])
def test_a_row_reads_each_word_once(bits, words):
    """A thread takes so many words of 16 bytes, with their scales and rows, together, and only sums go through shared memory."""
    products = Products()
    products.nbits(1, 4096, 1024, bits, 32)
    text = ptx_of(products)
    found = loads(text)
    steps_of_x = {4: 2 * words, 8: 0}[bits]     # 8 steps of the depth are 32 bytes of a row, one step is a float
    scales = {4: words, 8: 4 * words}[bits]
    assert found[".v4.b32"] == words + scales + steps_of_x and found.total() == found[".v4.b32"] + {4: 0, 8: words}[bits], found
    assert len(re.findall(r"bar\.sync", text)) == 1


@pytest.mark.parametrize(("dtype", "multiplies"), [(F32, "fma.rn.f32"), (HALF, "mma.sync")])
def test_tiles_are_filled_from_words(dtype, multiplies):
    """A thread loads 16 bytes of each operand, and dequantizes on the way to shared memory."""
    products = Products()
    products.nbits(128, 4096, 4096, 4, 32, dtype=dtype)
    text = ptx_of(products)
    assert set(loads(text)) == {".v4.b32"} and loads(text).total() == 4, loads(text)
    assert multiplies in text
