// Calls of packed functions out of main. `function` is a tvm-ffi function; `table` describes `count` tensors, one behind the other: data,
// dtype, rank, then `rank` sizes, all i64. Each becomes a Tensor for the time of the call. 0, or nonzero with the error raised.
llvm.func internal @legato.call_packed(%function: !llvm.ptr, %table: !llvm.ptr, %count: i64) -> i32 {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %3 = llvm.mlir.constant(3 : i64) : i64
  %one = llvm.mlir.constant(1 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %failed = llvm.mlir.constant(-1 : i32) : i32
  %tensor_index = llvm.mlir.constant(70 : i32) : i32
  %first_object_index = llvm.mlir.constant(64 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %args = llvm.alloca %count x !any : (i64) -> !llvm.ptr
  %ret = llvm.alloca %one x !any : (i32) -> !llvm.ptr
  llvm.br ^next(%0, %0 : i64, i64)
^next(%i: i64, %at: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^make, ^call
^make:
  %row = llvm.getelementptr %table[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %rank_at = llvm.getelementptr %row[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %rank = llvm.load %rank_at : !llvm.ptr -> i64
  %at_sizes = llvm.add %at, %3 : i64
  %at_next = llvm.add %at_sizes, %rank : i64
  %block = llvm.call @legato.describe_tensor(%row, %rank) : (!llvm.ptr, i64) -> !llvm.ptr
  %got = llvm.icmp "ne" %block, %null : !llvm.ptr
  llvm.cond_br %got, ^wrap, ^no_memory
^no_memory:
  %memory_error = llvm.mlir.addressof @legato.MemoryError : !llvm.ptr
  %message = llvm.mlir.addressof @legato.packed_memory : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%memory_error, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.br ^drop(%0, %i, %failed : i64, i64, i32)
^wrap:
  %arg = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !any
  %padding = llvm.getelementptr %arg[0, 1] : (!llvm.ptr) -> !llvm.ptr, !any
  %value = llvm.getelementptr %arg[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  llvm.store %tensor_index, %arg : i32, !llvm.ptr
  llvm.store %zero, %padding : i32, !llvm.ptr
  %wrapped = llvm.call @TVMFFITensorFromDLPack(%block, %zero, %zero, %value) : (!llvm.ptr, i32, i32, !llvm.ptr) -> i32
  %is_wrapped = llvm.icmp "eq" %wrapped, %zero : i32
  %i_next = llvm.add %i, %1 : i64
  llvm.cond_br %is_wrapped, ^next(%i_next, %at_next : i64, i64), ^not_wrapped
^not_wrapped:
  llvm.call @free(%block) : (!llvm.ptr) -> ()
  llvm.br ^drop(%0, %i, %wrapped : i64, i64, i32)
^call:
  %ret_padding = llvm.getelementptr %ret[0, 1] : (!llvm.ptr) -> !llvm.ptr, !any
  %ret_value = llvm.getelementptr %ret[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  llvm.store %zero, %ret : i32, !llvm.ptr
  llvm.store %zero, %ret_padding : i32, !llvm.ptr
  llvm.store %0, %ret_value : i64, !llvm.ptr
  %count32 = llvm.trunc %count : i64 to i32
  %rc = llvm.call @TVMFFIFunctionCall(%function, %args, %count32, %ret) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  %given = llvm.load %ret : !llvm.ptr -> i32
  %is_object = llvm.icmp "sge" %given, %first_object_index : i32
  llvm.cond_br %is_object, ^drop_return, ^drop(%0, %count, %rc : i64, i64, i32)
^drop_return:
  %object = llvm.load %ret_value : !llvm.ptr -> !llvm.ptr
  llvm.call @TVMFFIObjectDecRef(%object) : (!llvm.ptr) -> ()
  llvm.br ^drop(%0, %count, %rc : i64, i64, i32)
^drop(%d: i64, %made: i64, %code: i32):
  %more_drops = llvm.icmp "slt" %d, %made : i64
  llvm.cond_br %more_drops, ^drop_one, ^done
^drop_one:
  %tensor_at = llvm.getelementptr %args[%d, 2] : (!llvm.ptr, i64) -> !llvm.ptr, !any
  %tensor = llvm.load %tensor_at : !llvm.ptr -> !llvm.ptr
  llvm.call @TVMFFIObjectDecRef(%tensor) : (!llvm.ptr) -> ()
  %d_next = llvm.add %d, %1 : i64
  llvm.br ^drop(%d_next, %made, %code : i64, i64, i32)
^done:
  llvm.return %code : i32
}

llvm.mlir.global private constant @legato.packed_memory("no memory to describe a tensor for a packed function\00")

// A DLManagedTensor with its shape and strides for a row of the table; its deleter is libc's free: the data is somebody else's. Null when
// there is no memory.
llvm.func internal @legato.describe_tensor(%row: !llvm.ptr, %rank: i64) -> !llvm.ptr {
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
  llvm.store %stride, %stride_to : i64, !llvm.ptr
  %next_stride = llvm.mul %stride, %size : i64
  llvm.br ^axes(%a, %next_stride : i64, i64)
^done:
  llvm.return %block : !llvm.ptr
}
llvm.func @malloc(i64) -> !llvm.ptr
