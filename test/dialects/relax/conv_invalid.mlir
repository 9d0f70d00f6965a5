// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @conv1d(%x: tensor<1x4x8xf32>, %w: tensor<16x4x3x3xf32>) {
  // expected-error@+1 {{'relax.conv1d' op operand 'w' must have rank 3, has [16, 4, 3, 3]}}
  %0 = "relax.conv1d"(%x, %w) : (tensor<1x4x8xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x6xf32>
  return
}

// -----

func.func @conv2d_channels(%x: tensor<1x4x8x8xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error@+1 {{'relax.conv2d' op x has 4 channels, but w takes 3 in each of 1 groups}}
  %0 = "relax.conv2d"(%x, %w) : (tensor<1x4x8x8xf32>, tensor<16x3x3x3xf32>) -> tensor<1x16x6x6xf32>
  return
}

// -----

func.func @conv2d_groups(%x: tensor<1x4x8x8xf32>, %w: tensor<15x2x3x3xf32>) {
  // expected-error@+1 {{'relax.conv2d' op attribute 'groups' is 2, which does not divide the 15 channels of w}}
  %0 = "relax.conv2d"(%x, %w) {groups = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<15x2x3x3xf32>) -> tensor<1x15x6x6xf32>
  return
}

// -----

func.func @conv2d_strides(%x: tensor<1x4x8x8xf32>, %w: tensor<16x4x3x3xf32>) {
  // expected-error@+1 {{'relax.conv2d' op attribute 'strides' is [1], expected 2 values: one per spatial axis}}
  %0 = "relax.conv2d"(%x, %w) {strides = array<i64: 1>} : (tensor<1x4x8x8xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x6x6xf32>
  return
}

// -----

func.func @conv2d_padding(%x: tensor<1x4x8x8xf32>, %w: tensor<16x4x3x3xf32>) {
  // expected-error@+1 {{'relax.conv2d' op attribute 'padding' is [1, 1], expected 4 values: the begin of each spatial axis, then the end of each}}
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x6x6xf32>
  return
}

// -----

func.func @conv2d_dilations(%x: tensor<1x4x8x8xf32>, %w: tensor<16x4x3x3xf32>) {
  // expected-error@+1 {{'relax.conv2d' op attribute 'dilations' is [0, 1], expected values of 1 or more}}
  %0 = "relax.conv2d"(%x, %w) {dilations = array<i64: 0, 1>} : (tensor<1x4x8x8xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x6x6xf32>
  return
}

// -----

func.func @conv2d_layout(%x: tensor<1x4x8x8xf32>, %w: tensor<16x4x3x3xf32>) {
  // expected-error@+1 {{'relax.conv2d' op attribute 'data_layout' must be one of 'NCHW', 'NHWC', found "NCWH"}}
  %0 = "relax.conv2d"(%x, %w) {data_layout = "NCWH"} : (tensor<1x4x8x8xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x6x6xf32>
  return
}

// -----

func.func @conv2d_too_small(%x: tensor<1x4x2x8xf32>, %w: tensor<16x4x3x3xf32>) {
  // expected-error@+1 {{'relax.conv2d' op the window of 3 is larger than spatial axis 0: 2 and a padding of 0 + 0}}
  %0 = "relax.conv2d"(%x, %w) : (tensor<1x4x2x8xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x1x6xf32>
  return
}

// -----

func.func @conv3d(%x: tensor<1x4x8x8x8xf32>, %w: tensor<16x4x?x3x3xf32>) {
  // expected-error@+1 {{'relax.conv3d' op operand 'w' must have static spatial sizes, has [?, 3, 3]}}
  %0 = "relax.conv3d"(%x, %w) : (tensor<1x4x8x8x8xf32>, tensor<16x4x?x3x3xf32>) -> tensor<1x16x6x6x6xf32>
  return
}

// -----

func.func @conv2d_transpose(%x: tensor<1x4x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error@+1 {{'relax.conv2d_transpose' op x has 4 channels, but w takes 3}}
  %0 = "relax.conv2d_transpose"(%x, %w) : (tensor<1x4x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<1x4x10x10xf32>
  return
}

// -----

func.func @conv2d_transpose_output_padding(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>) {
  // expected-error@+1 {{'relax.conv2d_transpose' op attribute 'output_padding' is [1, 0], expected values from 0 to below [1, 1]}}
  %0 = "relax.conv2d_transpose"(%x, %w) {output_padding = array<i64: 1, 0>} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x10x10xf32>
  return
}

// -----

func.func @conv2d_transpose_padding(%x: tensor<1x4x1x8xf32>, %w: tensor<4x4x3x3xf32>) {
  // expected-error@+1 {{'relax.conv2d_transpose' op the padding [2, 0, 2, 0] leaves nothing of spatial axis 0}}
  %0 = "relax.conv2d_transpose"(%x, %w) {padding = array<i64: 2, 0, 2, 0>} : (tensor<1x4x1x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x10x10xf32>
  return
}

// -----

func.func @conv1d_transpose(%x: tensor<1x4x8xf32>, %w: tensor<3x4x3xf32>) {
  // expected-error@+1 {{'relax.conv1d_transpose' op x has 4 channels, but w takes 3}}
  %0 = "relax.conv1d_transpose"(%x, %w) : (tensor<1x4x8xf32>, tensor<3x4x3xf32>) -> tensor<1x4x8xf32>
  return
}

// -----

func.func @conv3d_transpose(%x: tensor<1x4x8x8x8xf32>, %w: tensor<3x4x3x3x3xf32>) {
  // expected-error@+1 {{'relax.conv3d_transpose' op x has 4 channels, but w takes 3}}
  %0 = "relax.conv3d_transpose"(%x, %w) : (tensor<1x4x8x8x8xf32>, tensor<3x4x3x3x3xf32>) -> tensor<1x4x8x8x8xf32>
  return
}
