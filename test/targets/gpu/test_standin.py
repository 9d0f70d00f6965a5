"""What a device, or its driver, does not do, the stand-in does not do either: faults in kernels that results alone might not show."""
import numpy as np
import pytest
import standin
from threads_kernels import matmul_tiled

import legato
from legato.codegen.jit import jit
from legato.core.ir_helpers import find, index
from legato.core.mlir import arith, gpu, ir, scf, vector
from legato.dialects.module import Module
from legato.script import tir as T

pytest.importorskip("llvmlite")
SHARED = "workgroup"


@pytest.fixture(scope="module")
def tiled():
    """A product by tiles in shared memory, moved in vectors, at the stage outlined."""
    return str(legato.lower(matmul_tiled, standin.TARGET, last="outlined"))


def shifted(kernel):
    """A vector begins one element later than its alignment says."""
    load = next(op for op in find(kernel, "vector.load") if "alignment" in op.attributes)
    with ir.InsertionPoint(load):
        place = len(load.operands) - 1
        load.operands[place] = arith.addi(load.operands[place], index(1))


def beyond(kernel):
    """A vector lies a row further, of the last row beyond the buffer."""
    load = next(op for op in find(kernel, "vector.load") if "alignment" in op.attributes)
    with ir.InsertionPoint(load):
        place = len(load.operands) - 1
        load.operands[place] = arith.addi(load.operands[place], index(load.operands[0].type.shape[-1]))


def unordered(number):
    """A barrier is missing."""
    def change(kernel):
        find(kernel, "gpu.barrier")[number].erase()
    return change


def crossed(kernel):
    """All blocks along an axis write the first one's tile."""
    block = find(kernel, "gpu.block_id")[0]
    with ir.InsertionPoint(block):
        block.results[0].replace_all_uses_with(index(0))


def branched(kernel):
    """The threads of a block are at different barriers."""
    barrier = find(kernel, "gpu.barrier")[0]
    with ir.InsertionPoint(barrier), barrier.location:
        thread = find(kernel, "gpu.thread_id")[0].results[0]
        test = scf.IfOp(arith.CmpIOp(arith.CmpIPredicate.eq, thread, index(0)).result, has_else=True)
        for block in (test.then_block, test.else_block):
            with ir.InsertionPoint(block):
                barrier.clone()
                scf.YieldOp([])
    barrier.erase()


def not_written(kernel):
    """Shared memory has what nobody wrote: on a device, of some block before."""
    store = next(op for op in find(kernel, "vector.store") if SHARED in str(op.operands[1].type))
    with ir.InsertionPoint(store), store.location:
        thread = find(kernel, "gpu.thread_id")[0].results[0]
        never = scf.IfOp(arith.CmpIOp(arith.CmpIPredicate.eq, thread, index(1000)).result)
        with ir.InsertionPoint(never.then_block):
            store.move_before(scf.YieldOp([]).operation)


def resized(*sizes):
    """A launch with blocks of other sizes."""
    def change(kernel):
        launch = find(kernel.parent.operation.parent.operation, "gpu.launch_func")[0]
        with ir.InsertionPoint(launch):
            for axis, size in enumerate(sizes):
                launch.operands[3 + axis] = index(size)
    return change


FAULTS = {
    "shifted": (shifted, "error 716"), "beyond": (beyond, "ILLEGAL_ADDRESS"), "crossed": (crossed, "LAUNCH_FAILED"),
    "first": (unordered(0), "LAUNCH_FAILED"), "second": (unordered(1), "LAUNCH_FAILED"),
    "branched": (branched, "LAUNCH_FAILED"), "not_written": (not_written, None),
    "deep": (resized(1, 2, 128), r"blocks of 1 x 2 x 128 threads.* \(error 1\)"),       # 64 along z are the most
    "large": (resized(16, 32, 1), r"blocks of 16 x 32 x 1 threads.* \(error 1\)")}      # more than registers were given out for


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_noticed(tiled, name):
    fault, match = FAULTS[name]
    # kernels are found by their PTX, which a fault may not change: each has names of its own
    module = Module.parse(tiled.replace("matmul_tiled", f"matmul_{name}"))
    shapes = [tuple(one.type.shape) for one in find(module.operation, "func.func")[0].regions[0].blocks[0].arguments][:2]
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    with module.context, ir.Location.unknown():
        fault(find(module.operation, "gpu.func")[0])
    lowered = standin.finished(module, standin.TARGET)
    exe = jit(lowered.module, lowered.weights)
    if match is None:
        assert np.isnan(exe(a, b)).all()
        return
    with pytest.raises(RuntimeError, match=match):
        exe(a, b)
    standin.driver().standin_reset()



@T.prim_func
def halves(x: T.Buffer((64,), "float16"), y: T.Buffer((64,), "float16")):
    for i in T.thread_binding(64, "threadIdx.x"):
        with T.block("y"):
            vi = T.axis.spatial(64, i)
            y[vi] = x[vi]


@pytest.mark.parametrize("barrier", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_parts_of_words(first, barrier):
    """Each thread writes its half of a word; it reads the whole word before, or after, with or without a barrier between."""
    lowered = str(legato.lower(halves, standin.TARGET, last="outlined"))
    module = Module.parse(lowered.replace("halves", f"halves_{first}_{barrier}"))
    with module.context, ir.Location.unknown():
        [kernel] = find(module.operation, "gpu.func")
        [store] = find(kernel, "memref.store")
        with ir.InsertionPoint(store if first else kernel.regions[0].blocks[0].operations[-1]):
            thread, two = find(kernel, "gpu.thread_id")[0].results[0], index(2)
            if barrier and not first:
                gpu.barrier()
            pair = vector.LoadOp(ir.VectorType.get([2], ir.F16Type.get()), store.operands[1], [arith.muli(arith.divui(thread, two), two)])
            arith.mulf(pair.result, pair.result)
            if barrier and first:
                gpu.barrier()
    lowered = standin.finished(module, standin.TARGET)
    exe, x = jit(lowered.module, lowered.weights), np.arange(64, dtype=np.float16)
    if not barrier:
        with pytest.raises(RuntimeError, match="LAUNCH_FAILED"):
            exe(x)
        standin.driver().standin_reset()
    else:
        np.testing.assert_array_equal(np.asarray(exe(x)), x)
