// Arenas at rest: an instance has 16 slots, each null or an arena, exchanged atomically. An arena's capacity stands 64 bytes before it.

llvm.func internal @legato.take_arena(%self: !llvm.ptr, %bytes: i64) -> !llvm.ptr {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %16 = llvm.mlir.constant(16 : i64) : i64
  %64 = llvm.mlir.constant(64 : i64) : i64
  %127 = llvm.mlir.constant(127 : i64) : i64
  %align = llvm.mlir.constant(-64 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %slots = llvm.getelementptr %self[0, 2] : (!llvm.ptr) -> !llvm.ptr, !state
  %none = llvm.icmp "sle" %bytes, %0 : i64
  llvm.cond_br %none, ^nothing, ^look(%0 : i64)
^nothing:
  llvm.return %null : !llvm.ptr
^look(%i: i64):
  %more = llvm.icmp "slt" %i, %16 : i64
  llvm.cond_br %more, ^take, ^allocate
^take:
  %slot = llvm.getelementptr %slots[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %found = llvm.atomicrmw xchg %slot, %null acquire : !llvm.ptr, !llvm.ptr
  %i_next = llvm.add %i, %1 : i64
  %is_one = llvm.icmp "ne" %found, %null : !llvm.ptr
  llvm.cond_br %is_one, ^fits, ^look(%i_next : i64)
^fits:
  %head = llvm.getelementptr %found[-64] : (!llvm.ptr) -> !llvm.ptr, i8
  %capacity = llvm.load %head : !llvm.ptr -> i64
  %enough = llvm.icmp "uge" %capacity, %bytes : i64
  llvm.cond_br %enough, ^take_it, ^too_small
^take_it:
  llvm.return %found : !llvm.ptr
^too_small:
  llvm.call @free(%head) : (!llvm.ptr) -> ()
  llvm.br ^allocate
^allocate:
  %with_head = llvm.add %bytes, %127 : i64
  %whole = llvm.and %with_head, %align : i64
  %block = llvm.call @aligned_alloc(%64, %whole) : (i64, i64) -> !llvm.ptr
  %got = llvm.icmp "ne" %block, %null : !llvm.ptr
  llvm.cond_br %got, ^mark, ^nothing
^mark:
  %room = llvm.sub %whole, %64 : i64
  llvm.store %room, %block : i64, !llvm.ptr
  %arena = llvm.getelementptr %block[64] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.return %arena : !llvm.ptr
}

llvm.func internal @legato.give_arena(%self: !llvm.ptr, %arena: !llvm.ptr) {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %16 = llvm.mlir.constant(16 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %slots = llvm.getelementptr %self[0, 2] : (!llvm.ptr) -> !llvm.ptr, !state
  %none = llvm.icmp "eq" %arena, %null : !llvm.ptr
  llvm.cond_br %none, ^done, ^look(%0 : i64)
^look(%i: i64):
  %more = llvm.icmp "slt" %i, %16 : i64
  llvm.cond_br %more, ^give, ^drop
^give:
  %slot = llvm.getelementptr %slots[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %pair = llvm.cmpxchg %slot, %null, %arena release monotonic : !llvm.ptr, !llvm.ptr
  %given = llvm.extractvalue %pair[1] : !llvm.struct<(ptr, i1)>
  %i_next = llvm.add %i, %1 : i64
  llvm.cond_br %given, ^done, ^look(%i_next : i64)
^drop:
  %head = llvm.getelementptr %arena[-64] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @free(%head) : (!llvm.ptr) -> ()
  llvm.br ^done
^done:
  llvm.return
}
