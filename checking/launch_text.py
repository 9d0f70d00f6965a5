"""What runs the threads of a launch, as text of MLIR: block after block, each thread until it waits, in one of two orders."""
from __future__ import annotations

from collections.abc import Sequence

SUSPEND, RESUME, STUCK = "legato.gpu.suspend", "legato.gpu.resume", "legato.gpu.stuck"   # ``coroutines`` defines them
TURN = "legato.gpu.turn"         # takes 1 for the opposite order of threads, 0 for theirs
BARRIER, SHUFFLE, DONE = 1, 2, 3   # what a thread waits for; 0: nothing
WARP = 32
IDS = ("gpu.block_id", "gpu.thread_id", "gpu.grid_dim", "gpu.block_dim")
STATES = "memref<?xi64>"

COMMON = f"""
func.func private @{SUSPEND}()
func.func private @{RESUME}(i64)
func.func private @{STUCK}()
memref.global "private" @legato.gpu.order : memref<1xi64> = dense<0>
func.func @{TURN}(%order: i64) attributes {{llvm.emit_c_interface}} {{
  %0 = arith.constant 0 : index
  %kept = memref.get_global @legato.gpu.order : memref<1xi64>
  memref.store %order, %kept[%0] : memref<1xi64>
  return
}}
func.func private @legato.gpu.turned(%number: index, %count: index) -> index {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %kept = memref.get_global @legato.gpu.order : memref<1xi64>
  %order = memref.load %kept[%0] : memref<1xi64>
  %turned = arith.trunci %order : i64 to i1
  %last = arith.subi %count, %1 : index
  %other = arith.subi %last, %number : index
  %found = arith.select %turned, %other, %number : index
  return %found : index
}}
func.func private @legato.gpu.release(%states: {STATES}, %from: index, %to: index, %waits: i64) {{
  %1 = arith.constant 1 : index
  %runs = arith.constant 0 : i64
  scf.for %t = %from to %to step %1 {{
    %state = memref.load %states[%t] : {STATES}
    %is = arith.cmpi eq, %state, %waits : i64
    scf.if %is {{
      memref.store %runs, %states[%t] : {STATES}
    }}
  }}
  return
}}
func.func private @legato.gpu.count(%states: {STATES}, %from: index, %to: index, %waits: i64) -> i64 {{
  %1 = arith.constant 1 : index
  %none = arith.constant 0 : i64
  %found = scf.for %t = %from to %to step %1 iter_args(%sum = %none) -> i64 {{
    %state = memref.load %states[%t] : {STATES}
    %is = arith.cmpi eq, %state, %waits : i64
    %one = arith.extui %is : i1 to i64
    %more = arith.addi %sum, %one : i64
    scf.yield %more : i64
  }}
  return %found : i64
}}
func.func private @legato.gpu.proceed(%states: {STATES}) -> i1 {{
  %0 = arith.constant 0 : index
  %warp = arith.constant {WARP} : index
  %none = arith.constant 0 : i64
  %barrier = arith.constant {BARRIER} : i64
  %shuffle = arith.constant {SHUFFLE} : i64
  %false = arith.constant false
  %true = arith.constant true
  %count = memref.dim %states, %0 : {STATES}
  %shuffled = scf.for %from = %0 to %count step %warp iter_args(%some = %false) -> i1 {{
    %next = arith.addi %from, %warp : index
    %to = arith.minui %next, %count : index
    %s = func.call @legato.gpu.count(%states, %from, %to, %shuffle) : ({STATES}, index, index, i64) -> i64
    %b = func.call @legato.gpu.count(%states, %from, %to, %barrier) : ({STATES}, index, index, i64) -> i64
    %has = arith.cmpi ne, %s, %none : i64
    %apart = arith.cmpi ne, %b, %none : i64
    %mixed = arith.andi %has, %apart : i1
    scf.if %mixed {{
      func.call @{STUCK}() : () -> ()
    }}
    func.call @legato.gpu.release(%states, %from, %to, %shuffle) : ({STATES}, index, index, i64) -> ()
    %either = arith.ori %some, %has : i1
    scf.yield %either : i1
  }}
  %goes = scf.if %shuffled -> i1 {{
    scf.yield %true : i1
  }} else {{
    %b = func.call @legato.gpu.count(%states, %0, %count, %barrier) : ({STATES}, index, index, i64) -> i64
    func.call @legato.gpu.release(%states, %0, %count, %barrier) : ({STATES}, index, index, i64) -> ()
    %has = arith.cmpi ne, %b, %none : i64
    scf.yield %has : i1
  }}
  return %goes : i1
}}
"""


