// RUN: legato-opt %s --relax-require-sizes | filecheck %s
// RUN: legato-opt %s --relax-require-sizes --relax-require-sizes | filecheck %s
// RUN: legato-opt %s '--relax-require-sizes=unused=true' | filecheck %s --check-prefix=UNUSED
// What is only known at a call: a symbolic end of a slice within its axis, sizes that are not below 0, tensors of too many bytes.

// CHECK-LABEL: func.func @main
// CHECK-SAME: relax.requires = [
// CHECK-SAME: ["20 - n", "relax.strided_slice \22positions\22 needs n <= 20"]
// CHECK-SAME: ["n - 2", "relax.pad \22inner\22 has a dimension of n - 2, which needs n - 2 >= 0"]
func.func @main(%x: tensor<20x?xf32, #relax.dims<[20, "n"]>>) -> (tensor<?x?xf32, #relax.dims<["n", "n"]>>, tensor<20x?xf32, #relax.dims<[20, "n - 2"]>>) {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<["n"]>, axes = array<i64: 0>} : (tensor<20x?xf32, #relax.dims<[20, "n"]>>) -> tensor<?x?xf32, #relax.dims<["n", "n"]>> loc("positions")
  %1 = "relax.pad"(%x) {pads = array<i64: 0, -1, 0, -1>} : (tensor<20x?xf32, #relax.dims<[20, "n"]>>) -> tensor<20x?xf32, #relax.dims<[20, "n - 2"]>> loc("inner")
  return %0, %1 : tensor<?x?xf32, #relax.dims<["n", "n"]>>, tensor<20x?xf32, #relax.dims<[20, "n - 2"]>>
}

// The bytes of a tensor may wrap where its size is of a higher degree than an argument's; n * n is not covered by m * n * n, since m may
// be 0. The last tensor has no row: the one before is larger.
// CHECK-LABEL: func.func @outer
// CHECK-SAME: relax.bytes = {{\[\[}}"m * n * n * 4", "relax.add \22cube\22 makes a tensor of [m, n, n] f32, more than 2**56 bytes"],
// CHECK-SAME: ["n * n * 4", "relax.add \22square\22 makes a tensor of [n, n] f32, more than 2**56 bytes"]]}
func.func @outer(%x: tensor<?xf32, #relax.dims<["n"]>>, %y: tensor<?x1x?xf32, #relax.dims<["m", 1, "n"]>>)
    -> tensor<?x?x?xf16, #relax.dims<["m", "n", "n"]>> {
  %0 = "relax.reshape"(%x) {shape = #relax.dims<["n", 1]>} : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?x1xf32, #relax.dims<["n", 1]>>
  %1 = "relax.add"(%0, %x) : (tensor<?x1xf32, #relax.dims<["n", 1]>>, tensor<?xf32, #relax.dims<["n"]>>)
    -> tensor<?x?xf32, #relax.dims<["n", "n"]>> loc("square")
  %2 = "relax.add"(%1, %y) : (tensor<?x?xf32, #relax.dims<["n", "n"]>>, tensor<?x1x?xf32, #relax.dims<["m", 1, "n"]>>)
    -> tensor<?x?x?xf32, #relax.dims<["m", "n", "n"]>> loc("cube")
  %3 = "relax.astype"(%2) {dtype = f16} : (tensor<?x?x?xf32, #relax.dims<["m", "n", "n"]>>)
    -> tensor<?x?x?xf16, #relax.dims<["m", "n", "n"]>> loc("half")
  return %3 : tensor<?x?x?xf16, #relax.dims<["m", "n", "n"]>>
}

// Sizes that an op takes to be equal, and one that may be 1, with the arguments that give their symbols.
// CHECK-LABEL: func.func @equal
// CHECK-SAME: relax.requires = {{\[\[}}"m", "relax.add \22sum\22 needs m to be n, the size of another operand at axis -1; m is dimension 0 of 'b', n is dimension 0 of 'a'", "n"],
// CHECK-SAME: ["broadcast(m, 4)", "relax.dynamic_broadcast_to \22wide\22 needs m, its size at axis 0, to be 1 or 4; m is dimension 0 of 'b'", "4"]]
func.func @equal(%x: tensor<?xf32, #relax.dims<["n"]>> {relax.name = "a"}, %y: tensor<?xf32, #relax.dims<["m"]>> {relax.name = "b"})
    -> (tensor<?xf32, #relax.dims<["n"]>>, tensor<4xf32>) {
  %0 = "relax.add"(%x, %y) : (tensor<?xf32, #relax.dims<["n"]>>, tensor<?xf32, #relax.dims<["m"]>>) -> tensor<?xf32, #relax.dims<["n"]>> loc("sum")
  %1 = "relax.dynamic_broadcast_to"(%y) {shape = #relax.dims<[4]>} : (tensor<?xf32, #relax.dims<["m"]>>) -> tensor<4xf32> loc("wide")
  return %0, %1 : tensor<?xf32, #relax.dims<["n"]>>, tensor<4xf32>
}

// Ops that nothing uses vanish, but their sizes may have been used: here 1, the size of a slice of an axis that must not be empty.
// CHECK-LABEL: func.func @unused
// CHECK-SAME: relax.requires = {{\[\[}}"n - 1", "relax.strided_slice \22part\22 needs n >= 1"], ["m - 1", "relax.strided_slice \22used\22 needs m >= 1"]]
// UNUSED-NOT: relax.requires
// UNUSED-LABEL: func.func @unused
// UNUSED-SAME: relax.requires = {{\[\[}}"n - 1", "relax.strided_slice \22part\22 needs n >= 1"]]
func.func @unused(%x: tensor<?xf32, #relax.dims<["n"]>>, %y: tensor<?xf32, #relax.dims<["m"]>>) -> (tensor<1xi64>, tensor<1xf32>) {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[1]>} : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<1xf32> loc("part")
  %1 = "relax.negative"(%0) : (tensor<1xf32>) -> tensor<1xf32>
  %2 = "relax.strided_slice"(%y) {begin = #relax.dims<[0]>, end = #relax.dims<[1]>} : (tensor<?xf32, #relax.dims<["m"]>>) -> tensor<1xf32> loc("used")
  %3 = "relax.constant"() {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  return %3, %2 : tensor<1xi64>, tensor<1xf32>
}

// What a branch or loop requires of sizes that are known before it is checked where it begins; what it requires of its own, by main.
// CHECK-LABEL: func.func @branches
// CHECK-SAME: relax.requires = {{\[\[}}"k", "relax.size_of \22count\22 needs valid operands: the size k, which they give, must be 0 or more"]]
// CHECK: scf.if
// CHECK: %[[N:.*]] = tensor.dim
// CHECK: %[[FOUND:.*]] = arith.addi
// CHECK: call @legato.require_1(%[[FOUND]]) {relax.requires = {{\[\[}}"n - 1", "relax.strided_slice \22part\22 needs n >= 1"]]}
// CHECK: call @legato.require_2(%{{.*}}, %{{.*}}) {relax.requires = {{\[\[}}"m", "relax.add \22sum\22 needs m to be n, the size of another operand at axis -1; m is dimension 0 of 'b', n is dimension 0 of 'a'", "n"]]}
// CHECK: relax.strided_slice
// CHECK: } else {
// CHECK-NOT: legato.require
// CHECK: return
func.func @branches(%x: tensor<?xf32, #relax.dims<["n"]>> {relax.name = "a"}, %y: tensor<?xf32, #relax.dims<["m"]>> {relax.name = "b"},
                    %v: tensor<1xi64>, %c: i1) -> tensor<1xf32> {
  %0 = scf.if %c -> tensor<1xf32> {
    %1 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[1]>} : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<1xf32> loc("part")
    %2 = "relax.add"(%x, %y) : (tensor<?xf32, #relax.dims<["n"]>>, tensor<?xf32, #relax.dims<["m"]>>) -> tensor<?xf32, #relax.dims<["n"]>> loc("sum")
    scf.yield %1 : tensor<1xf32>
  } else {
    %1 = "relax.size_of"(%v) {sizes = #relax.dims<["k"]>} : (tensor<1xi64>) -> tensor<?x0xi8, #relax.dims<["k", 0]>> loc("count")
    %2 = "relax.constant"() {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
    scf.yield %2 : tensor<1xf32>
  }
  return %0 : tensor<1xf32>
}
