"""Schedules that kernels carry: they are compiled with them instead of the target's own; structured kernels are scheduled as they stand."""
import numpy as np
import pytest
from scheduled_kernels import blur, loops, matmul_relu, row_sum, values

import legato
from legato import Schedule, ScheduleError
from legato.script import ir as I
from legato.script import relax as R
from legato.script import tir as T


def tiled(sch):
    i, j, k = loops(sch, "C")
    (i0, i1), (j0, j1) = sch.split(i, [None, 4]), sch.split(j, [None, 8])
    sch.reorder(i0, j0, i1, j1, k)
    sch.reverse_compute_at(sch.get_block("D"), j0)


def agrees(kernel, module, first=None):
    got, want = values(kernel, module, first)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_an_attached_schedule_is_used_instead_of_the_targets_own():
    sch = Schedule(matmul_relu)
    tiled(sch)
    attached = legato.attach_schedule(matmul_relu, "matmul_relu", sch.trace)
    assert "tir.schedule = @schedule_of_matmul_relu" in str(attached)
    again = legato.Module.parse(str(attached))
    agrees(matmul_relu, again)
    lowered = str(legato.lower(again, last="scheduled"))
    assert "transform." not in lowered and "memref<4x8xf32>" in lowered


@I.ir_module
class Two:
    @T.prim_func
    def double(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] * 2.0

    @T.prim_func
    def square(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] * A[vi]

    @R.function
    def main(x: R.Tensor((64,), "float32")):
        y = R.call_tir(Two.double, (x,), R.Tensor((64,), "float32"))
        return R.call_tir(Two.square, (y,), R.Tensor((64,), "float32"))


def test_two_kernels_of_a_module_each_have_their_own():
    module = Two
    for kernel, width in (("double", 8), ("square", 16)):
        sch = Schedule(module, kernel)
        _, inner = sch.split(sch.get_loops(sch.get_block("B"))[0], [None, width])
        sch.vectorize(inner)
        module = legato.attach_schedule(module, kernel, sch.trace)
    lowered = str(legato.lower(module, last="scheduled"))
    assert "vector<8xf32>" in lowered and "vector<16xf32>" in lowered and "transform" not in lowered
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    np.testing.assert_allclose(legato.compile(module)(x), (2 * x) ** 2, rtol=1e-6)


def test_a_schedule_that_fails_names_the_step_and_the_kernel():
    sch = Schedule(matmul_relu)
    tiled(sch)
    with pytest.raises(ScheduleError, match=r"(?s)there is no block 'C' in @row_sum, whose blocks are: B\n  in the step: .*sch_get_block.*"
                                            "in the schedule @schedule_of_row_sum of @row_sum"):
        legato.compile(legato.attach_schedule(row_sum, "row_sum", sch.trace))
    with pytest.raises(legato.LegatoError, match="there is no kernel 'blurred'; there are blur"):
        legato.attach_schedule(blur, "blurred", sch.trace)


# --- structured kernels ---

def test_a_structured_kernel_is_put_into_loops_for_steps():
    sch = Schedule(legato.lower(matmul_relu, last="fused"))
    i, j, _ = sch.get_loops(sch.get_block("contract"))
    sch.split(j, [None, 8])
    sch.parallel(i)
    agrees(matmul_relu, sch.module, "fused")


STRUCTURED = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @tiles(%kernel: !transform.any_op {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.generic"]} in %kernel : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.TILE %relu tile_sizes [4, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %product = transform.structured.match ops{["linalg.matmul"]} in %kernel : (!transform.any_op) -> !transform.any_op
    %fused, %new = transform.structured.fuse_into_containing_op %product into %loops#1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %steps, %k = transform.structured.tile_using_for %fused tile_sizes [0, 0, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %vectors = transform.structured.vectorize_children_and_apply_patterns %kernel : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""
FOR = STRUCTURED.replace("TILE", "tile_using_for")
FORALL = STRUCTURED.replace("TILE", "tile_using_forall").replace("%loops:2", "%loops").replace("%loops#1", "%loops").replace(
    "-> (!transform.any_op, !transform.any_op, !transform.any_op)", "-> (!transform.any_op, !transform.any_op)")


@pytest.mark.parametrize(("text", "loop"), [(FOR, "scf.for"), (FORALL, "scf.forall")], ids=["for", "forall"])
def test_upstreams_ops_schedule_a_structured_kernel_as_it_stands(text, loop):
    module = legato.attach_schedule(legato.lower(matmul_relu, last="fused"), "matmul_relu", text)
    lowered = str(legato.lower(module, from_stage="fused", last="scheduled"))
    assert loop in lowered and "vector<4x16xf32>" in lowered and "vector.contract" in lowered
    assert "tir.for" not in lowered and "linalg." not in lowered and "transform" not in lowered
    agrees(matmul_relu, module, "fused")


def test_loops_are_raised_for_upstreams_ops():
    module = legato.attach_schedule(matmul_relu, "matmul_relu", FOR)
    assert "vector<4x16xf32>" in str(legato.lower(module, last="scheduled"))
    agrees(matmul_relu, module)
    on_loops = FOR[:FOR.index("%relu")] + """%k = transform.structured.match ops{["tir.for"]} attributes {name = "k"} in %kernel
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""
    attached = legato.attach_schedule(matmul_relu, "matmul_relu", on_loops.replace("consumed", "readonly"))
    assert "vector" not in str(legato.lower(attached, last="scheduled"))
    agrees(matmul_relu, attached)


def test_upstreams_ops_that_find_nothing_or_fail_are_told_with_the_kernel():
    module = legato.lower(matmul_relu, last="fused")
    attached = legato.attach_schedule(module, "matmul_relu", FOR.replace("linalg.matmul", "linalg.conv_2d"))
    with pytest.raises(ScheduleError, match=r"(?s)nothing in @matmul_relu matches\n  in the step: .*linalg.conv_2d.*of @matmul_relu"):
        legato.compile(attached, from_stage="fused")
    attached = legato.attach_schedule(module, "matmul_relu", FOR.replace("%fused tile_sizes", "%tiled tile_sizes"))
    with pytest.raises(ScheduleError, match=r"(?s)tile.*in the step: .*transform.structured.tile_using_for.*of @matmul_relu"):
        legato.compile(attached, from_stage="fused")
