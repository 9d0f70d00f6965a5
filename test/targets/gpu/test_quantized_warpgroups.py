"""Weights of few bits beside many rows, for Hopper: one warpgroup dequantizes tiles of the weight, and others multiply them (wgmma)."""
import re

import pytest
import standin
from assembled_warpgroups import check_assembly
from lowering import Lowering
from standin_warpgroups import MULTIPLY
from test_quantized_weights import HALF, Products
from thoroughly import thorough

import legato
from legato.codegen.jit import jit
from legato.core.ir_helpers import find
from legato.core.mlir import arith, ir
from legato.driver import ptx
from legato.targets.catalog import Catalog

pytestmark = pytest.mark.usefixtures("nothing_is_left", "hopper")
TARGET = "nvvm{approx=true chip=sm_90a}"


@pytest.fixture(autouse=True)
def hopper(monkeypatch):
    monkeypatch.setenv("STANDIN_CHIP", "90")


def on_hopper(module):
    """Compiled, where all products of many rows are by warpgroups."""
    lowering = Lowering(module, TARGET)
    outlined = lowering.at("outlined")
    assert {kernel.schedule for kernel in lowering.explained.kernels if "pad" not in kernel.kernel} <= {"warpgroup_product", "skinny"}
    return standin.compiled(outlined, TARGET)


def test_results():
    """Of 2, 4 and 8 bits, with and without zero points, columns in odd numbers, depths that are no multiple of a step, one warpgroup that
    multiplies and two."""
    products = Products()
    for rows, depth, columns, bits, block, zeros in (
            (64, 96, 64, 4, 32, ""), (70, 128, 72, 4, 16, "packed"), (256, 256, 512, 4, 64, "packed"), (130, 256, 520, 8, 32, ""),
            (100, 160, 67, 4, 32, "packed"), (257, 192, 256, 2, 32, ""), (80, 104, 130, 8, 16, "packed"),
            (2048, 72, 1024, 4, 16, "packed")):
        products.nbits(rows, depth, columns, bits, block, zeros, HALF)
    conflicts = standin.driver().standin_tile_conflicts()
    products.check(2e-3, build=on_hopper)
    assert standin.driver().standin_tile_conflicts() == conflicts


def test_rows_in_an_unknown_number():
    products = Products(symbolic=True)
    products.nbits(7, 96, 72, 4, 32, "packed", HALF)
    products.check(2e-3, rows=[7, 1, 65, 200], build=on_hopper)


def not_published(kernel):
    """Stores are not fenced off."""
    find(kernel, "nvvm.fence.proxy")[0].erase()


def other_turn(kernel):
    """Elements lie as if no piece of a row were exchanged."""
    for op in find(kernel, "arith.xori"):
        if isinstance(op.results[0].type, ir.IndexType):
            op.results[0].replace_all_uses_with(op.operands[0])


def fewer_arrivals(kernel):
    """Products begin when the copy has come."""
    for op in find(kernel, "nvvm.mbarrier.init"):
        with ir.InsertionPoint(op):
            op.operands[1] = arith.constant(op.operands[1].type, 1)


def no_arrival(kernel):
    """Threads do not say that their elements are there."""
    find(kernel, "nvvm.mbarrier.arrive")[0].erase()


def test_faults_are_noticed():
    """A result is wrong, or the launch fails, for each fault; without one it is right."""
    products = Products()
    products.nbits(64, 320, 64, 4, 32, "", HALF)

    def is_right(fault):
        def broken(module):
            outlined = legato.lower(module, TARGET, last="outlined")
            with outlined.context, ir.Location.unknown():
                (kernel,) = find(outlined.operation, "gpu.func")
                assert find(kernel, MULTIPLY)
                if fault is not None:
                    fault(kernel)
            lowered = standin.finished(outlined, TARGET)
            return jit(lowered.module, lowered.weights)

        try:
            products.check(2e-3, build=broken)
        except (AssertionError, RuntimeError) as problem:
            assert re.search("Not equal to tolerance|CUDA_ERROR_LAUNCH_FAILED", str(problem))
            standin.driver().standin_reset()
            return False
        return True

    assert [fault for fault in (None, not_published, other_turn, fewer_arrivals, no_arrival) if is_right(fault)] == [None]


@pytest.mark.parametrize(("bits", "zeros"), [*thorough([(2, "")], 2), (4, "packed"), *thorough([(8, "")], 2)])
def test_the_largest_tile_suffices(bits, zeros):
    """128 x 256 x 64: nothing spills, and the assembler does not complain that products wait."""
    pytest.importorskip("llvmlite")
    products = Products()
    products.nbits(2048, 4096, 4096, bits, 32, zeros, HALF)
    text = ptx(legato.lower(legato.from_onnx(products.proto()), TARGET), Catalog().resolve(TARGET))
    assert len(re.findall(r"wgmma\.mma_async\.sync\.aligned\.m64n256k16\.f32\.f16\.f16", text)) == 4
    assert text.count("fence.proxy.async.shared::cta") == 1 and "__local_depot" not in text
    assert {*re.findall(r"st\.shared\S*", text)} == {"st.shared.v4.b32" if bits == 8 else "st.shared.v2.b32"}
    check_assembly(text)