def launch_text(name: str, given: Sequence[str], shared: Sequence[str]) -> str:
    """The function that runs a launch. It takes the sizes of grid and block, and the kernel's arguments."""
    arguments = "".join(f", %a{n}: {type_}" for n, type_ in enumerate(given))
    passed = [*(f"%a{n}" for n in range(len(given))), *(f"%s{n}" for n in range(len(shared))), "%bx", "%by", "%bz", "%tx", "%ty", "%tz",
              "%g0", "%g1", "%g2", "%b0", "%b1", "%b2", "%me", "%states", "%exchange"]
    types = [*given, *shared, *["index"] * (3 * len(IDS) + 1), STATES, STATES]
    allocated = "\n".join(f"%s{n} = memref.alloc() {{alignment = 128}} : {type_}" for n, type_ in enumerate(shared))
    freed = "\n".join(f"memref.dealloc %s{n} : {type_}" for n, type_ in enumerate(shared))
    return f"""
func.func private @legato.gpu.turned(index, index) -> index
func.func private @legato.gpu.proceed({STATES}) -> i1
func.func private @{RESUME}(i64)
func.func private @{name}.thread({', '.join(types)}) -> i64
func.func private @{name}.launch(%g0: index, %g1: index, %g2: index, %b0: index, %b1: index, %b2: index{arguments}) {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %runs = arith.constant 0 : i64
  %g01 = arith.muli %g0, %g1 : index
  %blocks = arith.muli %g01, %g2 : index
  %b01 = arith.muli %b0, %b1 : index
  %threads = arith.muli %b01, %b2 : index
  %states = memref.alloc(%threads) : {STATES}
  %handles = memref.alloc(%threads) : {STATES}
  %exchange = memref.alloc(%threads) : {STATES}
  scf.for %n = %0 to %blocks step %1 {{
    %block = func.call @legato.gpu.turned(%n, %blocks) : (index, index) -> index
    %bx = arith.remui %block, %g0 : index
    %byz = arith.divui %block, %g0 : index
    %by = arith.remui %byz, %g1 : index
    %bz = arith.divui %byz, %g1 : index
    {allocated}
    scf.for %t = %0 to %threads step %1 {{
      %me = func.call @legato.gpu.turned(%t, %threads) : (index, index) -> index
      %tx = arith.remui %me, %b0 : index
      %tyz = arith.divui %me, %b0 : index
      %ty = arith.remui %tyz, %b1 : index
      %tz = arith.divui %tyz, %b1 : index
      memref.store %runs, %states[%me] : {STATES}
      %handle = func.call @{name}.thread({', '.join(passed)}) : ({', '.join(types)}) -> i64
      memref.store %handle, %handles[%me] : {STATES}
    }}
    scf.while : () -> () {{
      %more = func.call @legato.gpu.proceed(%states) : ({STATES}) -> i1
      scf.condition(%more)
    }} do {{
      scf.for %t = %0 to %threads step %1 {{
        %me = func.call @legato.gpu.turned(%t, %threads) : (index, index) -> index
        %state = memref.load %states[%me] : {STATES}
        %ready = arith.cmpi eq, %state, %runs : i64
        scf.if %ready {{
          %handle = memref.load %handles[%me] : {STATES}
          func.call @{RESUME}(%handle) : (i64) -> ()
        }}
      }}
      scf.yield
    }}
    {freed}
  }}
  memref.dealloc %states : {STATES}
  memref.dealloc %handles : {STATES}
  memref.dealloc %exchange : {STATES}
  return
}}
"""
