"""Planning memory: nothing overlaps that is in use at the same time, what can be reused is, and main of every form stays right."""
import itertools
import random

import numpy as np
import pytest
from models import ADD, SYMBOLIC, build, numbers

from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.relax.dims import parse, substitute, symbols
from legato.passes.memory.plan_memory.placement import Life, place
from legato.passes.memory.plan_memory.plan_memory import plan_memory


def value(size, **sizes) -> int:
    return int(substitute(size, sizes)) if symbols(size) else size


def plan(text):
    module = Module.parse(text)
    with module.context, ir.Location.unknown():
        placement = plan_memory(module.module)[0]
        module.operation.verify()
    return placement, str(module)


@pytest.mark.parametrize("seed", range(20))
def test_buffers_in_use_at_the_same_time_do_not_overlap(seed):
    rng = random.Random(seed)
    sizes = [0, 4, 64, 100, 4096, 1 << 20, "n * 4", "n * 1536", "n * m * 48", "n * n * 12 + 7", "m", "(n + 1) // 2 * 640"]
    lives = []
    for _ in range(rng.randrange(1, 60)):
        first = rng.randrange(50)
        size = rng.choice(sizes)
        lives.append(Life(parse(size) if isinstance(size, str) else size, first, first + rng.randrange(8)))
    placement = place(lives)
    for n, m in ((0, 0), (1, 1), (7, 128), (500, 3), (128, 128)):
        at = [value(offset, n=n, m=m) for offset in placement.offsets]
        size = [value(life.size, n=n, m=m) for life in lives]
        total = value(placement.total, n=n, m=m)
        assert all(offset % 64 == 0 for offset in at)
        assert all(offset + s <= total for offset, s in zip(at, size))
        for i, j in itertools.combinations(range(len(lives)), 2):
            if lives[i].overlaps(lives[j]):
                assert at[i] + size[i] <= at[j] or at[j] + size[j] <= at[i] or 0 in (size[i], size[j])


def test_a_chain_needs_two_buffers():
    assert place([Life(1000, i, i + 1) for i in range(50)]).total == 2 * 1024
    chain = place([Life(parse("n * 64"), i, i + 1) for i in range(50)])
    assert str(chain.total) == "n * 128" and str(chain.without_reuse) == "n * 3200"


def test_a_slot_is_as_large_as_its_largest_member():
    """For sizes whose order is known the larger is taken; else the maximum is computed at run time."""
    assert str(place([Life(parse("n * 64"), 0, 0), Life(parse("n * 128"), 1, 1)]).total) == "n * 128"
    mixed = place([Life(parse("n * n * 64"), 0, 0), Life(parse("n * 12800"), 1, 1)]).total
    assert [value(mixed, n=n) for n in (1, 200, 1000)] == [12800, 200 * 12800, 1000 * 1000 * 64]


def test_constant_sizes_lie_before_symbolic_ones():
    placement = place([Life(parse("n * 64"), 0, 5), Life(100, 0, 5), Life(100, 1, 5)])
    assert [str(o) for o in placement.offsets] == ["256", "0", "128"]


def test_main_of_symbolic_shapes():
    placement, text = plan(SYMBOLIC)
    assert str(placement.total) == "((n * 32 + 63) // 64) * 128" and len(placement.offsets) == 2
    assert "memref.alloc" not in text
    assert "%arg4: memref<i8> {tir.arena}, %arg5: index {relax.symbol = \"n\"}) -> i32" in text


def test_a_view_prolongs_a_life():
    """%0 is read by the last call through a view, so %1 cannot lie there."""
    placement, _ = plan(ADD + """
func.func @main(%x: memref<4x8xf32>) -> memref<4x8xf32> {
  %0 = memref.alloc() : memref<4x8xf32>
  call @add(%x, %x, %0) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  %flat = memref.collapse_shape %0 [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  %again = memref.expand_shape %flat [[0, 1]] output_shape [4, 8] : memref<32xf32> into memref<4x8xf32>
  %1 = memref.alloc() : memref<4x8xf32>
  call @add(%x, %x, %1) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  %2 = memref.alloc() : memref<4x8xf32>
  call @add(%again, %1, %2) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  return %2 : memref<4x8xf32>
}""")
    assert placement.offsets == (0, 128) and placement.total == 256


