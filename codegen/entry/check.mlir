// Checks a value against row %number of @legato.inputs; stores its data pointer, and the symbols that its shape gives. -1, or why it is
// not what it has to be, as @legato.refuse has it, with a detail.
llvm.func internal @legato.check(%any: !llvm.ptr, %number: i64, %symbols: !llvm.ptr, %pointer_to: !llvm.ptr, %detail_to: !llvm.ptr) -> i32 {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %true = llvm.mlir.constant(true) : i1
  %good = llvm.mlir.constant(-1 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %table = llvm.mlir.addressof @legato.inputs : !llvm.ptr
  %row = llvm.getelementptr %table[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<6 x i64>

  %tensor = llvm.call @legato.tensor_of(%any) : (!llvm.ptr) -> !llvm.ptr
  %not_tensor = llvm.mlir.constant(0 : i32) : i32
  %is_tensor = llvm.icmp "ne" %tensor, %null : !llvm.ptr
  llvm.cond_br %is_tensor, ^device, ^refuse(%not_tensor, %0 : i32, i64)

^device:
  %cpu = llvm.mlir.constant(1 : i32) : i32
  %bad_device = llvm.mlir.constant(1 : i32) : i32
  %device_at = llvm.getelementptr %tensor[0, 1] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %device = llvm.load %device_at : !llvm.ptr -> i32
  %on_cpu = llvm.icmp "eq" %device, %cpu : i32
  llvm.cond_br %on_cpu, ^dtype, ^refuse(%bad_device, %0 : i32, i64)

^dtype:
  %bad_dtype = llvm.mlir.constant(2 : i32) : i32
  %dtype_at = llvm.getelementptr %tensor[0, 4] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %dtype = llvm.load %dtype_at : !llvm.ptr -> i32
  %expected_dtype_at = llvm.getelementptr %row[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %expected_dtype64 = llvm.load %expected_dtype_at : !llvm.ptr -> i64
  %expected_dtype = llvm.trunc %expected_dtype64 : i64 to i32
  %same_dtype = llvm.icmp "eq" %dtype, %expected_dtype : i32
  llvm.cond_br %same_dtype, ^rank, ^refuse(%bad_dtype, %0 : i32, i64)

^rank:
  %bad_rank = llvm.mlir.constant(3 : i32) : i32
  %ndim_at = llvm.getelementptr %tensor[0, 3] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %ndim = llvm.load %ndim_at : !llvm.ptr -> i32
  %rank_at = llvm.getelementptr %row[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %rank = llvm.load %rank_at : !llvm.ptr -> i64
  %ndim64 = llvm.sext %ndim : i32 to i64
  %same_rank = llvm.icmp "eq" %ndim64, %rank : i64
  llvm.cond_br %same_rank, ^shape, ^refuse(%bad_rank, %0 : i32, i64)

^shape:                                          // from the last axis to the first, with the strides that a contiguous tensor has
  %shape_at = llvm.getelementptr %tensor[0, 5] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %strides_at = llvm.getelementptr %tensor[0, 6] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %strides = llvm.load %strides_at : !llvm.ptr -> !llvm.ptr
  %no_strides = llvm.icmp "eq" %strides, %null : !llvm.ptr
  %first_axis_at = llvm.getelementptr %row[4] : (!llvm.ptr) -> !llvm.ptr, i64
  %first_axis = llvm.load %first_axis_at : !llvm.ptr -> i64
  %all_axes = llvm.mlir.addressof @legato.axes : !llvm.ptr
  %axes = llvm.getelementptr %all_axes[%first_axis] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<3 x i64>
  llvm.br ^next(%rank, %1, %true : i64, i64, i1)
^next(%left: i64, %count: i64, %contiguous: i1):
  %no_more = llvm.icmp "eq" %left, %0 : i64
  llvm.cond_br %no_more, ^layout, ^axis
^axis:
  %axis = llvm.sub %left, %1 : i64
  %size_at = llvm.getelementptr %shape[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %size = llvm.load %size_at : !llvm.ptr -> i64
  %rule = llvm.getelementptr %axes[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<3 x i64>
  %symbol = llvm.load %rule : !llvm.ptr -> i64
  %offset_at = llvm.getelementptr %rule[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %offset = llvm.load %offset_at : !llvm.ptr -> i64
  %bad_size = llvm.mlir.constant(4 : i32) : i32
  %is_constant = llvm.icmp "slt" %symbol, %0 : i64
  llvm.cond_br %is_constant, ^constant, ^symbolic
^constant:
  %same_size = llvm.icmp "eq" %size, %offset : i64
  llvm.cond_br %same_size, ^stride, ^refuse(%bad_size, %axis : i32, i64)
^symbolic:
  %bad_symbol = llvm.mlir.constant(5 : i32) : i32
  %scale_at = llvm.getelementptr %rule[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %scale = llvm.load %scale_at : !llvm.ptr -> i64
  %value_at = llvm.getelementptr %symbols[%symbol] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %value = llvm.load %value_at : !llvm.ptr -> i64
  %is_bound = llvm.icmp "sge" %value, %0 : i64
  llvm.cond_br %is_bound, ^compare, ^bind
^compare:
  %times = llvm.mul %value, %scale : i64
  %expected_size = llvm.add %times, %offset : i64
  %fits = llvm.icmp "eq" %size, %expected_size : i64
  llvm.cond_br %fits, ^stride, ^refuse(%bad_symbol, %axis : i32, i64)
^bind:
  %scaled = llvm.sub %size, %offset : i64
  %quotient = llvm.sdiv %scaled, %scale : i64
  %again = llvm.mul %quotient, %scale : i64
  %is_multiple = llvm.icmp "eq" %again, %scaled : i64
  %is_size = llvm.icmp "sge" %quotient, %0 : i64
  %gives = llvm.and %is_multiple, %is_size : i1
  llvm.cond_br %gives, ^store, ^refuse(%bad_symbol, %axis : i32, i64)
^store:
  llvm.store %quotient, %value_at : i64, !llvm.ptr
  llvm.br ^stride
^stride:
  %next_count = llvm.mul %count, %size : i64
  llvm.cond_br %no_strides, ^next(%axis, %next_count, %contiguous : i64, i64, i1), ^check_stride
^check_stride:
  %stride_at = llvm.getelementptr %strides[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %stride = llvm.load %stride_at : !llvm.ptr -> i64
  %same_stride = llvm.icmp "eq" %stride, %count : i64
  %single = llvm.icmp "eq" %size, %1 : i64
  %stride_fits = llvm.or %same_stride, %single : i1
  %still_contiguous = llvm.and %contiguous, %stride_fits : i1
  llvm.br ^next(%axis, %next_count, %still_contiguous : i64, i64, i1)

^layout:
  %data = llvm.load %tensor : !llvm.ptr -> !llvm.ptr
  %byte_offset_at = llvm.getelementptr %tensor[0, 7] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %byte_offset = llvm.load %byte_offset_at : !llvm.ptr -> i64
  %pointer = llvm.getelementptr %data[%byte_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.store %pointer, %pointer_to : !llvm.ptr, !llvm.ptr
  %is_empty = llvm.icmp "eq" %count, %0 : i64
  llvm.cond_br %is_empty, ^right, ^present      // who has no elements may have any strides, and no data
^present:
  %no_data = llvm.mlir.constant(7 : i32) : i32
  %has_data = llvm.icmp "ne" %data, %null : !llvm.ptr
  llvm.cond_br %has_data, ^strided, ^refuse(%no_data, %0 : i32, i64)
^strided:
  %bad_strides = llvm.mlir.constant(6 : i32) : i32
  llvm.cond_br %contiguous, ^alignment, ^refuse(%bad_strides, %0 : i32, i64)
^alignment:
  %misaligned = llvm.mlir.constant(8 : i32) : i32
  %width_at = llvm.getelementptr %row[5] : (!llvm.ptr) -> !llvm.ptr, i64
  %width = llvm.load %width_at : !llvm.ptr -> i64
  %mask = llvm.sub %width, %1 : i64
  %address = llvm.ptrtoint %pointer : !llvm.ptr to i64
  %low = llvm.and %address, %mask : i64
  %aligned = llvm.icmp "eq" %low, %0 : i64
  llvm.cond_br %aligned, ^right, ^refuse(%misaligned, %width : i32, i64)
^right:
  llvm.return %good : i32

^refuse(%why: i32, %detail: i64):
  llvm.store %detail, %detail_to : i64, !llvm.ptr
  llvm.return %why : i32
}

// The DLTensor of an argument, which is a tvm-ffi Tensor object (70) or a bare DLTensor* (7); null for anything else.
llvm.func internal @legato.tensor_of(%any: !llvm.ptr) -> !llvm.ptr {
  %bare_index = llvm.mlir.constant(7 : i32) : i32
  %object_index = llvm.mlir.constant(70 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %index = llvm.load %any : !llvm.ptr -> i32
  %value_at = llvm.getelementptr %any[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %value = llvm.load %value_at : !llvm.ptr -> !llvm.ptr
  %inside = llvm.getelementptr %value[24] : (!llvm.ptr) -> !llvm.ptr, i8      // behind the object's header
  %is_object = llvm.icmp "eq" %index, %object_index : i32
  %is_bare = llvm.icmp "eq" %index, %bare_index : i32
  %bare = llvm.select %is_bare, %value, %null : i1, !llvm.ptr
  %tensor = llvm.select %is_object, %inside, %bare : i1, !llvm.ptr
  llvm.return %tensor : !llvm.ptr
}
