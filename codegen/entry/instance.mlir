// create(owner, weights..., functions...) -> Function: an instance of the model. `owner` is an object that the instance keeps as long as it
// lives (it holds code and weights), or None; each weight is the address of its bytes, an integer or a pointer; each function is one that
// the code calls, or None for the one that is registered under its name. All in the order of the metadata.
llvm.func @__tvm_ffi_create(%self: !llvm.ptr, %args: !llvm.ptr, %given: i32, %ret: !llvm.ptr) -> i32 {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %3 = llvm.mlir.constant(3 : i64) : i64
  %9 = llvm.mlir.constant(9 : i64) : i64
  %state_bytes = llvm.mlir.constant(144 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %failed = llvm.mlir.constant(-1 : i32) : i32
  %pointer_index = llvm.mlir.constant(4 : i32) : i32
  %first_object_index = llvm.mlir.constant(64 : i32) : i32
  %function_index = llvm.mlir.constant(68 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %type_error = llvm.mlir.addressof @legato.TypeError : !llvm.ptr
  %usage = llvm.mlir.addressof @legato.create_usage : !llvm.ptr
  %counts = llvm.mlir.addressof @legato.counts : !llvm.ptr
  %name_bytes = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i32) -> !llvm.ptr
  %out = llvm.alloca %one x !llvm.ptr : (i32) -> !llvm.ptr
  %weights_at = llvm.getelementptr %counts[4] : (!llvm.ptr) -> !llvm.ptr, i64
  %functions_at = llvm.getelementptr %counts[5] : (!llvm.ptr) -> !llvm.ptr, i64
  %n_weights = llvm.load %weights_at : !llvm.ptr -> i64
  %n_functions = llvm.load %functions_at : !llvm.ptr -> i64
  %n_all = llvm.add %n_weights, %n_functions : i64
  %expected = llvm.add %n_all, %1 : i64
  %given64 = llvm.zext %given : i32 to i64
  %right = llvm.icmp "eq" %given64, %expected : i64
  llvm.cond_br %right, ^allocate, ^refuse
^refuse:
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%type_error, %usage) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %failed : i32
^allocate:
  %pointer_bytes = llvm.shl %n_all, %3 : i64
  %bytes = llvm.add %state_bytes, %pointer_bytes : i64
  %state = llvm.call @calloc(%1, %bytes) : (i64, i64) -> !llvm.ptr
  %got = llvm.icmp "ne" %state, %null : !llvm.ptr
  llvm.cond_br %got, ^weights(%0 : i64), ^no_memory
^no_memory:
  %memory_error = llvm.mlir.addressof @legato.MemoryError : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%memory_error, %usage) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %failed : i32
^weights(%i: i64):
  %more = llvm.icmp "slt" %i, %n_weights : i64
  llvm.cond_br %more, ^weight, ^functions(%n_weights : i64)
^weight:
  %i_next = llvm.add %i, %1 : i64
  %any = llvm.getelementptr %args[%i_next] : (!llvm.ptr, i64) -> !llvm.ptr, !any
  %index = llvm.load %any : !llvm.ptr -> i32
  %is_int = llvm.icmp "eq" %index, %one : i32
  %is_pointer = llvm.icmp "eq" %index, %pointer_index : i32
  %is_address = llvm.or %is_int, %is_pointer : i1
  llvm.cond_br %is_address, ^keep_weight, ^wrong_weight
^wrong_weight:
  llvm.call @legato.delete(%state) : (!llvm.ptr) -> ()
  llvm.br ^refuse
