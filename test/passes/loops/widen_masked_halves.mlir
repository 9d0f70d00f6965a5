// RUN: legato-opt %s --tir-widen-masked-halves | filecheck %s

// A mask encloses one op, so that casts stand around it.
// CHECK-LABEL: func.func @dot(
// CHECK: %[[A:.*]] = arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: %[[B:.*]] = arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: %[[C:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[SUM:.*]] = vector.mask %{{.*}} { vector.contract {{.*}} %[[A]], %[[B]], %[[C]] : vector<8xf32>, vector<8xf32> into f32 }
// CHECK: %[[HALF:.*]] = arith.truncf %[[SUM]] : f32 to f16
// CHECK: return %[[HALF]]
func.func @dot(%a: vector<8xf16>, %b: vector<8xf16>, %c: f16, %mask: vector<8xi1>) -> f16 {
  %0 = vector.mask %mask {
    vector.contract {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> ()>], iterator_types = ["reduction"],
                     kind = #vector.kind<add>} %a, %b, %c : vector<8xf16>, vector<8xf16> into f16
  } : vector<8xi1> -> f16
  return %0 : f16
}

// CHECK-LABEL: func.func @columns(
// CHECK: vector.mask %{{.*}} { vector.multi_reduction <maximumf>, %{{.*}}, %{{.*}} [0] : vector<4x8xf32> to vector<8xf32> }
// CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
func.func @columns(%x: vector<4x8xbf16>, %y: vector<8xbf16>, %mask: vector<4x8xi1>) -> vector<8xbf16> {
  %0 = vector.mask %mask { vector.multi_reduction <maximumf>, %x, %y [0] : vector<4x8xbf16> to vector<8xbf16> } : vector<4x8xi1> -> vector<8xbf16>
  return %0 : vector<8xbf16>
}

// CHECK-LABEL: func.func @moved(
// CHECK-NOT: arith.extf
// CHECK: return
func.func @moved(%x: memref<8xf16>, %pad: f16, %mask: vector<8xi1>) -> vector<8xf16> {
  %c0 = arith.constant 0 : index
  %0 = vector.mask %mask { vector.transfer_read %x[%c0], %pad : memref<8xf16>, vector<8xf16> } : vector<8xi1> -> vector<8xf16>
  return %0 : vector<8xf16>
}
