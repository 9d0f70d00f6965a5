// RUN: legato-opt %s --load %S/inputs/npu.py --relax-run-codegen=backend=npu | filecheck %s
// RUN: legato-opt %s --load %S/inputs/npu.py --relax-run-codegen=backend=dsp | filecheck %s --check-prefix=NONE

// The backend makes an artifact of its external module, and the declaration names a packed function; others' modules stay.
// CHECK: func.func private @npu_part_0({{.*}} attributes {relax.packed = "npu.part_0"}
// CHECK: module @npu attributes {relax.artifacts = [{functions = {part_0 = "npu.part_0"}, kind = "python", where = "test_backend:run"}]
// NONE: func.func private @npu_part_0({{.*}} attributes {relax.external = @npu::@part_0}
// NONE: module @npu attributes {relax.codegen = "npu"}
module {
  func.func private @npu_part_0(tensor<4xf32>, tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {relax.external = @npu::@part_0}
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %0 = call @npu_part_0(%x, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @npu attributes {relax.codegen = "npu"} {
    func.func @part_0(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "relax.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}
