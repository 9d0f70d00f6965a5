// What an argument is, in words, for messages.

llvm.mlir.global private constant @legato.none("None\00")
llvm.mlir.global private constant @legato.int("an int\00")
llvm.mlir.global private constant @legato.bool("a bool\00")
llvm.mlir.global private constant @legato.float("a float\00")
llvm.mlir.global private constant @legato.str("a str\00")
llvm.mlir.global private constant @legato.list("a list or tuple\00")
llvm.mlir.global private constant @legato.dict("a dict\00")
llvm.mlir.global private constant @legato.object("an object of type index %lld\00")
llvm.mlir.global private constant @legato.int_bits("int%lld\00")
llvm.mlir.global private constant @legato.uint_bits("uint%lld\00")
llvm.mlir.global private constant @legato.float_bits("float%lld\00")
llvm.mlir.global private constant @legato.bfloat_bits("bfloat%lld\00")
llvm.mlir.global private constant @legato.other_bits("(another dtype of %lld bits)\00")
llvm.mlir.global private constant @legato.lanes("x%lld\00")
llvm.mlir.global private constant @legato.open("[\00")
llvm.mlir.global private constant @legato.first("%lld\00")
llvm.mlir.global private constant @legato.another(", %lld\00")
llvm.mlir.global private constant @legato.close("]\00")
llvm.mlir.global private constant @legato.boolean("bool\00")

