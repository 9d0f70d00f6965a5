// RUN: legato-opt %s --split-input-file --relax-merge-composites | filecheck %s
// RUN: legato-opt %s --split-input-file --relax-merge-composites=backend=other | filecheck %s --check-prefix=OTHER
// OTHER-NOT: npu_part_0

// A chain of two becomes one function that calls both; its backend's mark moves to it.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %[[Y:.*]] = call @npu_part_0(%arg0)
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @a({{.*}} attributes {relax.composite = "npu.a"}
// CHECK: func.func private @npu_part_0(%arg0: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu"} {
// CHECK-NEXT: call @a(%arg0)
// CHECK-NEXT: call @b(
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @b(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.a"} { return %x : tensor<4xf32> }
func.func private @b(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.b"} { return %x : tensor<4xf32> }

// -----

// The diamond: a feeds c directly and by way of the host's exp. One function of a and c would wait for itself.
// CHECK-LABEL: func.func @diamond(
// CHECK-NEXT: call @a
// CHECK-NEXT: relax.exp
// CHECK-NEXT: call @c
func.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @c(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.a"} { return %x : tensor<4xf32> }
func.func private @c(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.c"} {
  return %x : tensor<4xf32>
}

// -----

// Two groups that would each be fine alone, and not together: {a, d} needs what {b, c} gives and the other way round.
// CHECK-LABEL: func.func @crossed(
// CHECK: call @npu_part_0
// CHECK-NOT: dsp_part
// CHECK: return
func.func @crossed(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @b(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %d = call @d(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = call @c(%b, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %c, %d : tensor<4xf32>, tensor<4xf32>
}
func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.a"} { return %x : tensor<4xf32> }
func.func private @d(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.d"} {
  return %x : tensor<4xf32>
}
func.func private @b(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "dsp", relax.composite = "dsp.b"} { return %x : tensor<4xf32> }
func.func private @c(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "dsp", relax.composite = "dsp.c"} {
  return %x : tensor<4xf32>
}

// -----

// A result in the middle that the host reads too comes out of the merged function; what reads it stands after.
// CHECK-LABEL: func.func @side(
// CHECK-NEXT: %[[P:.*]]:2 = call @npu_part_0(%arg0)
// CHECK-NEXT: %[[E:.*]] = "relax.exp"(%[[P]]#0)
// CHECK-NEXT: return %[[P]]#1, %[[E]]
func.func @side(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @b(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.a"} { return %x : tensor<4xf32> }
func.func private @b(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.b"} { return %x : tensor<4xf32> }

// -----

// What a cost pass has vetoed is not merged.
// CHECK-LABEL: func.func @vetoed(
// CHECK-NEXT: call @a
// CHECK-NEXT: call @b
// CHECK-NOT: npu_part
func.func @vetoed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @b(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.a"} { return %x : tensor<4xf32> }
func.func private @b(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.b", relax.veto = "small"} {
  return %x : tensor<4xf32>
}
