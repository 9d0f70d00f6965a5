// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @exp(
// CHECK: "relax.exp"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @exp(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.exp"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @log(
// CHECK: "relax.log"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @log(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.log"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @log2(
// CHECK: "relax.log2"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @log2(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.log2"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @log10(
// CHECK: "relax.log10"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @log10(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.log10"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @log1p(
// CHECK: "relax.log1p"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @log1p(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.log1p"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @expm1(
// CHECK: "relax.expm1"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @expm1(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.expm1"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @sqrt(
// CHECK: "relax.sqrt"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @sqrt(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.sqrt"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @rsqrt(
// CHECK: "relax.rsqrt"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @rsqrt(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.rsqrt"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @reciprocal(
// CHECK: "relax.reciprocal"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @reciprocal(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.reciprocal"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @sin(
// CHECK: "relax.sin"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @sin(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.sin"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @cos(
// CHECK: "relax.cos"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @cos(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.cos"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @tan(
// CHECK: "relax.tan"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @tan(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.tan"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @asin(
// CHECK: "relax.asin"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @asin(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.asin"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @acos(
// CHECK: "relax.acos"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @acos(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.acos"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @atan(
// CHECK: "relax.atan"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @atan(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.atan"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @sinh(
// CHECK: "relax.sinh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @sinh(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.sinh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @cosh(
// CHECK: "relax.cosh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @cosh(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.cosh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @tanh(
// CHECK: "relax.tanh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @tanh(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.tanh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @asinh(
// CHECK: "relax.asinh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @asinh(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.asinh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @acosh(
// CHECK: "relax.acosh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @acosh(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.acosh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @atanh(
// CHECK: "relax.atanh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @atanh(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.atanh"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @erf(
// CHECK: "relax.erf"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @erf(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.erf"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @erfc(
// CHECK: "relax.erfc"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @erfc(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.erfc"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @erfinv(
// CHECK: "relax.erfinv"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @erfinv(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.erfinv"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @lgamma(
// CHECK: "relax.lgamma"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @lgamma(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.lgamma"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @sigmoid(
// CHECK: "relax.sigmoid"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @sigmoid(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.sigmoid"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @relu(
// CHECK: "relax.relu"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @relu(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.relu"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @silu(
// CHECK: "relax.silu"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @silu(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.silu"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @gelu(
// CHECK: "relax.gelu"(%arg0) {approximate = "tanh"} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @gelu(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.gelu"(%arg0) {approximate = "tanh"} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @leaky_relu(
// CHECK: "relax.leaky_relu"(%arg0) {alpha = 2.500000e-01 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @leaky_relu(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.leaky_relu"(%arg0) {alpha = 2.500000e-01 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @elu(
// CHECK: "relax.elu"(%arg0) {alpha = 5.000000e-01 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @elu(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.elu"(%arg0) {alpha = 5.000000e-01 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @selu(
// CHECK: "relax.selu"(%arg0) {gamma = 2.000000e+00 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @selu(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.selu"(%arg0) {gamma = 2.000000e+00 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @celu(
// CHECK: "relax.celu"(%arg0) {alpha = 5.000000e-01 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @celu(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.celu"(%arg0) {alpha = 5.000000e-01 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @softplus(
// CHECK: "relax.softplus"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @softplus(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.softplus"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @softsign(
// CHECK: "relax.softsign"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @softsign(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.softsign"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @hard_sigmoid(
// CHECK: "relax.hard_sigmoid"(%arg0) {beta = 2.500000e-01 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @hard_sigmoid(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.hard_sigmoid"(%arg0) {beta = 2.500000e-01 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @hard_swish(
// CHECK: "relax.hard_swish"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @hard_swish(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.hard_swish"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @mish(
// CHECK: "relax.mish"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @mish(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.mish"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @thresholded_relu(
// CHECK: "relax.thresholded_relu"(%arg0) {alpha = 5.000000e-01 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @thresholded_relu(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.thresholded_relu"(%arg0) {alpha = 5.000000e-01 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @abs(
// CHECK: "relax.abs"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @abs(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.abs"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @negative(
// CHECK: "relax.negative"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @negative(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.negative"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @sign(
// CHECK: "relax.sign"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @sign(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.sign"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @square(
// CHECK: "relax.square"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @square(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.square"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @ceil(
// CHECK: "relax.ceil"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @ceil(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.ceil"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @floor(
// CHECK: "relax.floor"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @floor(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.floor"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @round(
// CHECK: "relax.round"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @round(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.round"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @trunc(
// CHECK: "relax.trunc"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @trunc(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.trunc"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @isnan(
// CHECK: "relax.isnan"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>>
func.func @isnan(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>> {
  %0 = "relax.isnan"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xi1, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @isinf(
// CHECK: "relax.isinf"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>>
func.func @isinf(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>> {
  %0 = "relax.isinf"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xi1, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @isfinite(
// CHECK: "relax.isfinite"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>>
func.func @isfinite(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>> {
  %0 = "relax.isfinite"(%arg0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xi1, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @logical_not(
// CHECK: "relax.logical_not"(%arg0) : (tensor<?x?xi1, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>>
func.func @logical_not(%arg0: tensor<?x?xi1, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>> {
  %0 = "relax.logical_not"(%arg0) : (tensor<?x?xi1, #relax.dims<["n", "m"]>>) -> tensor<?x?xi1, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xi1, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @bitwise_not(
// CHECK: "relax.bitwise_not"(%arg0) : (tensor<?x?xi32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi32, #relax.dims<["n", "m"]>>
func.func @bitwise_not(%arg0: tensor<?x?xi32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi32, #relax.dims<["n", "m"]>> {
  %0 = "relax.bitwise_not"(%arg0) : (tensor<?x?xi32, #relax.dims<["n", "m"]>>) -> tensor<?x?xi32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xi32, #relax.dims<["n", "m"]>>
}
