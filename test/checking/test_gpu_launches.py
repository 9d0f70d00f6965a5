"""legato.check runs the launches of GPU kernels: barriers, shuffles, shared memory, and bugs in them by the name of their pass."""
import numpy as np
import pytest
from seeding import after, before, first

import legato
from legato.checking.buffers import Memory
from legato.checking.errors import Misbehaved
from legato.checking.native import CompiledKernels, NativeKernels
from legato.core.mlir import arith, ir
from legato.passes.gpu.launch_loops import LaunchLoops
from legato.passes.gpu.lower_threads import LowerThreads
from legato.passes.pipeline.base import PassContext
from legato.targets.catalog import Catalog

GPU = "nvvm{approx=true}"


def called(text, *arrays, name="k"):
    """Calls a kernel of a module on arrays."""
    module = legato.Module.parse(text)
    kernels = NativeKernels(module, CompiledKernels(), PassContext(Catalog().resolve))
    memory = [Memory.holding(array) for array in arrays]
    with module.context, ir.Location.unknown():
        kernels.call(name, memory)
    return [one.array() for one in memory]


def kernel(body, threads=64, blocks=1):
    """A kernel that gives each thread its number %me, and the element %v of %a; it is to yield %r: i32, and %ok: i1."""
    return f"""func.func private @k(%a: memref<{threads}xi32>, %y: memref<{threads}xi32> {{tir.out}}, %z: memref<{threads}xi32> {{tir.out}})
    attributes {{tir.prim_func}} {{
  %threads = arith.constant {threads} : index
  %blocks = arith.constant {blocks} : index
  %1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %blocks, %gy = %1, %gz = %1) threads(%me, %ty, %tz) in (%nx = %threads, %ny = %1, %nz = %1) {{
    %v = memref.load %a[%me] : memref<{threads}xi32>
    {body}
    memref.store %r, %y[%me] : memref<{threads}xi32>
    %valid = arith.extui %ok : i1 to i32
    memref.store %valid, %z[%me] : memref<{threads}xi32>
    gpu.terminator
  }}
  return
}}
func.func @main() {{
  return
}}"""


def partner(mode, lane, offset, width):
    """The lane that PTX's shfl.sync reads, and whether it is in the segment."""
    first = lane // width * width
    lanes = {"xor": lane ^ offset, "up": lane - offset, "down": lane + offset, "idx": first + offset % width}
    other = lanes[mode]
    return (other, 1) if first <= other < first + width else (lane, 0)