// Writes `float32[1, 7]` or `an int` into 512 bytes at %out.
llvm.func internal @legato.describe(%any: !llvm.ptr, %out: !llvm.ptr) {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %8 = llvm.mlir.constant(8 : i32) : i32
  %16 = llvm.mlir.constant(16 : i32) : i32
  %byte = llvm.mlir.constant(255 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %tensor = llvm.call @legato.tensor_of(%any) : (!llvm.ptr) -> !llvm.ptr
  %is_tensor = llvm.icmp "ne" %tensor, %null : !llvm.ptr
  llvm.cond_br %is_tensor, ^tensor, ^other
^other:
  %none = llvm.mlir.addressof @legato.none : !llvm.ptr
  %int = llvm.mlir.addressof @legato.int : !llvm.ptr
  %bool = llvm.mlir.addressof @legato.bool : !llvm.ptr
  %float = llvm.mlir.addressof @legato.float : !llvm.ptr
  %str = llvm.mlir.addressof @legato.str : !llvm.ptr
  %list = llvm.mlir.addressof @legato.list : !llvm.ptr
  %dict = llvm.mlir.addressof @legato.dict : !llvm.ptr
  %object = llvm.mlir.addressof @legato.object : !llvm.ptr
  %index = llvm.load %any : !llvm.ptr -> i32
  llvm.switch %index : i32, ^say(%object : !llvm.ptr) [
    0: ^say(%none : !llvm.ptr),
    1: ^say(%int : !llvm.ptr),
    2: ^say(%bool : !llvm.ptr),
    3: ^say(%float : !llvm.ptr),
    8: ^say(%str : !llvm.ptr),
    11: ^say(%str : !llvm.ptr),
    65: ^say(%str : !llvm.ptr),
    71: ^say(%list : !llvm.ptr),
    72: ^say(%dict : !llvm.ptr),
    75: ^say(%list : !llvm.ptr),
    76: ^say(%dict : !llvm.ptr)
  ]
^say(%kind: !llvm.ptr):
  %index64 = llvm.sext %index : i32 to i64
  %said = llvm.call @legato.append(%out, %0, %kind, %index64) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
  llvm.return

^tensor:
  %int_bits = llvm.mlir.addressof @legato.int_bits : !llvm.ptr
  %uint_bits = llvm.mlir.addressof @legato.uint_bits : !llvm.ptr
  %float_bits = llvm.mlir.addressof @legato.float_bits : !llvm.ptr
  %bfloat_bits = llvm.mlir.addressof @legato.bfloat_bits : !llvm.ptr
  %boolean = llvm.mlir.addressof @legato.boolean : !llvm.ptr
  %other_bits = llvm.mlir.addressof @legato.other_bits : !llvm.ptr
  %dtype_at = llvm.getelementptr %tensor[0, 4] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %dtype = llvm.load %dtype_at : !llvm.ptr -> i32
  %code = llvm.and %dtype, %byte : i32
  %dtype_8 = llvm.lshr %dtype, %8 : i32
  %bits = llvm.and %dtype_8, %byte : i32
  %bits64 = llvm.zext %bits : i32 to i64
  llvm.switch %code : i32, ^element(%other_bits : !llvm.ptr) [
    0: ^element(%int_bits : !llvm.ptr),
    1: ^element(%uint_bits : !llvm.ptr),
    2: ^element(%float_bits : !llvm.ptr),
    4: ^element(%bfloat_bits : !llvm.ptr),
    6: ^element(%boolean : !llvm.ptr)
  ]
^element(%element: !llvm.ptr):
  %name_end = llvm.call @legato.append(%out, %0, %element, %bits64) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
  %lanes = llvm.lshr %dtype, %16 : i32
  %lanes64 = llvm.zext %lanes : i32 to i64
  %is_scalar = llvm.icmp "eq" %lanes64, %1 : i64
  llvm.cond_br %is_scalar, ^open(%name_end : i64), ^vector
^vector:
  %lanes_format = llvm.mlir.addressof @legato.lanes : !llvm.ptr
  %lanes_end = llvm.call @legato.append(%out, %name_end, %lanes_format, %lanes64) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
  llvm.br ^open(%lanes_end : i64)
^open(%dtype_end: i64):
  %opening = llvm.mlir.addressof @legato.open : !llvm.ptr
  %opened = llvm.call @legato.append(%out, %dtype_end, %opening, %0) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
  %ndim_at = llvm.getelementptr %tensor[0, 3] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %ndim = llvm.load %ndim_at : !llvm.ptr -> i32
  %rank = llvm.sext %ndim : i32 to i64
  %shape_at = llvm.getelementptr %tensor[0, 5] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %first = llvm.mlir.addressof @legato.first : !llvm.ptr
  %another = llvm.mlir.addressof @legato.another : !llvm.ptr
  llvm.br ^axes(%0, %opened, %first : i64, i64, !llvm.ptr)
^axes(%i: i64, %used: i64, %format: !llvm.ptr):
  %more = llvm.icmp "slt" %i, %rank : i64
  llvm.cond_br %more, ^axis, ^close
^axis:
  %size_at = llvm.getelementptr %shape[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %size = llvm.load %size_at : !llvm.ptr -> i64
  %size_end = llvm.call @legato.append(%out, %used, %format, %size) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
  %next = llvm.add %i, %1 : i64
  llvm.br ^axes(%next, %size_end, %another : i64, i64, !llvm.ptr)
^close:
  %closing = llvm.mlir.addressof @legato.close : !llvm.ptr
  %closed = llvm.call @legato.append(%out, %used, %closing, %0) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
  llvm.return
}

// Formats one number behind the first %used of 512 bytes; returns how many are used then.
llvm.func internal @legato.append(%out: !llvm.ptr, %used: i64, %format: !llvm.ptr, %value: i64) -> i64 {
  %size = llvm.mlir.constant(512 : i64) : i64
  %last = llvm.mlir.constant(511 : i64) : i64
  %to = llvm.getelementptr %out[%used] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %room = llvm.sub %size, %used : i64
  %written = llvm.call @snprintf(%to, %room, %format, %value) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, i64) -> i32
  %written64 = llvm.sext %written : i32 to i64
  %sum = llvm.add %used, %written64 : i64
  %end = llvm.intr.umin(%sum, %last) : (i64, i64) -> i64
  llvm.return %end : i64
}
