// What packed functions return: checked against rows of @legato.inputs, held by the frame, copied where it is not contiguous, not aligned, or
// in the memory of an argument, which lasts only as long as main needs the argument.

// Calls a function as @legato.call_packed does, and takes its %n results, which rows %first_row... of @legato.inputs describe and the frame
// holds from %slot on. To %out go, for each, its data's address and its sizes. 0, or nonzero with the error raised.
llvm.func internal @legato.call_returning(%function: !llvm.ptr, %table: !llvm.ptr, %count: i64, %frame: !llvm.ptr, %slot: i64,
                                          %first_row: i64, %n: i64, %out: !llvm.ptr) -> i32 {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %array_index = llvm.mlir.constant(71 : i32) : i32
  %list_index = llvm.mlir.constant(75 : i32) : i32
  %ret = llvm.alloca %one x !any : (i32) -> !llvm.ptr
  %item = llvm.alloca %one x !any : (i32) -> !llvm.ptr
  %rc = llvm.call @legato.invoke(%function, %table, %count, %ret) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
  %worked = llvm.icmp "eq" %rc, %zero : i32
  llvm.cond_br %worked, ^returned, ^drop(%rc : i32)
^returned:
  %none = llvm.icmp "eq" %n, %0 : i64
  llvm.cond_br %none, ^drop(%zero : i32), ^look
^look:
  %index = llvm.load %ret : !llvm.ptr -> i32
  %is_array = llvm.icmp "eq" %index, %array_index : i32
  %is_list = llvm.icmp "eq" %index, %list_index : i32
  %is_sequence = llvm.or %is_array, %is_list : i1
  llvm.cond_br %is_sequence, ^sequence, ^single
^single:
  %is_one = llvm.icmp "eq" %n, %1 : i64
  llvm.cond_br %is_one, ^one, ^wrong_number(%1 : i64)
^one:
  %taken = llvm.call @legato.take_result(%ret, %frame, %slot, %first_row, %table, %count, %out)
      : (!llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, i64, !llvm.ptr) -> i32
  llvm.return %taken : i32
^sequence:
  %size = llvm.call @legato.sequence_size(%ret, %is_list) : (!llvm.ptr, i1) -> i64
  %fits = llvm.icmp "eq" %size, %n : i64
  llvm.cond_br %fits, ^items(%0, %out : i64, !llvm.ptr), ^wrong_number(%size : i64)
^wrong_number(%found: i64):
  llvm.call @legato.refuse_results(%first_row, %n, %found) : (i64, i64, i64) -> ()
  %failed = llvm.mlir.constant(-1 : i32) : i32
  llvm.br ^drop(%failed : i32)
^items(%i: i64, %to: !llvm.ptr):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^item, ^drop(%zero : i32)
^item:
  %got = llvm.call @legato.sequence_item(%ret, %is_list, %i, %item) : (!llvm.ptr, i1, i64, !llvm.ptr) -> i32
  %is_got = llvm.icmp "eq" %got, %zero : i32
  llvm.cond_br %is_got, ^take, ^drop(%got : i32)
^take:
  %item_slot = llvm.add %slot, %i : i64
  %row = llvm.add %first_row, %i : i64
  %item_rc = llvm.call @legato.take_result(%item, %frame, %item_slot, %row, %table, %count, %to)
      : (!llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, i64, !llvm.ptr) -> i32
  %is_taken = llvm.icmp "eq" %item_rc, %zero : i32
  %i_next = llvm.add %i, %1 : i64
  %rows = llvm.mlir.addressof @legato.inputs : !llvm.ptr
  %rank_at = llvm.getelementptr %rows[%row, 3] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<6 x i64>
  %rank = llvm.load %rank_at : !llvm.ptr -> i64
  %behind = llvm.getelementptr %to[%rank] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %next_to = llvm.getelementptr %behind[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.cond_br %is_taken, ^items(%i_next, %next_to : i64, !llvm.ptr), ^drop(%item_rc : i32)
^drop(%code: i32):
  llvm.call @legato.drop(%ret) : (!llvm.ptr) -> ()
  llvm.return %code : i32
}

// Takes a value as the result that row %row describes; the frame holds it, or drops it. 0, or nonzero with the error raised.
llvm.func internal @legato.take_result(%any: !llvm.ptr, %frame: !llvm.ptr, %slot: i64, %row: i64, %table: !llvm.ptr, %count: i64,
                                       %out: !llvm.ptr) -> i32 {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %failed = llvm.mlir.constant(-1 : i32) : i32
  %strides_why = llvm.mlir.constant(6 : i32) : i32
  %alignment_why = llvm.mlir.constant(8 : i32) : i32
  %first_object_index = llvm.mlir.constant(64 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %detail_at = llvm.alloca %one x i64 : (i32) -> !llvm.ptr
  llvm.call @legato.release(%frame, %slot) : (!llvm.ptr, i64) -> ()
  %place = llvm.call @legato.held_place(%frame, %slot) : (!llvm.ptr, i64) -> !llvm.ptr
  %index = llvm.load %any : !llvm.ptr -> i32
  %is_object = llvm.icmp "sge" %index, %first_object_index : i32
  llvm.cond_br %is_object, ^hold, ^check
^hold:
  %value_at = llvm.getelementptr %any[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %object = llvm.load %value_at : !llvm.ptr -> !llvm.ptr
  llvm.store %object, %place : !llvm.ptr, !llvm.ptr
  llvm.br ^check
^check:
  %symbols_at = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %symbols = llvm.load %symbols_at : !llvm.ptr -> !llvm.ptr
  %why = llvm.call @legato.check(%any, %row, %symbols, %out, %detail_at) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %is_right = llvm.icmp "slt" %why, %zero : i32
  llvm.cond_br %is_right, ^right, ^wrong
^wrong:
  %is_strided = llvm.icmp "eq" %why, %strides_why : i32
  %is_misaligned = llvm.icmp "eq" %why, %alignment_why : i32
  %can_be_copied = llvm.or %is_strided, %is_misaligned : i1
  llvm.cond_br %can_be_copied, ^copy, ^refuse
^refuse:
  %detail = llvm.load %detail_at : !llvm.ptr -> i64
  llvm.call @legato.refuse(%any, %row, %symbols, %why, %detail) : (!llvm.ptr, i64, !llvm.ptr, i32, i64) -> ()
  llvm.return %failed : i32
^right:
  %data = llvm.load %out : !llvm.ptr -> !llvm.ptr
  %is_argument = llvm.call @legato.in_arguments(%data, %table, %count) : (!llvm.ptr, !llvm.ptr, i64) -> i1
  llvm.cond_br %is_argument, ^copy, ^sizes
^copy:
  %source = llvm.call @legato.tensor_of(%any) : (!llvm.ptr) -> !llvm.ptr
  %copy = llvm.call @legato.copy_tensor(%source) : (!llvm.ptr) -> !llvm.ptr
  %copied = llvm.icmp "ne" %copy, %null : !llvm.ptr
  llvm.cond_br %copied, ^keep_copy, ^no_memory
^no_memory:
  llvm.call @legato.refuse_late() : () -> ()
  llvm.return %failed : i32
^keep_copy:
  %copy_at = llvm.getelementptr %place[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  llvm.store %copy, %copy_at : !llvm.ptr, !llvm.ptr
  llvm.store %copy, %out : !llvm.ptr, !llvm.ptr
  llvm.br ^sizes
^sizes:
  %checked = llvm.call @legato.tensor_of(%any) : (!llvm.ptr) -> !llvm.ptr
  %rank_at = llvm.getelementptr %checked[0, 3] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %rank32 = llvm.load %rank_at : !llvm.ptr -> i32
  %rank = llvm.sext %rank32 : i32 to i64
  %shape_at = llvm.getelementptr %checked[0, 5] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  llvm.br ^next(%0 : i64)
^next(%i: i64):
  %more = llvm.icmp "slt" %i, %rank : i64
  llvm.cond_br %more, ^size, ^done
^size:
  %size_at = llvm.getelementptr %shape[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %size = llvm.load %size_at : !llvm.ptr -> i64
  %i_next = llvm.add %i, %1 : i64
  %to = llvm.getelementptr %out[%i_next] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %size, %to : i64, !llvm.ptr
  llvm.br ^next(%i_next : i64)
^done:
  llvm.return %zero : i32
}

llvm.mlir.global private constant @legato.array_size("ffi.ArraySize")
llvm.mlir.global private constant @legato.list_size("ffi.ListSize")
llvm.mlir.global private constant @legato.array_item("ffi.ArrayGetItem")
llvm.mlir.global private constant @legato.list_item("ffi.ListGetItem")
llvm.mlir.global private constant @legato.wrong_results("the packed function '%s' must return %lld tensor%s, but %lld came back\00")

// How many values an array or a list has; -1 where tvm-ffi cannot say.
llvm.func internal @legato.sequence_size(%sequence: !llvm.ptr, %is_list: i1) -> i64 {
  %1 = llvm.mlir.constant(1 : i64) : i64
  %one = llvm.mlir.constant(1 : i32) : i32
  %array_bytes = llvm.mlir.constant(13 : i64) : i64
  %list_bytes = llvm.mlir.constant(12 : i64) : i64
  %array = llvm.mlir.addressof @legato.array_size : !llvm.ptr
  %list = llvm.mlir.addressof @legato.list_size : !llvm.ptr
  %name = llvm.select %is_list, %list, %array : i1, !llvm.ptr
  %bytes = llvm.select %is_list, %list_bytes, %array_bytes : i1, i64
  %ret = llvm.alloca %one x !any : (i32) -> !llvm.ptr
  %rc = llvm.call @legato.call_registered(%name, %bytes, %sequence, %1, %ret) : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr) -> i32
  %value_at = llvm.getelementptr %ret[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %value = llvm.load %value_at : !llvm.ptr -> i64
  llvm.return %value : i64
}

// One value of an array or a list. 0, or nonzero with the error raised.
llvm.func internal @legato.sequence_item(%sequence: !llvm.ptr, %is_list: i1, %i: i64, %to: !llvm.ptr) -> i32 {
  %2 = llvm.mlir.constant(2 : i64) : i64
  %two = llvm.mlir.constant(2 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %array_bytes = llvm.mlir.constant(16 : i64) : i64
  %list_bytes = llvm.mlir.constant(15 : i64) : i64
  %array = llvm.mlir.addressof @legato.array_item : !llvm.ptr
  %list = llvm.mlir.addressof @legato.list_item : !llvm.ptr
  %name = llvm.select %is_list, %list, %array : i1, !llvm.ptr
  %bytes = llvm.select %is_list, %list_bytes, %array_bytes : i1, i64
  %args = llvm.alloca %two x !any : (i32) -> !llvm.ptr
  %whole = llvm.load %sequence : !llvm.ptr -> !any
  llvm.store %whole, %args : !any, !llvm.ptr
  %index_at = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, !any
  %padding_at = llvm.getelementptr %index_at[0, 1] : (!llvm.ptr) -> !llvm.ptr, !any
  %value_at = llvm.getelementptr %index_at[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  llvm.store %one, %index_at : i32, !llvm.ptr
  llvm.store %zero, %padding_at : i32, !llvm.ptr
  llvm.store %i, %value_at : i64, !llvm.ptr
  %rc = llvm.call @legato.call_registered(%name, %bytes, %args, %2, %to) : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr) -> i32
  llvm.return %rc : i32
}

// Raises the error for a function that returned %found values instead of %expected.
llvm.func internal @legato.refuse_results(%row: i64, %expected: i64, %found: i64) {
  %1 = llvm.mlir.constant(1 : i64) : i64
  %size = llvm.mlir.constant(2048 : i64) : i64
  %message = llvm.alloca %size x i8 : (i64) -> !llvm.ptr
  %type_error = llvm.mlir.addressof @legato.TypeError : !llvm.ptr
  %format = llvm.mlir.addressof @legato.wrong_results : !llvm.ptr
  %strings = llvm.mlir.addressof @legato.strings : !llvm.ptr
  %table = llvm.mlir.addressof @legato.inputs : !llvm.ptr
  %name_at = llvm.getelementptr %table[%row] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<6 x i64>
  %name_offset = llvm.load %name_at : !llvm.ptr -> i64
  %name = llvm.getelementptr %strings[%name_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %nothing = llvm.mlir.addressof @legato.no_reason : !llvm.ptr
  %s = llvm.mlir.addressof @legato.plural : !llvm.ptr
  %is_one = llvm.icmp "eq" %expected, %1 : i64
  %plural = llvm.select %is_one, %nothing, %s : i1, !llvm.ptr
  llvm.call @snprintf(%message, %size, %format, %name, %expected, %plural, %found) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64) -> i32
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%type_error, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}
