// The instance's function: checks its arguments, runs main, wraps the results. 0, or nonzero with the error raised.
llvm.func internal @legato.call(%self: !llvm.ptr, %args: !llvm.ptr, %given: i32, %ret: !llvm.ptr) -> i32 {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %8 = llvm.mlir.constant(8 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %failed = llvm.mlir.constant(-1 : i32) : i32
  %ones = llvm.mlir.constant(-1 : i8) : i8
  %tensor_index = llvm.mlir.constant(70 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %counts = llvm.mlir.addressof @legato.counts : !llvm.ptr
  %outputs_at = llvm.getelementptr %counts[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %symbols_at = llvm.getelementptr %counts[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %sizes_at = llvm.getelementptr %counts[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %n_inputs = llvm.load %counts : !llvm.ptr -> i64
  %n_outputs = llvm.load %outputs_at : !llvm.ptr -> i64
  %n_symbols = llvm.load %symbols_at : !llvm.ptr -> i64
  %n_sizes = llvm.load %sizes_at : !llvm.ptr -> i64
  %requirements_at = llvm.getelementptr %counts[6] : (!llvm.ptr) -> !llvm.ptr, i64
  %n_requirements = llvm.load %requirements_at : !llvm.ptr -> i64
  %n_pointers = llvm.add %n_inputs, %n_outputs : i64
  %symbols = llvm.alloca %n_symbols x i64 : (i64) -> !llvm.ptr
  %sizes = llvm.alloca %n_sizes x i64 : (i64) -> !llvm.ptr
  %pointers = llvm.alloca %n_pointers x !llvm.ptr : (i64) -> !llvm.ptr
  %blocks = llvm.alloca %n_outputs x !llvm.ptr : (i64) -> !llvm.ptr
  %results = llvm.alloca %n_outputs x !any : (i64) -> !llvm.ptr
  %detail_at = llvm.alloca %1 x i64 : (i64) -> !llvm.ptr
  %given64 = llvm.zext %given : i32 to i64
  %right = llvm.icmp "eq" %given64, %n_inputs : i64
  llvm.cond_br %right, ^unbound, ^wrong_number
^wrong_number:
  llvm.call @legato.refuse_number(%given64) : (i64) -> ()
  llvm.return %failed : i32

^unbound:                                        // -1: the symbol has no value yet
  %symbol_bytes = llvm.mul %n_symbols, %8 : i64
  "llvm.intr.memset"(%symbols, %ones, %symbol_bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  llvm.br ^inputs(%0 : i64)
^inputs(%i: i64):
  %more_inputs = llvm.icmp "slt" %i, %n_inputs : i64
  llvm.cond_br %more_inputs, ^check, ^sizes
^check:
  %any = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !any
  %pointer_to = llvm.getelementptr %pointers[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %why = llvm.call @legato.check(%any, %i, %symbols, %pointer_to, %detail_at) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %ok = llvm.icmp "slt" %why, %zero : i32
  %i_next = llvm.add %i, %1 : i64
  llvm.cond_br %ok, ^inputs(%i_next : i64), ^bad_input
^bad_input:
  %detail = llvm.load %detail_at : !llvm.ptr -> i64
  llvm.call @legato.refuse(%any, %i, %symbols, %why, %detail) : (!llvm.ptr, i64, !llvm.ptr, i32, i64) -> ()
  llvm.return %failed : i32

^sizes:
  llvm.call @main_sizes(%symbols, %sizes) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.br ^requirements(%0 : i64)
^requirements(%r: i64):                          // what is known only later, main itself checks
  %more_requirements = llvm.icmp "slt" %r, %n_requirements : i64
  llvm.cond_br %more_requirements, ^require, ^outputs(%0 : i64)
^require:
  %requirements = llvm.mlir.addressof @legato.requirements : !llvm.ptr
  %required = llvm.getelementptr %requirements[%r] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<3 x i64>
  %required_at = llvm.getelementptr %required[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %equal_at = llvm.getelementptr %required[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %place = llvm.load %required_at : !llvm.ptr -> i64
  %equal = llvm.load %equal_at : !llvm.ptr -> i64
  %r_next = llvm.add %r, %1 : i64
  %is_late = llvm.icmp "slt" %place, %0 : i64
  llvm.cond_br %is_late, ^requirements(%r_next : i64), ^compare
^compare:
  %size_at = llvm.getelementptr %sizes[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %other_at = llvm.getelementptr %size_at[%equal] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %size = llvm.load %size_at : !llvm.ptr -> i64
  %other = llvm.load %other_at : !llvm.ptr -> i64
  %required_rc = llvm.call @legato.require(%r, %size, %other) : (i64, i64, i64) -> i32
  %is_met = llvm.icmp "eq" %required_rc, %zero : i32
  llvm.cond_br %is_met, ^requirements(%r_next : i64), ^not_met
^not_met:
  llvm.return %failed : i32
^outputs(%o: i64):
  %more_outputs = llvm.icmp "slt" %o, %n_outputs : i64
  llvm.cond_br %more_outputs, ^output, ^arena
^output:
  %output_table = llvm.mlir.addressof @legato.outputs : !llvm.ptr
  %first_at = llvm.getelementptr %output_table[%o, 2] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<4 x i64>
  %first = llvm.load %first_at : !llvm.ptr -> i64
  %slot = llvm.add %n_inputs, %o : i64
  %data_at = llvm.getelementptr %pointers[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %block_at = llvm.getelementptr %blocks[%o] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  llvm.store %null, %data_at : !llvm.ptr, !llvm.ptr
  llvm.store %null, %block_at : !llvm.ptr, !llvm.ptr
  %o_next = llvm.add %o, %1 : i64
  %waits = llvm.icmp "slt" %first, %0 : i64        // main asks for it when its size is known
  llvm.cond_br %waits, ^outputs(%o_next : i64), ^allocate
^allocate:
  %shape = llvm.getelementptr %sizes[%first] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %block = llvm.call @legato.new_tensor(%o, %shape, %data_at) : (i64, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
  llvm.store %block, %block_at : !llvm.ptr, !llvm.ptr
  %got_block = llvm.icmp "ne" %block, %null : !llvm.ptr
  llvm.cond_br %got_block, ^outputs(%o_next : i64), ^no_memory(%o : i64)
^no_memory(%made: i64):
  llvm.call @legato.refuse_memory(%sizes) : (!llvm.ptr) -> ()
  llvm.br ^drop_blocks(%0, %made, %failed : i64, i64, i32)
^drop_blocks(%b: i64, %end: i64, %code: i32):
  %more_blocks = llvm.icmp "slt" %b, %end : i64
  llvm.cond_br %more_blocks, ^drop_block, ^leave(%code : i32)
^drop_block:
  %b_at = llvm.getelementptr %blocks[%b] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %b_block = llvm.load %b_at : !llvm.ptr -> !llvm.ptr
  llvm.call @free(%b_block) : (!llvm.ptr) -> ()
  %b_next = llvm.add %b, %1 : i64
  llvm.br ^drop_blocks(%b_next, %end, %code : i64, i64, i32)
^leave(%exit_code: i32):
  llvm.return %exit_code : i32

^arena:
  %arena_bytes = llvm.load %sizes : !llvm.ptr -> i64
  %arena = llvm.call @legato.take_arena(%self, %arena_bytes) : (!llvm.ptr, i64) -> !llvm.ptr
  %needs_none = llvm.icmp "eq" %arena_bytes, %0 : i64
  %got_arena = llvm.icmp "ne" %arena, %null : !llvm.ptr
  %can_run = llvm.or %needs_none, %got_arena : i1
  llvm.cond_br %can_run, ^run, ^no_memory(%n_outputs : i64)
^run:
  %rc = llvm.call @legato.main(%self, %pointers, %arena, %symbols, %blocks)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.call @legato.give_arena(%self, %arena) : (!llvm.ptr, !llvm.ptr) -> ()
  %ran = llvm.icmp "eq" %rc, %zero : i32
  llvm.cond_br %ran, ^wrap(%0 : i64), ^drop_blocks(%0, %n_outputs, %rc : i64, i64, i32)

^wrap(%w: i64):                                  // memory becomes tvm-ffi tensors, which own it from now on
  %more_results = llvm.icmp "slt" %w, %n_outputs : i64
  llvm.cond_br %more_results, ^wrap_one, ^give
^wrap_one:
  %w_at = llvm.getelementptr %blocks[%w] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %w_block = llvm.load %w_at : !llvm.ptr -> !llvm.ptr
  %result = llvm.getelementptr %results[%w] : (!llvm.ptr, i64) -> !llvm.ptr, !any
  %result_padding = llvm.getelementptr %result[0, 1] : (!llvm.ptr) -> !llvm.ptr, !any
  %result_value = llvm.getelementptr %result[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  llvm.store %tensor_index, %result : i32, !llvm.ptr
  llvm.store %zero, %result_padding : i32, !llvm.ptr
  %wrapped = llvm.call @TVMFFITensorFromDLPack(%w_block, %zero, %zero, %result_value) : (!llvm.ptr, i32, i32, !llvm.ptr) -> i32
  %is_wrapped = llvm.icmp "eq" %wrapped, %zero : i32
  %w_next = llvm.add %w, %1 : i64
  llvm.cond_br %is_wrapped, ^wrap(%w_next : i64), ^not_wrapped
^not_wrapped:
  llvm.call @legato.drop_results(%results, %w) : (!llvm.ptr, i64) -> ()
  llvm.br ^drop_blocks(%w, %n_outputs, %wrapped : i64, i64, i32)
^give:
  %is_one = llvm.icmp "eq" %n_outputs, %1 : i64
  llvm.cond_br %is_one, ^give_one, ^give_array
^give_one:
  %one = llvm.load %results : !llvm.ptr -> !any
  llvm.store %one, %ret : !any, !llvm.ptr
  llvm.return %zero : i32
^give_array:
  %array_at = llvm.getelementptr %self[0, 1] : (!llvm.ptr) -> !llvm.ptr, !state
  %array = llvm.load %array_at : !llvm.ptr -> !llvm.ptr
  %n_outputs32 = llvm.trunc %n_outputs : i64 to i32
  %array_rc = llvm.call @TVMFFIFunctionCall(%array, %results, %n_outputs32, %ret) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  llvm.call @legato.drop_results(%results, %n_outputs) : (!llvm.ptr, i64) -> ()
  llvm.return %array_rc : i32
}

llvm.func internal @legato.drop_results(%results: !llvm.ptr, %count: i64) {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^next(%0 : i64)
^next(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^drop, ^done
^drop:
  %value_at = llvm.getelementptr %results[%i, 2] : (!llvm.ptr, i64) -> !llvm.ptr, !any
  %value = llvm.load %value_at : !llvm.ptr -> !llvm.ptr
  llvm.call @TVMFFIObjectDecRef(%value) : (!llvm.ptr) -> ()
  %i_next = llvm.add %i, %1 : i64
  llvm.br ^next(%i_next : i64)
^done:
  llvm.return
}
