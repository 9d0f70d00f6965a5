// RUN: legato-opt %s --tir-simplify-conversions --canonicalize | filecheck %s

// What is clipped to the range of i8 is converted without tests of that range; a NaN is still 0.
// CHECK-LABEL: func.func private @clipped(
// CHECK: arith.cmpf olt, %{{.*}}, %[[LOW:.*]] : f32
// CHECK: arith.cmpf ogt
// CHECK: %[[ORDERED:.*]] = arith.cmpf ord
// CHECK: %[[NUMBER:.*]] = arith.select %[[ORDERED]]
// CHECK-NEXT: arith.fptosi %[[NUMBER]] : f32 to i8
// CHECK-NEXT: linalg.yield
func.func private @clipped(%x: tensor<8xf32>, %y: tensor<8xi8> {tir.out}) -> tensor<8xi8> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xi8>) {
  ^bb0(%in: f32, %out: i8):
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %zero = arith.constant 0.0 : f32
    %1 = arith.cmpf olt, %in, %low : f32
    %2 = arith.select %1, %low, %in : f32
    %3 = arith.cmpf ogt, %2, %high : f32
    %4 = arith.select %3, %high, %2 : f32
    %5 = math.roundeven %4 : f32
    %6 = arith.cmpf ord, %5, %5 : f32
    %7 = arith.select %6, %5, %zero : f32
    %8 = arith.cmpf olt, %7, %low : f32
    %9 = arith.select %8, %low, %7 : f32
    %10 = arith.cmpf ogt, %9, %high : f32
    %11 = arith.select %10, %high, %9 : f32
    %12 = arith.fptosi %11 : f32 to i8
    linalg.yield %12 : i8
  } -> tensor<8xi8>
  return %0 : tensor<8xi8>
}

// A wider clip, one that is rounded beyond the range, and a bound that is NaN (which never holds) leave the tests.
// CHECK-LABEL: func.func private @wider(
// CHECK-COUNT-5: arith.cmpf
// CHECK: linalg.yield
func.func private @wider(%x: tensor<8xf32>, %y: tensor<8xi8> {tir.out}) -> tensor<8xi8> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xi8>) {
  ^bb0(%in: f32, %out: i8):
    %high = arith.constant 127.0 : f32
    %more = arith.constant 127.4 : f32
    %most = arith.constant 127.6 : f32
    %nan = arith.constant 0x7FC00000 : f32
    %1 = arith.cmpf ogt, %in, %more : f32
    %2 = arith.select %1, %more, %in : f32
    %3 = arith.cmpf ogt, %2, %high : f32
    %4 = arith.cmpf ogt, %in, %most : f32
    %5 = arith.select %4, %most, %in : f32
    %6 = math.roundeven %5 : f32
    %7 = arith.cmpf ogt, %6, %high : f32
    %8 = arith.cmpf ogt, %in, %nan : f32
    %9 = arith.select %8, %nan, %in : f32
    %10 = arith.cmpf ogt, %9, %high : f32
    %11 = arith.ori %3, %7 : i1
    %12 = arith.ori %11, %10 : i1
    %13 = arith.extui %12 : i1 to i8
    linalg.yield %13 : i8
  } -> tensor<8xi8>
  return %0 : tensor<8xi8>
}

