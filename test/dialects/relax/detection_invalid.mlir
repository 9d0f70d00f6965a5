// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @corners(%boxes: tensor<2x8x3xf32>, %scores: tensor<2x5x8xf32>, %candidates: tensor<2x5x8xi1>, %threshold: tensor<f32>) {
  // expected-error@+1 {{'relax.non_max_suppression' op operands must be boxes [batch, boxes, 4] and scores [batch, classes, boxes], found [2, 8, 3] and [2, 5, 8]}}
  %0 = "relax.non_max_suppression"(%boxes, %scores, %candidates, %threshold) {k = 3 : i64} : (tensor<2x8x3xf32>, tensor<2x5x8xf32>, tensor<2x5x8xi1>, tensor<f32>) -> tensor<2x5x3xi64>
  return
}

// -----

func.func @scores(%boxes: tensor<2x8x4xf32>, %scores: tensor<2x5x9xf32>, %candidates: tensor<2x5x9xi1>, %threshold: tensor<f32>) {
  // expected-error@+1 {{'relax.non_max_suppression' op operand 'scores' is [2, 5, 9], which does not fit the boxes [2, 8, 4]}}
  %0 = "relax.non_max_suppression"(%boxes, %scores, %candidates, %threshold) {k = 3 : i64} : (tensor<2x8x4xf32>, tensor<2x5x9xf32>, tensor<2x5x9xi1>, tensor<f32>) -> tensor<2x5x3xi64>
  return
}

// -----

func.func @candidates(%boxes: tensor<2x8x4xf32>, %scores: tensor<2x5x8xf32>, %candidates: tensor<2x6x8xi1>, %threshold: tensor<f32>) {
  // expected-error@+1 {{'relax.non_max_suppression' op operand 'candidates' is [2, 6, 8], expected [2, 5, 8], the shape of the scores}}
  %0 = "relax.non_max_suppression"(%boxes, %scores, %candidates, %threshold) {k = 3 : i64} : (tensor<2x8x4xf32>, tensor<2x5x8xf32>, tensor<2x6x8xi1>, tensor<f32>) -> tensor<2x5x3xi64>
  return
}

// -----

func.func @threshold(%boxes: tensor<2x8x4xf32>, %scores: tensor<2x5x8xf32>, %candidates: tensor<2x5x8xi1>, %threshold: tensor<1xf32>) {
  // expected-error@+1 {{'relax.non_max_suppression' op operand 'threshold' must be a scalar, has [1]}}
  %0 = "relax.non_max_suppression"(%boxes, %scores, %candidates, %threshold) {k = 3 : i64} : (tensor<2x8x4xf32>, tensor<2x5x8xf32>, tensor<2x5x8xi1>, tensor<1xf32>) -> tensor<2x5x3xi64>
  return
}

// -----

func.func @places(%boxes: tensor<2x8x4xf32>, %scores: tensor<2x5x8xf32>, %candidates: tensor<2x5x8xi1>, %threshold: tensor<f32>) {
  // expected-error@+1 {{'relax.non_max_suppression' op attribute 'k' is -1, expected 0 or more}}
  %0 = "relax.non_max_suppression"(%boxes, %scores, %candidates, %threshold) {k = -1 : i64} : (tensor<2x8x4xf32>, tensor<2x5x8xf32>, tensor<2x5x8xi1>, tensor<f32>) -> tensor<2x5x3xi64>
  return
}

// -----

func.func @images(%x: tensor<2x50x60xf32>, %regions: tensor<9x4xf32>, %images: tensor<9xi64>) {
  // expected-error@+1 {{'relax.roi_align' op operand 'x' must have rank 4, NCHW, has [2, 50, 60]}}
  %0 = "relax.roi_align"(%x, %regions, %images) {size = array<i64: 7, 5>} : (tensor<2x50x60xf32>, tensor<9x4xf32>, tensor<9xi64>) -> tensor<9x16x7x5xf32>
  return
}

// -----

func.func @coordinates(%x: tensor<2x16x50x60xf32>, %regions: tensor<9x5xf32>, %images: tensor<9xi64>) {
  // expected-error@+1 {{'relax.roi_align' op operand 'regions' must be corners [regions, 4], has [9, 5]}}
  %0 = "relax.roi_align"(%x, %regions, %images) {size = array<i64: 7, 5>} : (tensor<2x16x50x60xf32>, tensor<9x5xf32>, tensor<9xi64>) -> tensor<9x16x7x5xf32>
  return
}

// -----

func.func @numbers(%x: tensor<2x16x50x60xf32>, %regions: tensor<9x4xf32>, %images: tensor<8xi64>) {
  // expected-error@+1 {{'relax.roi_align' op operand 'images' is [8], expected a number for each of the regions [9, 4]}}
  %0 = "relax.roi_align"(%x, %regions, %images) {size = array<i64: 7, 5>} : (tensor<2x16x50x60xf32>, tensor<9x4xf32>, tensor<8xi64>) -> tensor<9x16x7x5xf32>
  return
}

// -----

func.func @bins(%x: tensor<2x16x50x60xf32>, %regions: tensor<9x4xf32>, %images: tensor<9xi64>) {
  // expected-error@+1 {{'relax.roi_align' op attribute 'size' is [7, 0], expected two numbers of bins, 1 or more}}
  %0 = "relax.roi_align"(%x, %regions, %images) {size = array<i64: 7, 0>} : (tensor<2x16x50x60xf32>, tensor<9x4xf32>, tensor<9xi64>) -> tensor<9x16x7x0xf32>
  return
}

// -----

func.func @points(%x: tensor<2x16x50x60xf32>, %regions: tensor<9x4xf32>, %images: tensor<9xi64>) {
  // expected-error@+1 {{'relax.roi_align' op attribute 'sampling' is -1, expected 0 or more}}
  %0 = "relax.roi_align"(%x, %regions, %images) {size = array<i64: 7, 5>, sampling = -1 : i64} : (tensor<2x16x50x60xf32>, tensor<9x4xf32>, tensor<9xi64>) -> tensor<9x16x7x5xf32>
  return
}

// -----

func.func @pooled(%x: tensor<2x50x60x16xf32>, %regions: tensor<9x4xf32>, %images: tensor<9xi64>) {
  // expected-error@+1 {{'relax.roi_pool' op attribute 'size' is [7], expected two numbers of bins, 1 or more}}
  %0 = "relax.roi_pool"(%x, %regions, %images) {channels_last = true, size = array<i64: 7>} : (tensor<2x50x60x16xf32>, tensor<9x4xf32>, tensor<9xi64>) -> tensor<9x7x7x16xf32>
  return
}
