// Memory for output %number of a shape: a DLManagedTensor, its shape and strides, then its data at a multiple of 64 bytes. One block, whose deleter is
// libc's free: a result outlives the model's code. Null when there is no memory. The data's address goes to %data_at.
llvm.func internal @legato.new_tensor(%number: i64, %given_shape: !llvm.ptr, %data_at: !llvm.ptr) -> !llvm.ptr {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %63 = llvm.mlir.constant(63 : i64) : i64
  %64 = llvm.mlir.constant(64 : i64) : i64
  %align = llvm.mlir.constant(-64 : i64) : i64
  %cpu = llvm.mlir.constant(1 : i32) : i32
  %first_device = llvm.mlir.constant(0 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %table = llvm.mlir.addressof @legato.outputs : !llvm.ptr
  %row = llvm.getelementptr %table[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<4 x i64>
  %rank_at = llvm.getelementptr %row[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %width_at = llvm.getelementptr %row[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %dtype = llvm.load %row : !llvm.ptr -> i64
  %rank = llvm.load %rank_at : !llvm.ptr -> i64
  %width = llvm.load %width_at : !llvm.ptr -> i64
  llvm.br ^count(%0, %1 : i64, i64)
^count(%k: i64, %product: i64):
  %more_counts = llvm.icmp "slt" %k, %rank : i64
  llvm.cond_br %more_counts, ^multiply, ^allocate
^multiply:
  %extent_at = llvm.getelementptr %given_shape[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %extent = llvm.load %extent_at : !llvm.ptr -> i64
  %times_extent = llvm.mul %product, %extent : i64
  %k_next = llvm.add %k, %1 : i64
  llvm.br ^count(%k_next, %times_extent : i64, i64)
^allocate:
  %elements = llvm.mul %product, %width : i64
  %elements_up = llvm.add %elements, %63 : i64
  %data_bytes = llvm.and %elements_up, %align : i64
  %4 = llvm.mlir.constant(4 : i64) : i64
  %shape_bytes = llvm.shl %rank, %4 : i64           // shape and strides: 16 bytes an axis
  %head = llvm.add %64, %shape_bytes : i64
  %head_up = llvm.add %head, %63 : i64
  %data_offset = llvm.and %head_up, %align : i64
  %bytes = llvm.add %data_offset, %data_bytes : i64
  %block = llvm.call @aligned_alloc(%64, %bytes) : (i64, i64) -> !llvm.ptr
  %got = llvm.icmp "ne" %block, %null : !llvm.ptr
  llvm.cond_br %got, ^fill, ^none
^none:
  llvm.return %null : !llvm.ptr
^fill:
  %data = llvm.getelementptr %block[%data_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
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
  llvm.store %data, %data_at : !llvm.ptr, !llvm.ptr
  llvm.br ^axes(%rank, %1 : i64, i64)
^axes(%left: i64, %stride: i64):
  %is_done = llvm.icmp "eq" %left, %0 : i64
  llvm.cond_br %is_done, ^done, ^axis
^axis:
  %a = llvm.sub %left, %1 : i64
  %from = llvm.getelementptr %given_shape[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i64
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