// The greatest product is 127.49999, but 127.5 where its steps are rounded to f32, which rounds to 128: the test stays.
// CHECK-LABEL: func.func private @rounded_steps(
// CHECK: arith.cmpf ogt
// CHECK: linalg.yield
func.func private @rounded_steps(%x: tensor<8xi8>, %y: tensor<8xf32> {tir.out}) -> tensor<8xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xi8>) outs(%y : tensor<8xf32>) {
  ^bb0(%in: i8, %out: f32):
    %zero_point = arith.constant -10 : i32
    %scale = arith.constant 0.0181777626 : f32
    %reciprocal = arith.constant 25.598774 : f32
    %high = arith.constant 127.0 : f32
    %1 = arith.extsi %in : i8 to i32
    %2 = arith.subi %1, %zero_point : i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = arith.mulf %3, %scale : f32
    %5 = arith.addf %4, %4 : f32
    %6 = arith.mulf %5, %reciprocal : f32
    %7 = math.roundeven %6 : f32
    %8 = arith.cmpf ogt, %7, %high : f32
    %9 = arith.select %8, %high, %7 : f32
    linalg.yield %9 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// What is clipped to a bound that may be NaN is as it was where the bound is NaN: the last test stays.
// CHECK-LABEL: func.func private @bound(
// CHECK-COUNT-4: arith.cmpf
// CHECK: linalg.yield
func.func private @bound(%x: tensor<8xf32>, %least: tensor<8xf32>, %y: tensor<8xi8> {tir.out}) -> tensor<8xi8> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %least : tensor<8xf32>, tensor<8xf32>) outs(%y : tensor<8xi8>) {
  ^bb0(%in: f32, %given: f32, %out: i8):
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %1 = arith.cmpf olt, %given, %zero : f32
    %2 = arith.select %1, %zero, %given : f32
    %3 = arith.cmpf ogt, %2, %one : f32
    %4 = arith.select %3, %one, %2 : f32
    %5 = arith.cmpf olt, %in, %4 : f32
    %6 = arith.select %5, %4, %in : f32
    %7 = arith.cmpf olt, %6, %zero : f32
    %8 = arith.extui %7 : i1 to i8
    linalg.yield %8 : i8
  } -> tensor<8xi8>
  return %0 : tensor<8xi8>
}

// An integer that is widened is made as wide at once; one of the other sign is not.
// CHECK-LABEL: func.func private @widened(
// CHECK: arith.fptosi %{{.*}} : f32 to i32
// CHECK: arith.fptoui %{{.*}} : f32 to i8
// CHECK-NEXT: arith.extsi
func.func private @widened(%x: tensor<8xf32>, %y: tensor<8xi32> {tir.out}) -> tensor<8xi32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xi32>) {
  ^bb0(%in: f32, %out: i32):
    %1 = arith.fptosi %in : f32 to i8
    %2 = arith.extsi %1 : i8 to i32
    %3 = arith.fptoui %in : f32 to i8
    %4 = arith.extsi %3 : i8 to i32
    %5 = arith.addi %2, %4 : i32
    linalg.yield %5 : i32
  } -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// What is quantized and dequantized again stays a float, of which the zero point is taken off before it is clipped; 0 makes -0 an integer's 0.
// What was a finite integer is no NaN behind arithmetic.
// CHECK-LABEL: func.func private @detour(
// CHECK-DAG: %[[LOW:.*]] = arith.constant -1.310000e+02 : f32
// CHECK-DAG: %[[HIGH:.*]] = arith.constant 1.240000e+02 : f32
// CHECK: %[[ROUND:.*]] = math.roundeven
// CHECK-NEXT: arith.cmpf olt, %[[ROUND]], %[[LOW]] : f32
// CHECK-NEXT: arith.select
// CHECK-NEXT: arith.cmpf ogt, %{{.*}}, %[[HIGH]] : f32
// CHECK-NEXT: arith.select
// CHECK-NEXT: arith.cmpf ord
// CHECK-NEXT: arith.select
// CHECK-NEXT: arith.addf
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: linalg.yield
func.func private @detour(%x: tensor<8xf32>, %y: tensor<8xf32> {tir.out}) -> tensor<8xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %zero = arith.constant 0.0 : f32
    %three = arith.constant 3.0 : f32
    %point = arith.constant 3 : i32
    %scale = arith.constant 0.5 : f32
    %1 = math.roundeven %in : f32
    %2 = arith.addf %1, %three : f32
    %3 = arith.cmpf olt, %2, %low : f32
    %4 = arith.select %3, %low, %2 : f32
    %5 = arith.cmpf ogt, %4, %high : f32
    %6 = arith.select %5, %high, %4 : f32
    %7 = arith.cmpf ord, %6, %6 : f32
    %8 = arith.select %7, %6, %zero : f32
    %9 = arith.fptosi %8 : f32 to i8
    %10 = arith.extsi %9 : i8 to i32
    %11 = arith.subi %10, %point : i32
    %12 = arith.sitofp %11 : i32 to f32
    %13 = arith.mulf %12, %scale : f32
    %14 = arith.cmpf ord, %13, %13 : f32
    %15 = arith.select %14, %13, %zero : f32
    linalg.yield %15 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Not where a fraction is cut off, where others read the integer, and where the sum that is clipped is none of whole numbers.
