// RUN: legato-opt %s --tir-prepare-parallel | filecheck %s

// Parallel loops come before reductions, in maps and indices alike; a copy is a nest of loops like others.
// CHECK: #[[X:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK: #[[Y:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK: linalg.generic {indexing_maps = [#[[X]], #[[Y]]], iterator_types = ["parallel", "reduction"]}
// CHECK: linalg.index 1
// CHECK: linalg.copy
func.func private @columns(%x: memref<8x4xf32>, %y: memref<4xindex>, %z: memref<4xindex> {tir.out}) attributes {tir.prim_func} {
  linalg.generic {indexing_maps = [affine_map<(r, p) -> (r, p)>, affine_map<(r, p) -> (p)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<8x4xf32>) outs(%y : memref<4xindex>) {
  ^bb0(%a: f32, %b: index):
    %0 = linalg.index 0 : index
    linalg.yield %0 : index
  }
  memref.copy %y, %z : memref<4xindex> to memref<4xindex>
  return
}
