// The frame of a call whose sizes depend on data, on the stack of @legato.main: words with the instance, the blocks of main's results, the
// values of the symbols; two for each result of a packed function, the object that came back and its copy, if one had to be made; one for
// each arena asked for late. Whatever stands there is given back when the call ends. @legato.frame_counts: numbers of held results, arenas.

llvm.func internal @legato.open_frame(%frame: !llvm.ptr, %words: i64, %self: !llvm.ptr, %blocks: !llvm.ptr, %symbols: !llvm.ptr) {
  %3 = llvm.mlir.constant(3 : i64) : i64
  %zero = llvm.mlir.constant(0 : i8) : i8
  %bytes = llvm.shl %words, %3 : i64
  "llvm.intr.memset"(%frame, %zero, %bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  %blocks_at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %symbols_at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  llvm.store %self, %frame : !llvm.ptr, !llvm.ptr
  llvm.store %blocks, %blocks_at : !llvm.ptr, !llvm.ptr
  llvm.store %symbols, %symbols_at : !llvm.ptr, !llvm.ptr
  llvm.return
}

llvm.func internal @legato.close_frame(%frame: !llvm.ptr) {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %counts = llvm.mlir.addressof @legato.frame_counts : !llvm.ptr
  %arenas_at = llvm.getelementptr %counts[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %n_held = llvm.load %counts : !llvm.ptr -> i64
  %n_arenas = llvm.load %arenas_at : !llvm.ptr -> i64
  %self = llvm.load %frame : !llvm.ptr -> !llvm.ptr
  llvm.br ^held(%0 : i64)
^held(%i: i64):
  %more = llvm.icmp "slt" %i, %n_held : i64
  llvm.cond_br %more, ^release, ^arenas(%0 : i64)
^release:
  llvm.call @legato.release(%frame, %i) : (!llvm.ptr, i64) -> ()
  %i_next = llvm.add %i, %1 : i64
  llvm.br ^held(%i_next : i64)
^arenas(%a: i64):
  %more_arenas = llvm.icmp "slt" %a, %n_arenas : i64
  llvm.cond_br %more_arenas, ^give, ^done
^give:
  %arena_at = llvm.call @legato.late_place(%frame, %a) : (!llvm.ptr, i64) -> !llvm.ptr
  %arena = llvm.load %arena_at : !llvm.ptr -> !llvm.ptr
  llvm.call @legato.give_arena(%self, %arena) : (!llvm.ptr, !llvm.ptr) -> ()
  %a_next = llvm.add %a, %1 : i64
  llvm.br ^arenas(%a_next : i64)
^done:
  llvm.return
}

// Where the frame has result %slot: the object, then the copy.
llvm.func internal @legato.held_place(%frame: !llvm.ptr, %slot: i64) -> !llvm.ptr {
  %1 = llvm.mlir.constant(1 : i64) : i64
  %3 = llvm.mlir.constant(3 : i64) : i64
  %twice = llvm.shl %slot, %1 : i64
  %word = llvm.add %twice, %3 : i64
  %place = llvm.getelementptr %frame[%word] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  llvm.return %place : !llvm.ptr
}

// Where the frame has arena %number.
llvm.func internal @legato.late_place(%frame: !llvm.ptr, %number: i64) -> !llvm.ptr {
  %counts = llvm.mlir.addressof @legato.frame_counts : !llvm.ptr
  %n_held = llvm.load %counts : !llvm.ptr -> i64
  %behind = llvm.call @legato.held_place(%frame, %n_held) : (!llvm.ptr, i64) -> !llvm.ptr
  %place = llvm.getelementptr %behind[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  llvm.return %place : !llvm.ptr
}

// Gives back what the frame holds of result %slot.
llvm.func internal @legato.release(%frame: !llvm.ptr, %slot: i64) {
  %null = llvm.mlir.zero : !llvm.ptr
  %place = llvm.call @legato.held_place(%frame, %slot) : (!llvm.ptr, i64) -> !llvm.ptr
  %copy_at = llvm.getelementptr %place[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %object = llvm.load %place : !llvm.ptr -> !llvm.ptr
  %copy = llvm.load %copy_at : !llvm.ptr -> !llvm.ptr
  llvm.store %null, %place : !llvm.ptr, !llvm.ptr
  llvm.store %null, %copy_at : !llvm.ptr, !llvm.ptr
  llvm.call @free(%copy) : (!llvm.ptr) -> ()
  %is_held = llvm.icmp "ne" %object, %null : !llvm.ptr
  llvm.cond_br %is_held, ^drop, ^done
^drop:
  llvm.call @TVMFFIObjectDecRef(%object) : (!llvm.ptr) -> ()
  llvm.br ^done
^done:
  llvm.return
}

// Gives symbol %number its value.
llvm.func internal @legato.set_size(%frame: !llvm.ptr, %number: i64, %value: i64) {
  %symbols_at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %symbols = llvm.load %symbols_at : !llvm.ptr -> !llvm.ptr
  %symbol = llvm.getelementptr %symbols[%number] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %value, %symbol : i64, !llvm.ptr
  llvm.return
}

llvm.func internal @legato.frame_check(%number: i64, %value: i64, %other: i64) -> i32 {
  %rc = llvm.call @legato.require(%number, %value, %other) : (i64, i64, i64) -> i32
  llvm.return %rc : i32
}

// Memory for buffers, as arena %number of the frame. Null with the error raised when there is none.
llvm.func internal @legato.frame_arena(%frame: !llvm.ptr, %number: i64, %bytes: i64) -> !llvm.ptr {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %none = llvm.icmp "sle" %bytes, %0 : i64
  llvm.cond_br %none, ^nothing, ^take
^nothing:                                        // an address that nobody uses
  llvm.return %frame : !llvm.ptr
^take:
  %self = llvm.load %frame : !llvm.ptr -> !llvm.ptr
  %arena = llvm.call @legato.take_arena(%self, %bytes) : (!llvm.ptr, i64) -> !llvm.ptr
  %got = llvm.icmp "ne" %arena, %null : !llvm.ptr
  llvm.cond_br %got, ^keep, ^no_memory
^keep:
  %place = llvm.call @legato.late_place(%frame, %number) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.store %arena, %place : !llvm.ptr, !llvm.ptr
  llvm.return %arena : !llvm.ptr
^no_memory:
  llvm.call @legato.refuse_late() : () -> ()
  llvm.return %null : !llvm.ptr
}

// Memory for result %number of main, of a shape. Null with the error raised when there is none.
llvm.func internal @legato.frame_result(%frame: !llvm.ptr, %number: i64, %shape: !llvm.ptr) -> !llvm.ptr {
  %one = llvm.mlir.constant(1 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %data_at = llvm.alloca %one x !llvm.ptr : (i32) -> !llvm.ptr
  %block = llvm.call @legato.new_tensor(%number, %shape, %data_at) : (i64, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
  %got = llvm.icmp "ne" %block, %null : !llvm.ptr
  llvm.cond_br %got, ^keep, ^no_memory
^keep:
  %blocks_at = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %blocks = llvm.load %blocks_at : !llvm.ptr -> !llvm.ptr
  %place = llvm.getelementptr %blocks[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  llvm.store %block, %place : !llvm.ptr, !llvm.ptr
  %data = llvm.load %data_at : !llvm.ptr -> !llvm.ptr
  llvm.return %data : !llvm.ptr
^no_memory:
  llvm.call @legato.refuse_late() : () -> ()
  llvm.return %null : !llvm.ptr
}

llvm.mlir.global private constant @legato.late_memory("no memory for buffers or results whose size was known only in the middle of this call\00")

llvm.func internal @legato.refuse_late() {
  %memory_error = llvm.mlir.addressof @legato.MemoryError : !llvm.ptr
  %message = llvm.mlir.addressof @legato.late_memory : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%memory_error, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}
