// Which rule made what of each op, and why nearer ones refused.
// RUN: legato-opt %s --load %S/inputs/rules.py --relax-legalize=target=npu --explain | filecheck %s --match-full-lines
// RUN: legato-opt %s --load %S/inputs/rules.py --relax-legalize=target=npu --explain=json | %python -m json.tool | filecheck %s --check-prefix=JSON
// RUN: not legato-opt %s --cse --explain 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not legato-opt %s --explain=xml 2>&1 | filecheck %s --check-prefix=FORM
// RUN: legato-opt %s --relax-legalize=target=llvm --explain -o %t.mlir && filecheck %s --check-prefix=IR < %t.mlir

// CHECK: target npu{cpu=host threads=1 fuse-attention=true integer-contractions=true winograd=true strassen=true tiles=4}: npu -> llvm -> cpu -> generic
// CHECK: {{ *}}graph op {{ *}}in the model {{ *}}result {{ *}}target {{ *}}rule {{ *}}defined at {{ *}}made
// CHECK-NEXT: {{ *}}relax.exp {{ *}}/gelu/Exp {{ *}}[4, 8] f32 {{ *}}npu {{ *}}fast_exp {{ *}}inputs/rules.py:18 {{ *}}@kernel_exp
// CHECK-NEXT: {{ *}}relax.softmax {{ *}}/Softmax {{ *}}[4, 8] f32 {{ *}}generic {{ *}}softmax {{ *}}generic/softmax.py:{{.*}} {{ *}}@kernel_softmax
// CHECK-NEXT: {{ *}}npu/half_softmax refused: operand 0 is f32, not f16
// CHECK-NEXT: {{ *}}npu/small_softmax refused: only up to 4 columns, not 8
// CHECK-NOT: func.func

// JSON: "target": "npu{cpu=host threads=1 fuse-attention=true integer-contractions=true winograd=true strassen=true tiles=4}"
// JSON: "op": "relax.exp"
// JSON-NEXT: "name": "/gelu/Exp"
// JSON-NEXT: "target": "npu"
// JSON-NEXT: "rule": "fast_exp"
// JSON-NEXT: "source": "inputs/rules.py:18"
// JSON: "op": "relax.softmax"
// JSON: "reason": "operand 0 is f32, not f16"
// JSON: "kernel": "kernel_softmax"

// NONE: --explain: no pass that works by a target's rules{{.*}} ran; add one, such as --relax-legalize=target=llvm
// FORM: --explain takes table or json, not "xml"
// IR: call @kernel_exp
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "relax.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("/gelu/Exp")
  %1 = "relax.softmax"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("/Softmax")
  return %1 : tensor<4x8xf32>
}