BRANCHES = ADD + """
func.func @main(%x: memref<4x8xf32> {relax.name = "x"}, %c: memref<1xi8> {relax.name = "c"}) -> memref<4x8xf32>
    attributes {relax.signature = (tensor<4x8xf32>, tensor<1xi1>) -> tensor<4x8xf32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %byte = memref.load %c[%c0] : memref<1xi8>
  %yes = arith.trunci %byte : i8 to i1
  %0 = scf.if %yes -> memref<4x8xf32> {
    %a = memref.alloc() : memref<4x8xf32>
    func.call @add(%x, %x, %a) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
    scf.yield %a : memref<4x8xf32>
  } else {
    scf.yield %x : memref<4x8xf32>
  }
  %sum = memref.alloc() : memref<4x8xf32>
  memref.copy %0, %sum : memref<4x8xf32> to memref<4x8xf32>
  scf.for %i = %c0 to %c3 step %c1 {
    %t = memref.alloc() : memref<4x8xf32>
    func.call @add(%sum, %0, %t) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
    memref.copy %t, %sum : memref<4x8xf32> to memref<4x8xf32>
    memref.dealloc %t : memref<4x8xf32>
  }
  return %sum : memref<4x8xf32>
}"""


def test_regions_in_main():
    """What a branch gives is in use as long as the branch's result; a buffer of a loop as long as the loop."""
    placement, _ = plan(BRANCHES)
    assert placement.offsets == (0, 128)
    exe, x = build(BRANCHES), numbers(4, 8)
    np.testing.assert_array_equal(exe(x, np.array([True])), x * 8)
    np.testing.assert_array_equal(exe(x, np.array([False])), x * 4)


def test_a_buffer_carried_by_a_loop():
    """It lies in one of two arenas in turn."""
    text = ADD + """
func.func @main(%x: memref<4x8xf32>) -> memref<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (memref<4x8xf32>) {
    %t = memref.alloc() : memref<4x8xf32>
    func.call @add(%a, %x, %t) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
    scf.yield %t : memref<4x8xf32>
  }
  return %r : memref<4x8xf32>
}"""
    x = numbers(4, 8)
    np.testing.assert_array_equal(build(text)(x), x + x + x + x)


def test_results_that_are_views_or_returned_twice():
    """A whole view of a buffer can be a result; the second time the same is returned, and parts of something, are copies."""
    text = ADD + """
func.func @main(%x: memref<4x8xf32> {relax.name = "x"}) -> (memref<32xf32>, memref<4x8xf32>, memref<2x8xf32>) {
  %0 = memref.alloc() : memref<4x8xf32>
  call @add(%x, %x, %0) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  %flat = memref.collapse_shape %0 [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  %part = memref.subview %0[2, 0] [2, 8] [1, 1] : memref<4x8xf32> to memref<2x8xf32, strided<[8, 1], offset: 16>>
  %whole = memref.alloc() : memref<2x8xf32>
  memref.copy %part, %whole : memref<2x8xf32, strided<[8, 1], offset: 16>> to memref<2x8xf32>
  return %flat, %0, %whole : memref<32xf32>, memref<4x8xf32>, memref<2x8xf32>
}"""
    placement, planned = plan(text)
    assert placement.total == 0 and planned.count("memref.copy") == 2
    x = numbers(4, 8)
    flat, whole, part = build(text)(x)
    np.testing.assert_array_equal(flat, x.ravel() * 2)
    np.testing.assert_array_equal(whole, x * 2)
    np.testing.assert_array_equal(part, x[2:] * 2)


def test_an_unused_buffer_takes_nothing():
    placement, text = plan("""
func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
  %0 = memref.alloc() : memref<1000xf32>
  %v = memref.expand_shape %0 [[0, 1]] output_shape [10, 100] : memref<1000xf32> into memref<10x100xf32>
  memref.dealloc %0 : memref<1000xf32>
  return %x : memref<4xf32>
}""")
    assert placement.total == 0 and "memref.alloc" not in text


def test_arenas_grow_and_are_kept():
    """One call after the other uses the same arena; a larger one takes its place when it has to."""
    exe = build(SYMBOLIC)
    for n in (4, 400, 4, 4000, 1):
        x = np.ones((n, 8), np.float32)
        assert (exe(x, x)[0] == 8).all()
