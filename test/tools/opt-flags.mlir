// Passes as flags run in the order given; the same as one text; options after "=".
// RUN: legato-opt %s --load %S/inputs/passes.py --toy-mark=text=one --canonicalize --toy-mark='twice text="a b"' | filecheck %s
// RUN: legato-opt %s --load %S/inputs/passes.py \
// RUN:   --pass-pipeline='toy-mark{text=one}, func.func(canonicalize{max-iterations=3 top-down=false}), toy-mark{text="a b" twice=true}' | filecheck %s
// RUN: legato-opt %s --load %S/inputs/passes.py --toy-mark='text=z' --toy-mark='text=one sizes=3,4 layout=NCHW' | filecheck %s --check-prefix=LAST
// RUN: legato-opt %s --pass-pipeline='builtin.module(func.func(cse))' | filecheck %s --check-prefix=SAME

// CHECK: func.func @f(%arg0: i32) -> i32 attributes {toy.mark = "a b a b"} {
// CHECK-NEXT: return %arg0
// LAST: toy.mark = "one 3 4"
// SAME: arith.constant
func.func @f(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %0 = arith.addi %x, %zero : i32
  return %0 : i32
}