// CHECK-LABEL: func.func private @no_detour(
// CHECK-COUNT-3: arith.fptosi
// CHECK: linalg.yield
func.func private @no_detour(%x: tensor<8xf32>, %y: tensor<8xf32> {tir.out}, %z: tensor<8xi32> {tir.out}) -> (tensor<8xf32>, tensor<8xi32>)
    attributes {tir.prim_func} {
  %0:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y, %z : tensor<8xf32>, tensor<8xi32>) {
  ^bb0(%in: f32, %out: f32, %other: i32):
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %three = arith.constant 3.0 : f32
    %point = arith.constant 3 : i32
    %1 = arith.cmpf olt, %in, %low : f32
    %2 = arith.select %1, %low, %in : f32
    %3 = arith.cmpf ogt, %2, %high : f32
    %4 = arith.select %3, %high, %2 : f32
    %5 = arith.fptosi %4 : f32 to i32
    %6 = arith.sitofp %5 : i32 to f32
    %7 = math.roundeven %in : f32
    %8 = arith.addf %7, %three : f32
    %9 = arith.cmpf olt, %8, %low : f32
    %10 = arith.select %9, %low, %8 : f32
    %11 = arith.cmpf ogt, %10, %high : f32
    %12 = arith.select %11, %high, %10 : f32
    %13 = arith.fptosi %12 : f32 to i32
    %14 = arith.subi %13, %point : i32
    %15 = arith.addf %in, %three : f32
    %16 = arith.cmpf olt, %15, %low : f32
    %17 = arith.select %16, %low, %15 : f32
    %18 = arith.cmpf ogt, %17, %high : f32
    %19 = arith.select %18, %high, %17 : f32
    %20 = arith.fptosi %19 : f32 to i32
    %21 = arith.subi %20, %point : i32
    %22 = arith.addi %14, %21 : i32
    %23 = arith.muli %22, %13 : i32
    linalg.yield %6, %23 : f32, i32
  } -> (tensor<8xf32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}

// A NaN that becomes the lower bound does so in the comparison with that bound; what is 0 or more, times a positive number, is not compared
// with 0 again. A NaN that becomes another number is tested, and -0 that stays a float is not made 0.
// CHECK-LABEL: func.func private @least(
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %[[X:.*]], %[[LOW:.*]] : f32
// CHECK-NEXT: %[[FROM:.*]] = arith.select %[[ABOVE]], %[[X]], %[[LOW]] : f32
// CHECK-NEXT: %[[BEYOND:.*]] = arith.cmpf ogt, %[[FROM]], %{{.*}} : f32
// CHECK-NEXT: %[[CLIPPED:.*]] = arith.select %[[BEYOND]]
// CHECK-NEXT: arith.fptosi %[[CLIPPED]] : f32 to i8
// CHECK: arith.cmpf olt
// CHECK: math.roundeven
// CHECK-NEXT: arith.cmpf ogt
// CHECK: arith.cmpf ord
// CHECK: arith.fptoui
// CHECK: arith.cmpf ord
// CHECK: arith.cmpf ord
// CHECK-NOT: arith.cmpf
// CHECK: linalg.yield
func.func private @least(%x: tensor<8xf32>, %a: tensor<8xi8> {tir.out}, %b: tensor<8xi8> {tir.out}, %c: tensor<8xi8> {tir.out},
                         %d: tensor<8xf32> {tir.out}) -> (tensor<8xi8>, tensor<8xi8>, tensor<8xi8>, tensor<8xf32>) attributes {tir.prim_func} {
  %0:4 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
                                          affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%a, %b, %c, %d : tensor<8xi8>, tensor<8xi8>, tensor<8xi8>, tensor<8xf32>) {
  ^bb0(%in: f32, %o1: i8, %o2: i8, %o3: i8, %o4: f32):
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %zero = arith.constant 0.0 : f32
    %most = arith.constant 255.0 : f32
    %twenty = arith.constant 20.0 : f32
    %1 = math.roundeven %in : f32
    %2 = arith.cmpf olt, %1, %low : f32
    %3 = arith.select %2, %low, %1 : f32
    %4 = arith.cmpf ogt, %3, %high : f32
    %5 = arith.select %4, %high, %3 : f32
    %6 = arith.cmpf ord, %5, %5 : f32
    %7 = arith.select %6, %5, %low : f32
    %8 = arith.fptosi %7 : f32 to i8
    %9 = arith.cmpf olt, %in, %zero : f32
    %10 = arith.select %9, %zero, %in : f32
    %11 = arith.mulf %10, %twenty : f32
    %12 = math.roundeven %11 : f32
    %13 = arith.cmpf olt, %12, %zero : f32
    %14 = arith.select %13, %zero, %12 : f32
    %15 = arith.cmpf ogt, %14, %most : f32
    %16 = arith.select %15, %most, %14 : f32
    %17 = arith.cmpf ord, %16, %16 : f32
    %18 = arith.select %17, %16, %zero : f32
    %19 = arith.fptoui %18 : f32 to i8
    %20 = arith.cmpf olt, %in, %low : f32
    %21 = arith.select %20, %low, %in : f32
    %22 = arith.cmpf ogt, %21, %high : f32
    %23 = arith.select %22, %high, %21 : f32
    %24 = arith.cmpf ord, %23, %23 : f32
    %25 = arith.select %24, %23, %zero : f32
    %26 = arith.fptosi %25 : f32 to i8
    %27 = arith.cmpf olt, %in, %zero : f32
    %28 = arith.select %27, %zero, %in : f32
    %29 = arith.cmpf ogt, %28, %most : f32
    %30 = arith.select %29, %most, %28 : f32
    %31 = arith.cmpf ord, %30, %30 : f32
    %32 = arith.select %31, %30, %zero : f32
    linalg.yield %8, %19, %26, %32 : i8, i8, i8, f32
  } -> (tensor<8xi8>, tensor<8xi8>, tensor<8xi8>, tensor<8xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<8xi8>, tensor<8xi8>, tensor<8xi8>, tensor<8xf32>
}

