// An upstream pass for functions may stand at the top; neighbours of upstream's run together, and mixed with passes of the user's.
// RUN: legato-opt %s --load %S/../../tools/inputs/passes.py --convert-linalg-to-loops --promote-buffers-to-stack --toy-mark --lower-affine | filecheck %s

// CHECK: func.func @f{{.*}} attributes {toy.mark = "seen"}
// CHECK: memref.alloca
// CHECK: scf.for
func.func @f(%x: f32) -> f32 {
  %0 = memref.alloc() : memref<4xf32>
  linalg.fill ins(%x : f32) outs(%0 : memref<4xf32>)
  %i = arith.constant 0 : index
  %1 = memref.load %0[%i] : memref<4xf32>
  return %1 : f32
}
