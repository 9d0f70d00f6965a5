// A table of times; upstream's passes are timed one by one.
// RUN: legato-opt %s --canonicalize --cse --canonicalize --timing 2>&1 >/dev/null | filecheck %s
// CHECK: time{{ +}}share{{ +}}what
// CHECK: ms{{ +[0-9.]+%.*}} start
// CHECK: ms{{ +[0-9.]+%.*}} parse
// CHECK: ms{{ +[0-9.]+%.*}} canonicalize  (2 runs)
// CHECK: ms{{ +[0-9.]+%.*}} cse
// CHECK: ms{{ +[0-9.]+%.*}} verify
// CHECK: ms{{ +[0-9.]+%.*}} print
// CHECK: 100.0%{{ +}}total
func.func @f() { return }