// Integers by finite scales, which are constants in all calls, are no NaN; and no 0 is added where only an integer is made of the result.
// CHECK-LABEL: func.func @scaled(
func.func @scaled(%x: tensor<8xi32>) -> (tensor<8xi8>, tensor<8xi8>, tensor<8xi8>) {
  %a = "relax.constant"() {value = dense<0.25> : tensor<8xf32>} : () -> tensor<8xf32>
  %b = "relax.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>} : () -> tensor<8xf32>
  %infinite = "relax.constant"() {value = dense<0x7F800000> : tensor<8xf32>} : () -> tensor<8xf32>
  %y = tensor.empty() : tensor<8xi8>
  %0 = call @finite(%x, %a, %y) : (tensor<8xi32>, tensor<8xf32>, tensor<8xi8>) -> tensor<8xi8>
  %1 = call @finite(%x, %b, %y) : (tensor<8xi32>, tensor<8xf32>, tensor<8xi8>) -> tensor<8xi8>
  %2 = call @not_all_finite(%x, %a, %y) : (tensor<8xi32>, tensor<8xf32>, tensor<8xi8>) -> tensor<8xi8>
  %3 = call @not_all_finite(%x, %infinite, %y) : (tensor<8xi32>, tensor<8xf32>, tensor<8xi8>) -> tensor<8xi8>
  %c = "relax.exp"(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %4 = call @not_all_known(%x, %a, %y) : (tensor<8xi32>, tensor<8xf32>, tensor<8xi8>) -> tensor<8xi8>
  %5 = call @not_all_known(%x, %c, %y) : (tensor<8xi32>, tensor<8xf32>, tensor<8xi8>) -> tensor<8xi8>
  return %1, %3, %5 : tensor<8xi8>, tensor<8xi8>, tensor<8xi8>
}

// CHECK-LABEL: func.func private @finite(
// CHECK-NOT: arith.cmpf ord
// CHECK-NOT: arith.addf
// CHECK: arith.fptosi
// CHECK-LABEL: func.func private @not_all_finite(
// CHECK: arith.cmpf ord
// CHECK-LABEL: func.func private @not_all_known(
// CHECK: arith.cmpf ord
func.func private @finite(%x: tensor<8xi32>, %scale: tensor<8xf32>, %y: tensor<8xi8> {tir.out}) -> tensor<8xi8> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %scale : tensor<8xi32>, tensor<8xf32>) outs(%y : tensor<8xi8>) {
  ^bb0(%in: i32, %by: f32, %out: i8):
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %three = arith.constant 3.0 : f32
    %point = arith.constant 3 : i32
    %half = arith.constant 0.5 : f32
    %f = arith.sitofp %in : i32 to f32
    %s = arith.mulf %f, %by : f32
    %1 = math.roundeven %s : f32
    %2 = arith.addf %1, %three : f32
    %3 = arith.cmpf olt, %2, %low : f32
    %4 = arith.select %3, %low, %2 : f32
    %5 = arith.cmpf ogt, %4, %high : f32
    %6 = arith.select %5, %high, %4 : f32
    %7 = arith.cmpf ord, %6, %6 : f32
    %8 = arith.select %7, %6, %low : f32
    %9 = arith.fptosi %8 : f32 to i8
    %10 = arith.extsi %9 : i8 to i32
    %11 = arith.subi %10, %point : i32
    %12 = arith.sitofp %11 : i32 to f32
    %13 = arith.mulf %12, %half : f32
    %14 = math.roundeven %13 : f32
    %15 = arith.fptosi %14 : f32 to i8
    linalg.yield %15 : i8
  } -> tensor<8xi8>
  return %0 : tensor<8xi8>
}

