// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @value(
// CHECK: "relax.constant"() {value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>} : () -> tensor<2xf32>
func.func @value() -> tensor<2xf32> {
  %0 = "relax.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: @bits(
// CHECK: "relax.constant"() {value = dense<[true, false]> : tensor<2xi1>} : () -> tensor<2xi1>
// CHECK: "relax.constant"() {value = dense<[0x7FC0, 1.000000e+00]> : tensor<2xbf16>} : () -> tensor<2xbf16>
// CHECK: "relax.constant"() {value = dense<255> : tensor<ui8>} : () -> tensor<ui8>
func.func @bits() {
  %0 = "relax.constant"() {value = dense<[true, false]> : tensor<2xi1>} : () -> tensor<2xi1>
  %1 = "relax.constant"() {value = dense<[0x7FC0, 1.0]> : tensor<2xbf16>} : () -> tensor<2xbf16>
  %2 = "relax.constant"() {value = dense<255> : tensor<ui8>} : () -> tensor<ui8>
  return
}