^keep_weight:
  %value_at = llvm.getelementptr %any[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %value = llvm.load %value_at : !llvm.ptr -> !llvm.ptr
  %to = llvm.getelementptr %state[0, 3, %i] : (!llvm.ptr, i64) -> !llvm.ptr, !state
  llvm.store %value, %to : !llvm.ptr, !llvm.ptr
  llvm.br ^weights(%i_next : i64)
^functions(%f: i64):
  %more_functions = llvm.icmp "slt" %f, %n_all : i64
  llvm.cond_br %more_functions, ^given_function, ^array
^given_function:
  %f_next = llvm.add %f, %1 : i64
  %f_any = llvm.getelementptr %args[%f_next] : (!llvm.ptr, i64) -> !llvm.ptr, !any
  %f_index = llvm.load %f_any : !llvm.ptr -> i32
  %f_to = llvm.getelementptr %state[0, 3, %f] : (!llvm.ptr, i64) -> !llvm.ptr, !state
  %is_function = llvm.icmp "eq" %f_index, %function_index : i32
  llvm.cond_br %is_function, ^keep_function, ^other_function
^keep_function:
  %f_value_at = llvm.getelementptr %f_any[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %f_value = llvm.load %f_value_at : !llvm.ptr -> !llvm.ptr
  llvm.call @TVMFFIObjectIncRef(%f_value) : (!llvm.ptr) -> ()
  llvm.store %f_value, %f_to : !llvm.ptr, !llvm.ptr
  llvm.br ^functions(%f_next : i64)
^other_function:
  %is_none = llvm.icmp "eq" %f_index, %zero : i32
  llvm.cond_br %is_none, ^registered, ^wrong_weight
^registered:
  %f_number = llvm.sub %f, %n_weights : i64
  %packed = llvm.mlir.addressof @legato.packed : !llvm.ptr
  %f_row = llvm.getelementptr %packed[%f_number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
  %f_offset = llvm.load %f_row : !llvm.ptr -> i64
  %f_size_at = llvm.getelementptr %f_row[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %f_size = llvm.load %f_size_at : !llvm.ptr -> i64
  %strings = llvm.mlir.addressof @legato.strings : !llvm.ptr
  %f_name = llvm.getelementptr %strings[%f_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %f_name_size_at = llvm.getelementptr %name_bytes[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %f_name, %name_bytes : !llvm.ptr, !llvm.ptr
  llvm.store %f_size, %f_name_size_at : i64, !llvm.ptr
  %f_looked = llvm.call @TVMFFIFunctionGetGlobal(%name_bytes, %f_to) : (!llvm.ptr, !llvm.ptr) -> i32
  %f_handle = llvm.load %f_to : !llvm.ptr -> !llvm.ptr
  %is_there = llvm.icmp "ne" %f_handle, %null : !llvm.ptr
  llvm.cond_br %is_there, ^functions(%f_next : i64), ^no_function
^no_function:
  llvm.call @legato.refuse_packed(%f_name) : (!llvm.ptr) -> ()
  llvm.br ^give_up
^array:                                          // what several results are handed over in
  %name = llvm.mlir.addressof @legato.array : !llvm.ptr
  %name_size_at = llvm.getelementptr %name_bytes[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %name, %name_bytes : !llvm.ptr, !llvm.ptr
  llvm.store %9, %name_size_at : i64, !llvm.ptr
  %array_at = llvm.getelementptr %state[0, 1] : (!llvm.ptr) -> !llvm.ptr, !state
  %found = llvm.call @TVMFFIFunctionGetGlobal(%name_bytes, %array_at) : (!llvm.ptr, !llvm.ptr) -> i32
  %is_found = llvm.icmp "eq" %found, %zero : i32
  llvm.cond_br %is_found, ^function, ^give_up
^function:
  %call = llvm.mlir.addressof @legato.call : !llvm.ptr
  %delete = llvm.mlir.addressof @legato.delete : !llvm.ptr
  %made = llvm.call @TVMFFIFunctionCreate(%state, %call, %delete, %out) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %is_made = llvm.icmp "eq" %made, %zero : i32
  llvm.cond_br %is_made, ^owner, ^give_up
^give_up:
  llvm.call @legato.delete(%state) : (!llvm.ptr) -> ()
  llvm.return %failed : i32
^owner:
  %owner_index = llvm.load %args : !llvm.ptr -> i32
  %is_object = llvm.icmp "sge" %owner_index, %first_object_index : i32
  llvm.cond_br %is_object, ^hold, ^give
^hold:
  %owner_at = llvm.getelementptr %args[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %owner = llvm.load %owner_at : !llvm.ptr -> !llvm.ptr
  llvm.call @TVMFFIObjectIncRef(%owner) : (!llvm.ptr) -> ()
  llvm.store %owner, %state : !llvm.ptr, !llvm.ptr
  llvm.br ^give
^give:
  %function = llvm.load %out : !llvm.ptr -> !llvm.ptr
  %padding_to = llvm.getelementptr %ret[0, 1] : (!llvm.ptr) -> !llvm.ptr, !any
  %function_to = llvm.getelementptr %ret[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  llvm.store %function_index, %ret : i32, !llvm.ptr
  llvm.store %zero, %padding_to : i32, !llvm.ptr
  llvm.store %function, %function_to : !llvm.ptr, !llvm.ptr
  llvm.return %zero : i32
}

// Frees an instance. Its owner goes last, by a tail call: with it may go the code that runs here.
llvm.func internal @legato.delete(%state: !llvm.ptr) {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %16 = llvm.mlir.constant(16 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %owner = llvm.load %state : !llvm.ptr -> !llvm.ptr
  %counts = llvm.mlir.addressof @legato.counts : !llvm.ptr
  %weights_at = llvm.getelementptr %counts[4] : (!llvm.ptr) -> !llvm.ptr, i64
  %functions_at = llvm.getelementptr %counts[5] : (!llvm.ptr) -> !llvm.ptr, i64
  %n_weights = llvm.load %weights_at : !llvm.ptr -> i64
  %n_functions = llvm.load %functions_at : !llvm.ptr -> i64
  %n_all = llvm.add %n_weights, %n_functions : i64
  llvm.br ^functions(%n_weights : i64)
^functions(%f: i64):
  %more_functions = llvm.icmp "slt" %f, %n_all : i64
  llvm.cond_br %more_functions, ^function, ^array_too
^function:
  %f_at = llvm.getelementptr %state[0, 3, %f] : (!llvm.ptr, i64) -> !llvm.ptr, !state
  %handle = llvm.load %f_at : !llvm.ptr -> !llvm.ptr
  %f_next = llvm.add %f, %1 : i64
  %is_held = llvm.icmp "ne" %handle, %null : !llvm.ptr
  llvm.cond_br %is_held, ^drop_function, ^functions(%f_next : i64)
^drop_function:
  llvm.call @TVMFFIObjectDecRef(%handle) : (!llvm.ptr) -> ()
  llvm.br ^functions(%f_next : i64)
^array_too:
  %array_at = llvm.getelementptr %state[0, 1] : (!llvm.ptr) -> !llvm.ptr, !state
  %array = llvm.load %array_at : !llvm.ptr -> !llvm.ptr
  %has_array = llvm.icmp "ne" %array, %null : !llvm.ptr
  llvm.cond_br %has_array, ^array, ^arenas(%0 : i64)
^array:
  llvm.call @TVMFFIObjectDecRef(%array) : (!llvm.ptr) -> ()
  llvm.br ^arenas(%0 : i64)
^arenas(%i: i64):
  %more = llvm.icmp "slt" %i, %16 : i64
  llvm.cond_br %more, ^arena, ^state
^arena:
  %slot = llvm.getelementptr %state[0, 2, %i] : (!llvm.ptr, i64) -> !llvm.ptr, !state
  %arena = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  %i_next = llvm.add %i, %1 : i64
  %is_arena = llvm.icmp "ne" %arena, %null : !llvm.ptr
  llvm.cond_br %is_arena, ^free, ^arenas(%i_next : i64)
^free:
  %head = llvm.getelementptr %arena[-64] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @free(%head) : (!llvm.ptr) -> ()
  llvm.br ^arenas(%i_next : i64)
^state:
  llvm.call @free(%state) : (!llvm.ptr) -> ()
  %has_owner = llvm.icmp "ne" %owner, %null : !llvm.ptr
  llvm.cond_br %has_owner, ^owner, ^done
^owner:
  llvm.call musttail @TVMFFIObjectDecRef(%owner) : (!llvm.ptr) -> ()
  llvm.return
^done:
  llvm.return
}