func.func private @not_all_finite(%x: tensor<8xi32>, %scale: tensor<8xf32>, %y: tensor<8xi8> {tir.out}) -> tensor<8xi8> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %scale : tensor<8xi32>, tensor<8xf32>) outs(%y : tensor<8xi8>) {
  ^bb0(%in: i32, %by: f32, %out: i8):
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %three = arith.constant 3.0 : f32
    %point = arith.constant 3 : i32
    %half = arith.constant 0.5 : f32
    %f = arith.sitofp %in : i32 to f32
    %s = arith.mulf %f, %by : f32
    %1 = math.roundeven %s : f32
    %2 = arith.addf %1, %three : f32
    %3 = arith.cmpf olt, %2, %low : f32
    %4 = arith.select %3, %low, %2 : f32
    %5 = arith.cmpf ogt, %4, %high : f32
    %6 = arith.select %5, %high, %4 : f32
    %7 = arith.cmpf ord, %6, %6 : f32
    %8 = arith.select %7, %6, %low : f32
    %9 = arith.fptosi %8 : f32 to i8
    %10 = arith.extsi %9 : i8 to i32
    %11 = arith.subi %10, %point : i32
    %12 = arith.sitofp %11 : i32 to f32
    %13 = arith.mulf %12, %half : f32
    %14 = math.roundeven %13 : f32
    %15 = arith.fptosi %14 : f32 to i8
    linalg.yield %15 : i8
  } -> tensor<8xi8>
  return %0 : tensor<8xi8>
}

func.func private @not_all_known(%x: tensor<8xi32>, %scale: tensor<8xf32>, %y: tensor<8xi8> {tir.out}) -> tensor<8xi8> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %scale : tensor<8xi32>, tensor<8xf32>) outs(%y : tensor<8xi8>) {
  ^bb0(%in: i32, %by: f32, %out: i8):
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %three = arith.constant 3.0 : f32
    %point = arith.constant 3 : i32
    %half = arith.constant 0.5 : f32
    %f = arith.sitofp %in : i32 to f32
    %s = arith.mulf %f, %by : f32
    %1 = math.roundeven %s : f32
    %2 = arith.addf %1, %three : f32
    %3 = arith.cmpf olt, %2, %low : f32
    %4 = arith.select %3, %low, %2 : f32
    %5 = arith.cmpf ogt, %4, %high : f32
    %6 = arith.select %5, %high, %4 : f32
    %7 = arith.cmpf ord, %6, %6 : f32
    %8 = arith.select %7, %6, %low : f32
    %9 = arith.fptosi %8 : f32 to i8
    %10 = arith.extsi %9 : i8 to i32
    %11 = arith.subi %10, %point : i32
    %12 = arith.sitofp %11 : i32 to f32
    %13 = arith.mulf %12, %half : f32
    %14 = math.roundeven %13 : f32
    %15 = arith.fptosi %14 : f32 to i8
    linalg.yield %15 : i8
  } -> tensor<8xi8>
  return %0 : tensor<8xi8>
}

