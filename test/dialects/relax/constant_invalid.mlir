// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @neither() {
  // expected-error@+1 {{'relax.constant' op needs exactly one of the attributes 'value' and 'weight', has neither}}
  %0 = "relax.constant"() : () -> tensor<2xf32>
  return
}

// -----

func.func @both() {
  // expected-error@+1 {{'relax.constant' op needs exactly one of the attributes 'value' and 'weight', has both}}
  %0 = "relax.constant"() {value = dense<1.0> : tensor<2xf32>, weight = "w"} : () -> tensor<2xf32>
  return
}

// -----

func.func @type() {
  // expected-error@+1 {{'relax.constant' op result is declared tensor<3xf32>, but its operands make tensor<2xf32>}}
  %0 = "relax.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<3xf32>
  return
}

// -----

func.func @kind() {
  // expected-error@+1 {{'relax.constant' op attribute 'weight' must be a string, found 3 : i64}}
  %0 = "relax.constant"() {weight = 3 : i64} : () -> tensor<2xf32>
  return
}
