// Whether an address lies in the memory of one of the tensors in a table of arguments (packed.mlir).
llvm.func internal @legato.in_arguments(%data: !llvm.ptr, %table: !llvm.ptr, %count: i64) -> i1 {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %2 = llvm.mlir.constant(2 : i64) : i64
  %4 = llvm.mlir.constant(4 : i64) : i64
  %7 = llvm.mlir.constant(7 : i64) : i64
  %3 = llvm.mlir.constant(3 : i64) : i64
  %8 = llvm.mlir.constant(8 : i64) : i64
  %byte = llvm.mlir.constant(255 : i64) : i64
  %tensor_kind = llvm.mlir.constant(70 : i64) : i64
  %shape_kind = llvm.mlir.constant(69 : i64) : i64
  %true = llvm.mlir.constant(true) : i1
  %false = llvm.mlir.constant(false) : i1
  %address = llvm.ptrtoint %data : !llvm.ptr to i64
  llvm.br ^next(%0, %0 : i64, i64)
^next(%i: i64, %at: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^look, ^outside
^outside:
  llvm.return %false : i1
^look:
  %row = llvm.getelementptr %table[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %word_at = llvm.getelementptr %row[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %kind = llvm.load %row : !llvm.ptr -> i64
  %word = llvm.load %word_at : !llvm.ptr -> i64
  %i_next = llvm.add %i, %1 : i64
  %is_tensor = llvm.icmp "eq" %kind, %tensor_kind : i64
  llvm.cond_br %is_tensor, ^tensor, ^other
^other:
  %is_shape = llvm.icmp "eq" %kind, %shape_kind : i64
  %rest = llvm.select %is_shape, %word, %0 : i1, i64
  %two = llvm.add %at, %2 : i64
  %behind = llvm.add %two, %rest : i64
  llvm.br ^next(%i_next, %behind : i64, i64)
^tensor:
  %dtype_at = llvm.getelementptr %row[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %rank_at = llvm.getelementptr %row[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %dtype = llvm.load %dtype_at : !llvm.ptr -> i64
  %rank = llvm.load %rank_at : !llvm.ptr -> i64
  %bits_up = llvm.lshr %dtype, %8 : i64
  %bits = llvm.and %bits_up, %byte : i64
  %bits_7 = llvm.add %bits, %7 : i64
  %width = llvm.lshr %bits_7, %3 : i64
  %sizes = llvm.getelementptr %row[4] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.br ^axes(%0, %width : i64, i64)
^axes(%a: i64, %bytes: i64):
  %more_axes = llvm.icmp "slt" %a, %rank : i64
  llvm.cond_br %more_axes, ^axis, ^compare
^axis:
  %size_at = llvm.getelementptr %sizes[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %size = llvm.load %size_at : !llvm.ptr -> i64
  %bytes_next = llvm.mul %bytes, %size : i64
  %a_next = llvm.add %a, %1 : i64
  llvm.br ^axes(%a_next, %bytes_next : i64, i64)
^compare:
  %end = llvm.add %word, %bytes : i64
  %is_behind = llvm.icmp "uge" %address, %word : i64
  %is_before = llvm.icmp "ult" %address, %end : i64
  %is_inside = llvm.and %is_behind, %is_before : i1
  %four = llvm.add %at, %4 : i64
  %at_next = llvm.add %four, %rank : i64
  llvm.cond_br %is_inside, ^inside, ^next(%i_next, %at_next : i64, i64)
^inside:
  llvm.return %true : i1
}

// A contiguous copy of a tensor of any strides, at a multiple of 64 bytes; who gets it frees it. Null when there is no memory.
llvm.func internal @legato.copy_tensor(%tensor: !llvm.ptr) -> !llvm.ptr {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %3 = llvm.mlir.constant(3 : i64) : i64
  %7 = llvm.mlir.constant(7 : i64) : i64
  %64 = llvm.mlir.constant(64 : i64) : i64
  %align = llvm.mlir.constant(-64 : i64) : i64
  %byte = llvm.mlir.constant(255 : i32) : i32
  %eight = llvm.mlir.constant(8 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %data = llvm.load %tensor : !llvm.ptr -> !llvm.ptr
  %rank_at = llvm.getelementptr %tensor[0, 3] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %dtype_at = llvm.getelementptr %tensor[0, 4] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %shape_at = llvm.getelementptr %tensor[0, 5] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %strides_at = llvm.getelementptr %tensor[0, 6] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %offset_at = llvm.getelementptr %tensor[0, 7] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %rank32 = llvm.load %rank_at : !llvm.ptr -> i32
  %rank = llvm.sext %rank32 : i32 to i64
  %dtype = llvm.load %dtype_at : !llvm.ptr -> i32
  %bits_up = llvm.lshr %dtype, %eight : i32
  %bits32 = llvm.and %bits_up, %byte : i32
  %bits = llvm.zext %bits32 : i32 to i64
  %bits_7 = llvm.add %bits, %7 : i64
  %width = llvm.lshr %bits_7, %3 : i64
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %strides = llvm.load %strides_at : !llvm.ptr -> !llvm.ptr
  %byte_offset = llvm.load %offset_at : !llvm.ptr -> i64
  %from = llvm.getelementptr %data[%byte_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.br ^count(%0, %1 : i64, i64)
^count(%a: i64, %elements: i64):
  %more_axes = llvm.icmp "slt" %a, %rank : i64
  llvm.cond_br %more_axes, ^multiply, ^allocate
^multiply:
  %extent_at = llvm.getelementptr %shape[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %extent = llvm.load %extent_at : !llvm.ptr -> i64
  %more_elements = llvm.mul %elements, %extent : i64
  %a_next = llvm.add %a, %1 : i64
  llvm.br ^count(%a_next, %more_elements : i64, i64)
^allocate:
  %bytes = llvm.mul %elements, %width : i64
  %bytes_up = llvm.add %bytes, %64 : i64
  %whole = llvm.and %bytes_up, %align : i64
  %room = llvm.add %whole, %64 : i64
  %copy = llvm.call @aligned_alloc(%64, %room) : (i64, i64) -> !llvm.ptr
  %got = llvm.icmp "ne" %copy, %null : !llvm.ptr
  llvm.cond_br %got, ^next(%0 : i64), ^done
^next(%i: i64):
  %more = llvm.icmp "slt" %i, %elements : i64
  llvm.cond_br %more, ^place(%rank, %i, %0 : i64, i64, i64), ^done
^place(%left: i64, %rest: i64, %offset: i64):    // from the last axis to the first; without strides the element's number is its place
  %is_placed = llvm.icmp "eq" %left, %0 : i64
  llvm.cond_br %is_placed, ^copy(%offset : i64), ^axis
^axis:
  %axis = llvm.sub %left, %1 : i64
  %size_at = llvm.getelementptr %shape[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %size = llvm.load %size_at : !llvm.ptr -> i64
  %quotient = llvm.sdiv %rest, %size : i64
  %index = llvm.srem %rest, %size : i64
  %no_strides = llvm.icmp "eq" %strides, %null : !llvm.ptr
  llvm.cond_br %no_strides, ^copy(%i : i64), ^step
^step:
  %stride_at = llvm.getelementptr %strides[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %stride = llvm.load %stride_at : !llvm.ptr -> i64
  %steps = llvm.mul %index, %stride : i64
  %offset_next = llvm.add %offset, %steps : i64
  llvm.br ^place(%axis, %quotient, %offset_next : i64, i64, i64)
^copy(%element: i64):
  %source_byte = llvm.mul %element, %width : i64
  %target_byte = llvm.mul %i, %width : i64
  %source = llvm.getelementptr %from[%source_byte] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %target = llvm.getelementptr %copy[%target_byte] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  "llvm.intr.memcpy"(%target, %source, %width) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %i_next = llvm.add %i, %1 : i64
  llvm.br ^next(%i_next : i64)
^done:
  llvm.return %copy : !llvm.ptr
}
