// Calls of packed functions. `function` is a tvm-ffi function; `table` describes `count` arguments, one behind the other, all i64: the type
// index that they have in tvm-ffi, then for a tensor (70) data, dtype, rank, and `rank` sizes; for one with gaps (1070) as many strides too;
// for a shape (69) rank and sizes; for an int, a bool, a float, a pointer, a text (1, 2, 3, 4, 8) its value. Tensors and shapes become objects
// for the time of the call.

// What the function returns is dropped. 0, or nonzero with the error raised.
llvm.func internal @legato.call_packed(%function: !llvm.ptr, %table: !llvm.ptr, %count: i64) -> i32 {
  %one = llvm.mlir.constant(1 : i32) : i32
  %ret = llvm.alloca %one x !any : (i32) -> !llvm.ptr
  %rc = llvm.call @legato.invoke(%function, %table, %count, %ret) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
  llvm.call @legato.drop(%ret) : (!llvm.ptr) -> ()
  llvm.return %rc : i32
}

llvm.mlir.global private constant @legato.no_number("the packed function '%s' must return %s, but %s came back\00")

// What the function returns is a number: to %out goes an i64 where %kind is 1, an f64 where it is 3. %name: the function's, for a message.
llvm.func internal @legato.call_value(%function: !llvm.ptr, %table: !llvm.ptr, %count: i64, %name: !llvm.ptr, %kind: i64,
                                      %out: !llvm.ptr) -> i32 {
  %1 = llvm.mlir.constant(1 : i64) : i64
  %half = llvm.mlir.constant(512 : i64) : i64
  %whole = llvm.mlir.constant(2048 : i64) : i64
  %one = llvm.mlir.constant(1 : i32) : i32
  %two = llvm.mlir.constant(2 : i32) : i32
  %three = llvm.mlir.constant(3 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %failed = llvm.mlir.constant(-1 : i32) : i32
  %ret = llvm.alloca %one x !any : (i32) -> !llvm.ptr
  %value_at = llvm.getelementptr %ret[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %rc = llvm.call @legato.invoke(%function, %table, %count, %ret) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
  %worked = llvm.icmp "eq" %rc, %zero : i32
  %wants_int = llvm.icmp "eq" %kind, %1 : i64
  llvm.cond_br %worked, ^look, ^drop(%rc : i32)
^look:
  %index = llvm.load %ret : !llvm.ptr -> i32
  %is_int = llvm.icmp "eq" %index, %one : i32
  %is_bool = llvm.icmp "eq" %index, %two : i32
  %is_float = llvm.icmp "eq" %index, %three : i32
  %is_integer = llvm.or %is_int, %is_bool : i1
  %value = llvm.load %value_at : !llvm.ptr -> i64
  llvm.cond_br %is_integer, ^integer, ^other
^integer:
  llvm.cond_br %wants_int, ^store, ^widen
^widen:
  %wide = llvm.sitofp %value : i64 to f64
  llvm.store %wide, %out : f64, !llvm.ptr
  llvm.return %zero : i32
^other:
  llvm.cond_br %is_float, ^float, ^refuse
^float:
  llvm.cond_br %wants_int, ^refuse, ^store
^store:
  llvm.store %value, %out : i64, !llvm.ptr
  llvm.return %zero : i32
^refuse:
  %given = llvm.alloca %half x i8 : (i64) -> !llvm.ptr
  %message = llvm.alloca %whole x i8 : (i64) -> !llvm.ptr
  %int = llvm.mlir.addressof @legato.int : !llvm.ptr
  %number = llvm.mlir.addressof @legato.float : !llvm.ptr
  %expected = llvm.select %wants_int, %int, %number : i1, !llvm.ptr
  %format = llvm.mlir.addressof @legato.no_number : !llvm.ptr
  %type_error = llvm.mlir.addressof @legato.TypeError : !llvm.ptr
  llvm.call @legato.describe(%ret, %given) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.call @snprintf(%message, %whole, %format, %name, %expected, %given) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%type_error, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.br ^drop(%failed : i32)
^drop(%code: i32):
  llvm.call @legato.drop(%ret) : (!llvm.ptr) -> ()
  llvm.return %code : i32
}

// Drops what a value refers to.
llvm.func internal @legato.drop(%any: !llvm.ptr) {
  %first_object_index = llvm.mlir.constant(64 : i32) : i32
  %index = llvm.load %any : !llvm.ptr -> i32
  %is_object = llvm.icmp "sge" %index, %first_object_index : i32
  llvm.cond_br %is_object, ^drop, ^done
^drop:
  %value_at = llvm.getelementptr %any[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %object = llvm.load %value_at : !llvm.ptr -> !llvm.ptr
  llvm.call @TVMFFIObjectDecRef(%object) : (!llvm.ptr) -> ()
  llvm.br ^done
^done:
  llvm.return
}

// Calls a function; what it returns goes to %ret, and is the caller's. 0, or nonzero with the error raised.
llvm.func internal @legato.invoke(%function: !llvm.ptr, %table: !llvm.ptr, %count: i64, %ret: !llvm.ptr) -> i32 {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.mlir.constant(2 : i64) : i64
  %4 = llvm.mlir.constant(4 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %failed = llvm.mlir.constant(-1 : i32) : i32
  %tensor_kind = llvm.mlir.constant(70 : i64) : i64
  %strided_kind = llvm.mlir.constant(1070 : i64) : i64
  %shape_kind = llvm.mlir.constant(69 : i64) : i64
  %tensor_index = llvm.mlir.constant(70 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %args = llvm.alloca %count x !any : (i64) -> !llvm.ptr
  %ret_padding = llvm.getelementptr %ret[0, 1] : (!llvm.ptr) -> !llvm.ptr, !any
  %ret_value = llvm.getelementptr %ret[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  llvm.store %zero, %ret : i32, !llvm.ptr
  llvm.store %zero, %ret_padding : i32, !llvm.ptr
  llvm.store %0, %ret_value : i64, !llvm.ptr
  llvm.br ^next(%0, %0 : i64, i64)
^next(%i: i64, %at: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^make, ^call
^make:
  %row = llvm.getelementptr %table[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %first = llvm.getelementptr %row[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %kind = llvm.load %row : !llvm.ptr -> i64
  %word = llvm.load %first : !llvm.ptr -> i64
  %kind32 = llvm.trunc %kind : i64 to i32
  %arg = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !any
  %padding = llvm.getelementptr %arg[0, 1] : (!llvm.ptr) -> !llvm.ptr, !any
  %value = llvm.getelementptr %arg[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  llvm.store %kind32, %arg : i32, !llvm.ptr
  llvm.store %zero, %padding : i32, !llvm.ptr
  %i_next = llvm.add %i, %1 : i64
  %is_dense = llvm.icmp "eq" %kind, %tensor_kind : i64
  %is_strided = llvm.icmp "eq" %kind, %strided_kind : i64
  %is_tensor = llvm.or %is_dense, %is_strided : i1
  llvm.cond_br %is_tensor, ^tensor, ^other
^other:
  %is_shape = llvm.icmp "eq" %kind, %shape_kind : i64
  %at_two = llvm.add %at, %2 : i64
  llvm.cond_br %is_shape, ^shape, ^scalar
^scalar:
  llvm.store %word, %value : i64, !llvm.ptr
  llvm.br ^next(%i_next, %at_two : i64, i64)
^shape:
  %shape_sizes = llvm.getelementptr %row[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %behind_shape = llvm.add %at_two, %word : i64
  %shaped = llvm.call @legato.new_shape(%shape_sizes, %word, %arg) : (!llvm.ptr, i64, !llvm.ptr) -> i32
  %is_shaped = llvm.icmp "eq" %shaped, %zero : i32
  llvm.cond_br %is_shaped, ^next(%i_next, %behind_shape : i64, i64), ^drop(%0, %i, %shaped : i64, i64, i32)
^tensor:
  %rank_at = llvm.getelementptr %row[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %rank = llvm.load %rank_at : !llvm.ptr -> i64
  %at_sizes = llvm.add %at, %4 : i64
  %at_strides = llvm.add %at_sizes, %rank : i64
  %behind_strides = llvm.add %at_strides, %rank : i64
  %at_next = llvm.select %is_strided, %behind_strides, %at_strides : i1, i64
  %strides_row = llvm.getelementptr %table[%at_strides] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %strides = llvm.select %is_strided, %strides_row, %null : i1, !llvm.ptr
  llvm.store %tensor_index, %arg : i32, !llvm.ptr
  %block = llvm.call @legato.describe_tensor(%first, %rank, %strides) : (!llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
  %got = llvm.icmp "ne" %block, %null : !llvm.ptr
  llvm.cond_br %got, ^wrap, ^no_memory
^no_memory:
  %memory_error = llvm.mlir.addressof @legato.MemoryError : !llvm.ptr
  %message = llvm.mlir.addressof @legato.packed_memory : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%memory_error, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.br ^drop(%0, %i, %failed : i64, i64, i32)
^wrap:
  %wrapped = llvm.call @TVMFFITensorFromDLPack(%block, %zero, %zero, %value) : (!llvm.ptr, i32, i32, !llvm.ptr) -> i32
  %is_wrapped = llvm.icmp "eq" %wrapped, %zero : i32
  llvm.cond_br %is_wrapped, ^next(%i_next, %at_next : i64, i64), ^not_wrapped
^not_wrapped:
  llvm.call @free(%block) : (!llvm.ptr) -> ()
  llvm.br ^drop(%0, %i, %wrapped : i64, i64, i32)
^call:
  %count32 = llvm.trunc %count : i64 to i32
  %rc = llvm.call @TVMFFIFunctionCall(%function, %args, %count32, %ret) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  llvm.br ^drop(%0, %count, %rc : i64, i64, i32)
^drop(%d: i64, %made: i64, %code: i32):
  %more_drops = llvm.icmp "slt" %d, %made : i64
  llvm.cond_br %more_drops, ^drop_one, ^done
^drop_one:
  %made_arg = llvm.getelementptr %args[%d] : (!llvm.ptr, i64) -> !llvm.ptr, !any
  llvm.call @legato.drop(%made_arg) : (!llvm.ptr) -> ()
  %d_next = llvm.add %d, %1 : i64
  llvm.br ^drop(%d_next, %made, %code : i64, i64, i32)
^done:
  llvm.return %code : i32
}

llvm.mlir.global private constant @legato.packed_memory("no memory to describe a tensor for a packed function\00")
llvm.mlir.global private constant @legato.shape("ffi.Shape")

// A shape object. 0, or nonzero with the error raised.
llvm.func internal @legato.new_shape(%sizes: !llvm.ptr, %rank: i64, %to: !llvm.ptr) -> i32 {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %9 = llvm.mlir.constant(9 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %int_index = llvm.mlir.constant(1 : i32) : i32
  %args = llvm.alloca %rank x !any : (i64) -> !llvm.ptr
  %name = llvm.mlir.addressof @legato.shape : !llvm.ptr
  llvm.br ^next(%0 : i64)
^next(%i: i64):
  %more = llvm.icmp "slt" %i, %rank : i64
  llvm.cond_br %more, ^size, ^call
^size:
  %from = llvm.getelementptr %sizes[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %size = llvm.load %from : !llvm.ptr -> i64
  %arg = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !any
  %padding = llvm.getelementptr %arg[0, 1] : (!llvm.ptr) -> !llvm.ptr, !any
  %value = llvm.getelementptr %arg[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  llvm.store %int_index, %arg : i32, !llvm.ptr
  llvm.store %zero, %padding : i32, !llvm.ptr
  llvm.store %size, %value : i64, !llvm.ptr
  %i_next = llvm.add %i, %1 : i64
  llvm.br ^next(%i_next : i64)
^call:
  %rc = llvm.call @legato.call_registered(%name, %9, %args, %rank, %to) : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr) -> i32
  llvm.return %rc : i32
}

// Calls one of tvm-ffi's own functions by its name, of %size bytes. 0, or nonzero with the error raised.
llvm.func internal @legato.call_registered(%name: !llvm.ptr, %size: i64, %args: !llvm.ptr, %count: i64, %ret: !llvm.ptr) -> i32 {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %name_bytes = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i32) -> !llvm.ptr
  %handle_at = llvm.alloca %one x !llvm.ptr : (i32) -> !llvm.ptr
  %size_at = llvm.getelementptr %name_bytes[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %ret_padding = llvm.getelementptr %ret[0, 1] : (!llvm.ptr) -> !llvm.ptr, !any
  %ret_value = llvm.getelementptr %ret[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  llvm.store %name, %name_bytes : !llvm.ptr, !llvm.ptr
  llvm.store %size, %size_at : i64, !llvm.ptr
  llvm.store %zero, %ret : i32, !llvm.ptr
  llvm.store %zero, %ret_padding : i32, !llvm.ptr
  llvm.store %0, %ret_value : i64, !llvm.ptr
  %found = llvm.call @TVMFFIFunctionGetGlobal(%name_bytes, %handle_at) : (!llvm.ptr, !llvm.ptr) -> i32
  %is_found = llvm.icmp "eq" %found, %zero : i32
  llvm.cond_br %is_found, ^call, ^missing
^missing:
  llvm.return %found : i32
^call:
  %handle = llvm.load %handle_at : !llvm.ptr -> !llvm.ptr
  %count32 = llvm.trunc %count : i64 to i32
  %rc = llvm.call @TVMFFIFunctionCall(%handle, %args, %count32, %ret) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  llvm.call @TVMFFIObjectDecRef(%handle) : (!llvm.ptr) -> ()
  llvm.return %rc : i32
}

// A DLManagedTensor with its shape and strides for a tensor of the table; its deleter is libc's free: the data is somebody else's. Null when
// there is no memory. %given_strides: null for a tensor without gaps.
llvm.func internal @legato.describe_tensor(%row: !llvm.ptr, %rank: i64, %given_strides: !llvm.ptr) -> !llvm.ptr {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %4 = llvm.mlir.constant(4 : i64) : i64
  %64 = llvm.mlir.constant(64 : i64) : i64
  %cpu = llvm.mlir.constant(1 : i32) : i32
  %first_device = llvm.mlir.constant(0 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %axes_bytes = llvm.shl %rank, %4 : i64
  %bytes = llvm.add %64, %axes_bytes : i64
  %block = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
  %got = llvm.icmp "ne" %block, %null : !llvm.ptr
  llvm.cond_br %got, ^fill, ^none
^none:
  llvm.return %null : !llvm.ptr
^fill:
  %dtype_row = llvm.getelementptr %row[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %sizes = llvm.getelementptr %row[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %data = llvm.load %row : !llvm.ptr -> !llvm.ptr
  %dtype = llvm.load %dtype_row : !llvm.ptr -> i64
  %shape = llvm.getelementptr %block[64] : (!llvm.ptr) -> !llvm.ptr, i8
  %strides = llvm.getelementptr %shape[%rank] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %rank32 = llvm.trunc %rank : i64 to i32
  %dtype32 = llvm.trunc %dtype : i64 to i32
  %free = llvm.mlir.addressof @free : !llvm.ptr
  %device_at = llvm.getelementptr %block[0, 1] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %device_number_at = llvm.getelementptr %block[0, 2] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %ndim_at = llvm.getelementptr %block[0, 3] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %dtype_at = llvm.getelementptr %block[0, 4] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %shape_at = llvm.getelementptr %block[0, 5] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %strides_at = llvm.getelementptr %block[0, 6] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %byte_offset_at = llvm.getelementptr %block[0, 7] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %context_at = llvm.getelementptr %block[0, 1] : (!llvm.ptr) -> !llvm.ptr, !managed
  %deleter_at = llvm.getelementptr %block[0, 2] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %data, %block : !llvm.ptr, !llvm.ptr
  llvm.store %cpu, %device_at : i32, !llvm.ptr
  llvm.store %first_device, %device_number_at : i32, !llvm.ptr
  llvm.store %rank32, %ndim_at : i32, !llvm.ptr
  llvm.store %dtype32, %dtype_at : i32, !llvm.ptr
  llvm.store %shape, %shape_at : !llvm.ptr, !llvm.ptr
  llvm.store %strides, %strides_at : !llvm.ptr, !llvm.ptr
  llvm.store %0, %byte_offset_at : i64, !llvm.ptr
  llvm.store %null, %context_at : !llvm.ptr, !llvm.ptr
  llvm.store %free, %deleter_at : !llvm.ptr, !llvm.ptr
  llvm.br ^axes(%rank, %1 : i64, i64)
^axes(%left: i64, %stride: i64):
  %is_done = llvm.icmp "eq" %left, %0 : i64
  llvm.cond_br %is_done, ^done, ^axis
^axis:
  %a = llvm.sub %left, %1 : i64
  %from = llvm.getelementptr %sizes[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %size = llvm.load %from : !llvm.ptr -> i64
  %to = llvm.getelementptr %shape[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %stride_to = llvm.getelementptr %strides[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %size, %to : i64, !llvm.ptr
  %next_stride = llvm.mul %stride, %size : i64
  %has_strides = llvm.icmp "ne" %given_strides, %null : !llvm.ptr
  llvm.cond_br %has_strides, ^strided, ^stride(%stride : i64)
^strided:
  %given_at = llvm.getelementptr %given_strides[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %given = llvm.load %given_at : !llvm.ptr -> i64
  llvm.br ^stride(%given : i64)
^stride(%step: i64):
  llvm.store %step, %stride_to : i64, !llvm.ptr
  llvm.br ^axes(%a, %next_stride : i64, i64)
^done:
  llvm.return %block : !llvm.ptr
}
llvm.func @malloc(i64) -> !llvm.ptr