// The sign of a zero that something is divided by decides the sign of an infinity.
// CHECK-LABEL: func.func private @divisor(
// CHECK: %[[PLAIN:.*]] = arith.addf
// CHECK: arith.divf %{{.*}}, %[[PLAIN]]
func.func private @divisor(%x: tensor<8xf32>, %y: tensor<8xi8> {tir.out}) -> tensor<8xi8> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xi8>) {
  ^bb0(%in: f32, %out: i8):
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %1 = math.roundeven %in : f32
    %2 = arith.cmpf olt, %1, %low : f32
    %3 = arith.select %2, %low, %1 : f32
    %4 = arith.cmpf ogt, %3, %high : f32
    %5 = arith.select %4, %high, %3 : f32
    %6 = arith.cmpf ord, %5, %5 : f32
    %7 = arith.select %6, %5, %zero : f32
    %8 = arith.fptosi %7 : f32 to i8
    %9 = arith.sitofp %8 : i8 to f32
    %10 = arith.divf %one, %9 : f32
    %11 = arith.cmpf olt, %10, %low : f32
    %12 = arith.select %11, %low, %10 : f32
    %13 = arith.cmpf ogt, %12, %high : f32
    %14 = arith.select %13, %high, %12 : f32
    %15 = arith.fptosi %14 : f32 to i8
    linalg.yield %15 : i8
  } -> tensor<8xi8>
  return %0 : tensor<8xi8>
}

// The low bits of a float that is converted to a wider integer are a conversion to so many, of the sign that its range has. Kernels are
// told how great the numbers are that all calls give.
// CHECK-LABEL: func.func private @low_bits(
// CHECK-SAME: %arg0: tensor<8xf32> {tir.magnitude = 3.000000e+00 : f64}
// CHECK: arith.fptoui %{{.*}} : f32 to i8
// CHECK: arith.fptosi %{{.*}} : f32 to i8
// CHECK: %[[WIDE:.*]] = arith.fptosi %{{.*}} : f32 to i32
// CHECK: arith.trunci %[[WIDE]]
func.func @calls_low_bits(%y: tensor<8xi8>) -> (tensor<8xi8>, tensor<8xi8>, tensor<8xi8>) {
  %x = "relax.constant"() {value = dense<[1.0, 2.0, -3.0, 0.0, 1.0, 1.0, 1.0, 1.0]> : tensor<8xf32>} : () -> tensor<8xf32>
  %0:3 = call @low_bits(%x, %y, %y, %y) : (tensor<8xf32>, tensor<8xi8>, tensor<8xi8>, tensor<8xi8>)
      -> (tensor<8xi8>, tensor<8xi8>, tensor<8xi8>)
  return %0#0, %0#1, %0#2 : tensor<8xi8>, tensor<8xi8>, tensor<8xi8>
}
func.func private @low_bits(%x: tensor<8xf32>, %y: tensor<8xi8> {tir.out}, %z: tensor<8xi8> {tir.out}, %w: tensor<8xi8> {tir.out})
    -> (tensor<8xi8>, tensor<8xi8>, tensor<8xi8>) attributes {tir.prim_func} {
  %0:3 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%y, %z, %w : tensor<8xi8>, tensor<8xi8>, tensor<8xi8>) {
  ^bb0(%in: f32, %o1: i8, %o2: i8, %o3: i8):
    %zero = arith.constant 0.0 : f32
    %large = arith.constant 80.0 : f32
    %small = arith.constant 40.0 : f32
    %0 = arith.cmpf olt, %in, %zero : f32
    %positive = arith.select %0, %zero, %in : f32
    %1 = arith.mulf %positive, %large : f32
    %2 = arith.fptosi %1 : f32 to i32
    %3 = arith.trunci %2 : i32 to i8
    %4 = arith.mulf %in, %small : f32
    %5 = arith.fptosi %4 : f32 to i32
    %6 = arith.trunci %5 : i32 to i8
    %7 = arith.mulf %in, %large : f32
    %8 = arith.fptosi %7 : f32 to i32
    %9 = arith.trunci %8 : i32 to i8
    linalg.yield %3, %6, %9 : i8, i8, i8
  } -> (tensor<8xi8>, tensor<8xi8>, tensor<8xi8>)
  return %0#0, %0#1, %0#2 : tensor<8xi8>, tensor<8xi8>, tensor<8xi8>
}