@pytest.mark.parametrize("mode", ["xor", "up", "down", "idx"])
def test_shuffles(mode):
    values = np.arange(64, dtype=np.int32) * 7 + 3
    for offset, width in ((1, 32), (5, 8)):
        text = kernel(f"""%o = arith.constant {offset} : i32
    %w = arith.constant {width} : i32
    %r, %ok = gpu.shuffle {mode} %v, %o, %w : i32""")
        _, found, valid = called(text, values, np.zeros(64, np.int32), np.zeros(64, np.int32))
        wanted = [partner(mode, thread % 32, offset, width) for thread in range(64)]
        np.testing.assert_array_equal(found, [values[thread // 32 * 32 + lane] for thread, (lane, _) in enumerate(wanted)])
        np.testing.assert_array_equal(valid, [ok for _, ok in wanted])


def test_a_warp_that_waits_for_different_things_is_an_error():
    body = """%half = arith.constant 16 : index
    %low = arith.cmpi ult, %me, %half : index
    %w = arith.constant 32 : i32
    %r, %ok = scf.if %low -> (i32, i1) {
      %s, %b = gpu.shuffle xor %v, %w, %w : i32
      scf.yield %s, %b : i32, i1
    } else {
      gpu.barrier
      scf.yield %v, %low : i32, i1
    }"""
    with pytest.raises(Misbehaved, match=r"the kernel @k .* some threads of a warp wait in gpu.barrier, and others of it in gpu.shuffle"):
        called(kernel(body), *[np.zeros(64, np.int32)] * 3)


def test_blocks_that_write_one_element_are_an_error():
    body = "%ok = arith.constant true\n%block = arith.index_cast %bx : index to i32\n%r = arith.addi %v, %block : i32"
    with pytest.raises(Misbehaved, match=r"what the kernel @k computes depends on the order of a GPU's threads"):
        called(kernel(body, blocks=2), *[np.zeros(64, np.int32)] * 3)
    assert called(kernel(body), *[np.ones(64, np.int32)] * 3)[1].tolist() == [1] * 64


def test_the_pipeline_of_a_gpu_passes_as_far_as_kernels_are_not_its_code():
    module, _ = before("columns", "relax-require-sizes")
    report = legato.check(module, target=GPU, last="outlined", samples=1)
    assert report.changed > 20 and not report.notes and not report.unchecked, str(report)


PRODUCT = """func.func @main(%x: tensor<40x70xf32>, %w: tensor<70x50xf32>) -> tensor<40x50xf32> {
  %0 = "relax.matmul"(%x, %w) : (tensor<40x70xf32>, tensor<70x50xf32>) -> tensor<40x50xf32>
  return %0 : tensor<40x50xf32>
}"""


def test_asynchronous_copies():
    """Those of a product's tiles, which read beyond the operands' ends in part."""
    text = str(legato.lower(legato.Module.parse(PRODUCT), GPU, last="outlined"))
    assert "nvgpu.device_async_copy" in text
    x, w = (np.random.default_rng(0).standard_normal(shape, np.float32) for shape in ((40, 70), (70, 50)))
    *_, found = called(text, x, w, np.zeros((40, 50), np.float32), name="kernel_matmul")
    np.testing.assert_allclose(found, x @ w, rtol=1e-5, atol=1e-5)


def without_barrier(number):
    """Takes out a barrier of the mean's kernel."""
    return lambda module: first(module, "gpu.barrier", "mean", number).erase()


def swapped_threads(module):
    """A block's threads in x and y the wrong way round."""
    launch = first(module, "gpu.launch", "mean")
    x, y = list(launch.regions[0].blocks[0].arguments)[3:5]
    users = [use.owner.operation for use in x.uses]
    for op in users:
        for n, value in enumerate(op.operands):
            if value == x:
                op.operands[n] = y


def shorter_grid(module):
    """A block too few."""
    launch = first(module, "gpu.launch", "subtract")
    with ir.InsertionPoint(launch), launch.location:
        launch.operands[0] = arith.subi(launch.operands[0], arith.constant(ir.IndexType.get(), 1))


def smaller_block(module):
    """A thread of each block too few."""
    launch = first(module, "gpu.launch")
    with ir.InsertionPoint(launch), launch.location:
        launch.operands[3] = arith.subi(launch.operands[3], arith.constant(ir.IndexType.get(), 1))


def other_lane(module):
    """A shuffle with another partner."""
    op = first(module, "gpu.shuffle", "softmax")
    with ir.InsertionPoint(op), op.location:
        op.operands[1] = arith.constant(op.operands[1].type, 3)


MEAN, GAP = 'relax.mean "average"', 'relax.subtract "gap"'
BUGS = {
    **{f"the missing barrier {n}": (GPU, "tir-lower-threads", None, after(LowerThreads, without_barrier(n)))
       for n in range(2)},   # the third keeps no result of another thread from being read
    "a wrong thread index": (GPU, "tir-lower-threads", MEAN, after(LowerThreads, swapped_threads)),
    "a wrong grid": (GPU, "tir-lower-threads", GAP, after(LowerThreads, shorter_grid)),
    "a wrong lane": (GPU, "tir-lower-threads", 'relax.softmax "shares"', after(LowerThreads, other_lane)),
    "a wrong block": ("nvvm{schedules=false}", "tir-launch-loops", None, after(LaunchLoops, smaller_block)),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_caught_by_name(bug, monkeypatch):
    target, name, op, patch = BUGS[bug]
    module, text = before("columns", name, target)
    patch(monkeypatch)
    with pytest.raises(legato.CheckFailed) as caught:
        legato.check(module, text, target=target, samples=1)
    assert caught.value.pass_name == name
    assert op is None or caught.value.op == op, str(caught.value)
    if "barrier" in bug:
        assert "@kernel_mean computes depends on the order of a GPU's threads: a barrier is missing" in str(caught.value)
