// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.reshape' op attribute 'shape' is [4, 2], 8 elements, but x has 6: [2, 3]}}
  %0 = "relax.reshape"(%x) {shape = #relax.dims<[4, 2]>} : (tensor<2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @reshape_rest(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.reshape' op attribute 'shape' is [4, -1]: x has 6 elements ([2, 3]), which 4 does not divide}}
  %0 = "relax.reshape"(%x) {shape = #relax.dims<[4, -1]>} : (tensor<2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @reshape_two(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.reshape' op attribute 'shape' is [-1, -1], expected sizes of 0 or more, and at most one -1}}
  %0 = "relax.reshape"(%x) {shape = #relax.dims<[-1, -1]>} : (tensor<2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @reshape_symbols(%x: tensor<?x3xf32, #relax.dims<["n", 3]>>) {
  // expected-error@+1 {{'relax.reshape' op attribute 'shape' is [n + 1, 3], n * 3 + 3 elements, but x has n * 3: [n, 3]}}
  %0 = "relax.reshape"(%x) {shape = #relax.dims<["n + 1", 3]>} : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?xf32>
  return
}

// -----

func.func @permute_dims(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.permute_dims' op attribute 'axes' is [0], expected 2 values: one per axis of x}}
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @expand_dims(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.expand_dims' op attribute 'axis' is 3, expected a value from -3 to 2 for rank 3}}
  %0 = "relax.expand_dims"(%x) {axis = array<i64: 3>} : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  return
}

// -----

func.func @squeeze(%x: tensor<1x3xf32>) {
  // expected-error@+1 {{'relax.squeeze' op attribute 'axis' is [1], but axis 1 of x has size 3, expected 1}}
  %0 = "relax.squeeze"(%x) {axis = array<i64: 1>} : (tensor<1x3xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @broadcast_to(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.broadcast_to' op shapes [2, 3] and [2, 6] do not broadcast: 3 and 6 at axis -1}}
  %0 = "relax.broadcast_to"(%x) {shape = #relax.dims<[2, 6]>} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @broadcast_to_less(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.broadcast_to' op attribute 'shape' is [3], to which x of [2, 3] does not broadcast}}
  %0 = "relax.broadcast_to"(%x) {shape = #relax.dims<[3]>} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @broadcast_to_one(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.broadcast_to' op attribute 'shape' is [1, 3], to which x of [2, 3] does not broadcast}}
  %0 = "relax.broadcast_to"(%x) {shape = #relax.dims<[1, 3]>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @tile(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.tile' op attribute 'repeats' is [1, -1], expected values of 0 or more}}
  %0 = "relax.tile"(%x) {repeats = #relax.dims<[1, -1]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%arg0: tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<4x3xf32> {
  // expected-error@+1 {{attribute 'shape' is [4, 3], to which x of [n, 2] does not broadcast}}
  %0 = "relax.dynamic_broadcast_to"(%arg0) {shape = #relax.dims<[4, 3]>} : (tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
