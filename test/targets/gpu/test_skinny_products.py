"""Default schedules of products of few rows: results on Vulkan and on the stand-in for CUDA's driver, no races, and their PTX."""
import re

import numpy as np
import pytest
from lowering import Lowering
from product_models import HALF, INT, Node, check, feeds, gemm, matmul, model
from standin import TARGET, compiled
from test_products import assembled, ptx_of
from vulkan_driver import FOUND

import legato
from legato.core.ir_helpers import find
from legato.script import T

pytestmark = pytest.mark.usefixtures("nothing_is_left")
NODES = [matmul(1, 64, 48), matmul(4, 64, 48, then="Relu"), gemm(4, 40, 64, False, True), matmul(3, 37, 48), gemm(5, 13, 30, False, True),
         matmul(8, 72, 64), Node("MatMul", ((2, 3, 40), (2, 40, 24))), matmul(1, 80, 60, HALF), matmul(6, 80, 60, HALF),
         matmul(2, 24, 24, INT), matmul(7, 5, 8)]


@T.prim_func
def along_depth(A: T.Buffer((3, 160), "float32"), B: T.Buffer((45, 160), "float32"), C: T.Buffer((3, 45), "float32")):
    """A product whose second operand has the depth along its rows."""
    for i, j, k in T.grid(3, 45, 160):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


def executables(lowering, module):
    """The module on the stand-in, and on Vulkan where there is a driver."""
    return [compiled(lowering.at("outlined")), *([legato.compile(module, "vulkan")] if FOUND is None else [])]


def test_results():
    module, given = legato.from_onnx(model(NODES)), feeds(NODES)
    lowering = Lowering(module, TARGET)
    exes = executables(lowering, module)
    kernels = [kernel for kernel in lowering.explained.kernels if any("matmul" in op for op in kernel.ops)]
    assert [kernel.schedule for kernel in kernels] == ["skinny"] * len(NODES)
    for exe in exes:
        check(NODES, exe(**given), given)


def test_results_along_the_depth():
    random = np.random.default_rng(0)
    a, b = random.standard_normal((3, 160), np.float32), random.standard_normal((45, 160), np.float32)
    lowering = Lowering(along_depth.module(), TARGET)
    exes = executables(lowering, along_depth)
    assert [kernel.schedule for kernel in lowering.explained.kernels] == ["skinny"]
    for exe in exes:
        np.testing.assert_allclose(exe(a, b), a.astype(np.float64) @ b.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("node", [matmul(3, 20, 32), matmul(1, 20, 32)], ids=["rows", "row"])
def test_no_races(node):
    pytest.importorskip("z3")
    from launch_races import check_launch, launches

    lowered = legato.lower(legato.from_onnx(model([node])), "nvvm", last="scheduled")
    found = [check_launch(launch) for launch in launches(lowered.module)]
    assert len(found) == 1 and found[0].proved and not found[0].races and not found[0].undecided
    for barrier in find(lowered.operation, "gpu.barrier"):
        barrier.erase()
    assert any(check_launch(launch).races for launch in launches(lowered.module))


# a product: its threads; in four or eight steps of a thread that are together:
# loads of 16 bytes, other loads (one for each row), and multiplications
SHAPES = {"one row": (matmul(1, 4096, 1024), "8, 32, 1", 8, 8, 32),
          "a long row": (matmul(1, 8192, 8192), "16, 32, 1", 8, 8, 32),
          "few rows": (matmul(8, 1024, 1024, then="Relu"), "4, 64, 1", 8, 64, 256),
          "halves": (matmul(4, 4096, 1024, HALF), "4, 64, 1", 8, 32, 256)}


@pytest.mark.parametrize("name", SHAPES)
def test_weights_are_loaded_once_by_16_bytes_into_registers(name):
    pytest.importorskip("llvmlite")
    node, threads, wide, others, multiplies = SHAPES[name]
    text = ptx_of([node])
    assert f".maxntid {threads}" in text and text.count(".entry") == text.count("bar.sync") == 1 and ".local" not in text
    assert len(re.findall(r"ld\.global\S*v4", text)) == wide and len(re.findall(r"ld\.global", text)) == wide + others
    assert text.count("fma.rn.f32") == multiplies and text.count(".minnctapersm 1") == 1
    assert len(re.findall(r"st\.shared\S*v4", text)) == text.count("st.shared")
    assembled(text)


def test_steps_of_the_depth_are_loaded_by_16_bytes():
    pytest.importorskip("llvmlite")
    from legato.driver import ptx
    from legato.targets.catalog import Catalog

    text = ptx(legato.lower(along_depth, "nvvm"), Catalog().resolve("nvvm"))
    assert len(re.findall(r"ld\.global\S*v4", text)) == text.count("ld.global") and ".local" not in text and text.count("shfl")
    assembled(text)
