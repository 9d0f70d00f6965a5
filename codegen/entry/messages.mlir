// Messages for people, put together when something is refused.

llvm.mlir.global private constant @legato.create_usage("create takes an owner of code and weights (or None), each weight's address, then each packed function (or None)\00")
llvm.mlir.global private constant @legato.refused("main: argument %lld '%s' must be %s, but %s was given%s\00")
llvm.mlir.global private constant @legato.refused_result("the packed function '%s' must return %s, but %s came back%s\00")
llvm.mlir.global private constant @legato.number("%s takes %lld argument%s, but %lld given\00")
llvm.mlir.global private constant @legato.no_packed("the model calls the packed function '%s', and none is registered under that name\00")
llvm.mlir.global private constant @legato.memory("no memory for this call: it needs an arena of %lld bytes, and room for the results\00")
llvm.mlir.global private constant @legato.requirement("main cannot run on inputs of these sizes: %s (off by %lld)\00")
llvm.mlir.global private constant @legato.unequal("main cannot run on these sizes: %s (expected %lld, found %lld)\00")
llvm.mlir.global private constant @legato.no_reason("\00")
llvm.mlir.global private constant @legato.device(": it is on a device of type %d, not on the CPU\00")
llvm.mlir.global private constant @legato.dtype(": the element type differs\00")
llvm.mlir.global private constant @legato.rank(": the number of dimensions differs\00")
llvm.mlir.global private constant @legato.size(": dimension %lld is %lld, not %lld\00")
llvm.mlir.global private constant @legato.symbol(": dimension %lld is %lld, but '%s' is %lld in '%s'\00")
llvm.mlir.global private constant @legato.own_symbol(": dimension %lld is %lld, not %lld, which '%s' is\00")
llvm.mlir.global private constant @legato.no_symbol(": dimension %lld is %lld, which no value of '%s' gives\00")
llvm.mlir.global private constant @legato.strides(": it is not contiguous\00")
llvm.mlir.global private constant @legato.no_data(": its data pointer is null\00")
llvm.mlir.global private constant @legato.misaligned(": its data is not aligned to %lld bytes\00")
llvm.mlir.global private constant @legato.plural("s\00")

// Raises the error for a value that is not what row %number of @legato.inputs says: an argument, or a packed function's result. %why: 0 not a tensor, 1 device, 2 dtype, 3 rank, 4 size, 5 symbol (%detail: the axis),
// 6 strides, 7 no data, 8 alignment (%detail: bytes).
llvm.func internal @legato.refuse(%any: !llvm.ptr, %number: i64, %symbols: !llvm.ptr, %why: i32, %detail: i64) {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %half = llvm.mlir.constant(512 : i64) : i64
  %whole = llvm.mlir.constant(2048 : i64) : i64
  %given = llvm.alloca %half x i8 : (i64) -> !llvm.ptr
  %reason = llvm.alloca %half x i8 : (i64) -> !llvm.ptr
  %message = llvm.alloca %whole x i8 : (i64) -> !llvm.ptr
  %type_error = llvm.mlir.addressof @legato.TypeError : !llvm.ptr
  %value_error = llvm.mlir.addressof @legato.ValueError : !llvm.ptr
  %strings = llvm.mlir.addressof @legato.strings : !llvm.ptr
  %table = llvm.mlir.addressof @legato.inputs : !llvm.ptr
  %row = llvm.getelementptr %table[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<6 x i64>
  %name_offset = llvm.load %row : !llvm.ptr -> i64
  %name = llvm.getelementptr %strings[%name_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %expected_at = llvm.getelementptr %row[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %expected_offset = llvm.load %expected_at : !llvm.ptr -> i64
  %expected = llvm.getelementptr %strings[%expected_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %counts = llvm.mlir.addressof @legato.counts : !llvm.ptr
  %n_inputs = llvm.load %counts : !llvm.ptr -> i64
  %is_argument = llvm.icmp "slt" %number, %n_inputs : i64
  %tensor = llvm.call @legato.tensor_of(%any) : (!llvm.ptr) -> !llvm.ptr
  llvm.call @legato.describe(%any, %given) : (!llvm.ptr, !llvm.ptr) -> ()
  %no_reason = llvm.mlir.addressof @legato.no_reason : !llvm.ptr
  %dtype = llvm.mlir.addressof @legato.dtype : !llvm.ptr
  %rank = llvm.mlir.addressof @legato.rank : !llvm.ptr
  %strides = llvm.mlir.addressof @legato.strides : !llvm.ptr
  %no_data = llvm.mlir.addressof @legato.no_data : !llvm.ptr
  llvm.switch %why : i32, ^raise(%value_error, %no_reason : !llvm.ptr, !llvm.ptr) [
    0: ^raise(%type_error, %no_reason : !llvm.ptr, !llvm.ptr),
    1: ^device,
    2: ^raise(%type_error, %dtype : !llvm.ptr, !llvm.ptr),
    3: ^raise(%value_error, %rank : !llvm.ptr, !llvm.ptr),
    4: ^axis,
    5: ^axis,
    6: ^raise(%value_error, %strides : !llvm.ptr, !llvm.ptr),
    7: ^raise(%value_error, %no_data : !llvm.ptr, !llvm.ptr),
    8: ^alignment
  ]
^device:
  %device_format = llvm.mlir.addressof @legato.device : !llvm.ptr
  %device_at = llvm.getelementptr %tensor[0, 1] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %device = llvm.load %device_at : !llvm.ptr -> i32
  llvm.call @snprintf(%reason, %half, %device_format, %device) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, i32) -> i32
  llvm.br ^raise(%value_error, %reason : !llvm.ptr, !llvm.ptr)
^alignment:
  %alignment_format = llvm.mlir.addressof @legato.misaligned : !llvm.ptr
  llvm.call @snprintf(%reason, %half, %alignment_format, %detail) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, i64) -> i32
  llvm.br ^raise(%value_error, %reason : !llvm.ptr, !llvm.ptr)
^axis:
  %shape_at = llvm.getelementptr %tensor[0, 5] : (!llvm.ptr) -> !llvm.ptr, !tensor
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %size_at = llvm.getelementptr %shape[%detail] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %size = llvm.load %size_at : !llvm.ptr -> i64
  %first_axis_at = llvm.getelementptr %row[4] : (!llvm.ptr) -> !llvm.ptr, i64
  %first_axis = llvm.load %first_axis_at : !llvm.ptr -> i64
  %axis = llvm.add %first_axis, %detail : i64
  %axes = llvm.mlir.addressof @legato.axes : !llvm.ptr
  %rule = llvm.getelementptr %axes[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<3 x i64>
  %symbol = llvm.load %rule : !llvm.ptr -> i64
  %is_constant = llvm.icmp "slt" %symbol, %0 : i64
  llvm.cond_br %is_constant, ^constant, ^symbolic
^constant:
  %size_format = llvm.mlir.addressof @legato.size : !llvm.ptr
  %offset_at = llvm.getelementptr %rule[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %offset = llvm.load %offset_at : !llvm.ptr -> i64
  llvm.call @snprintf(%reason, %half, %size_format, %detail, %size, %offset) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, i64, i64, i64) -> i32
  llvm.br ^raise(%value_error, %reason : !llvm.ptr, !llvm.ptr)
^symbolic:
  %names = llvm.mlir.addressof @legato.symbols : !llvm.ptr
  %symbol_name_at = llvm.getelementptr %names[%symbol] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %symbol_name_offset = llvm.load %symbol_name_at : !llvm.ptr -> i64
  %symbol_name = llvm.getelementptr %strings[%symbol_name_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %value_at = llvm.getelementptr %symbols[%symbol] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %value = llvm.load %value_at : !llvm.ptr -> i64
  %has_value = llvm.icmp "sge" %value, %0 : i64
  llvm.cond_br %has_value, ^other_value, ^no_value
^other_value:
  %symbol_format = llvm.mlir.addressof @legato.symbol : !llvm.ptr
  %where = llvm.call @legato.giver(%symbol) : (i64) -> !llvm.ptr
  %is_elsewhere = llvm.icmp "ne" %where, %name : !llvm.ptr
  %says_where = llvm.or %is_argument, %is_elsewhere : i1
  llvm.cond_br %says_where, ^elsewhere, ^itself
^itself:
  %own_format = llvm.mlir.addressof @legato.own_symbol : !llvm.ptr
  llvm.call @snprintf(%reason, %half, %own_format, %detail, %size, %value, %symbol_name)
      vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, i64, i64, i64, !llvm.ptr) -> i32
  llvm.br ^raise(%value_error, %reason : !llvm.ptr, !llvm.ptr)
^elsewhere:
  llvm.call @snprintf(%reason, %half, %symbol_format, %detail, %size, %symbol_name, %value, %where)
      vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, i64, i64, !llvm.ptr, i64, !llvm.ptr) -> i32
  llvm.br ^raise(%value_error, %reason : !llvm.ptr, !llvm.ptr)
^no_value:
  %no_symbol_format = llvm.mlir.addressof @legato.no_symbol : !llvm.ptr
  llvm.call @snprintf(%reason, %half, %no_symbol_format, %detail, %size, %symbol_name) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, i64, i64, !llvm.ptr) -> i32
  llvm.br ^raise(%value_error, %reason : !llvm.ptr, !llvm.ptr)
^raise(%kind: !llvm.ptr, %because: !llvm.ptr):
  llvm.cond_br %is_argument, ^argument, ^result
^argument:
  %format = llvm.mlir.addressof @legato.refused : !llvm.ptr
  llvm.call @snprintf(%message, %whole, %format, %number, %name, %expected, %given, %because) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.br ^set
^result:
  %result_format = llvm.mlir.addressof @legato.refused_result : !llvm.ptr
  llvm.call @snprintf(%message, %whole, %result_format, %name, %expected, %given, %because) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.br ^set
^set:
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}

// The name of the first input, or packed function that returns it, that has a symbol in its shape.
llvm.func internal @legato.giver(%symbol: i64) -> !llvm.ptr {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %strings = llvm.mlir.addressof @legato.strings : !llvm.ptr
  %table = llvm.mlir.addressof @legato.inputs : !llvm.ptr
  %axes = llvm.mlir.addressof @legato.axes : !llvm.ptr
  llvm.br ^input(%0 : i64)
^input(%number: i64):                            // one of them has it, or no symbol would have been refused
  %row = llvm.getelementptr %table[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<6 x i64>
  %rank_at = llvm.getelementptr %row[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %rank = llvm.load %rank_at : !llvm.ptr -> i64
  %first_at = llvm.getelementptr %row[4] : (!llvm.ptr) -> !llvm.ptr, i64
  %first = llvm.load %first_at : !llvm.ptr -> i64
  %end = llvm.add %first, %rank : i64
  llvm.br ^axis(%first : i64)
^axis(%axis: i64):
  %more = llvm.icmp "slt" %axis, %end : i64
  llvm.cond_br %more, ^compare, ^next_input
^next_input:
  %next_number = llvm.add %number, %1 : i64
  llvm.br ^input(%next_number : i64)
^compare:
  %rule = llvm.getelementptr %axes[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<3 x i64>
  %found = llvm.load %rule : !llvm.ptr -> i64
  %same = llvm.icmp "eq" %found, %symbol : i64
  %next_axis = llvm.add %axis, %1 : i64
  llvm.cond_br %same, ^name, ^axis(%next_axis : i64)
^name:
  %offset = llvm.load %row : !llvm.ptr -> i64
  %name = llvm.getelementptr %strings[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.return %name : !llvm.ptr
}

llvm.func internal @legato.refuse_number(%given: i64) {
  %1 = llvm.mlir.constant(1 : i64) : i64
  %size = llvm.mlir.constant(2048 : i64) : i64
  %message = llvm.alloca %size x i8 : (i64) -> !llvm.ptr
  %type_error = llvm.mlir.addressof @legato.TypeError : !llvm.ptr
  %format = llvm.mlir.addressof @legato.number : !llvm.ptr
  %signature = llvm.mlir.addressof @legato.strings : !llvm.ptr
  %counts = llvm.mlir.addressof @legato.counts : !llvm.ptr
  %expected = llvm.load %counts : !llvm.ptr -> i64
  %nothing = llvm.mlir.addressof @legato.no_reason : !llvm.ptr
  %s = llvm.mlir.addressof @legato.plural : !llvm.ptr
  %is_one = llvm.icmp "eq" %expected, %1 : i64
  %plural = llvm.select %is_one, %nothing, %s : i1, !llvm.ptr
  llvm.call @snprintf(%message, %size, %format, %signature, %expected, %plural, %given) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64) -> i32
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%type_error, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}

// Checks requirement %number: its size is not below 0, or is the other one. 0, or nonzero with the error raised.
llvm.func internal @legato.require(%number: i64, %value: i64, %other: i64) -> i32 {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %good = llvm.mlir.constant(0 : i32) : i32
  %failed = llvm.mlir.constant(-1 : i32) : i32
  %size = llvm.mlir.constant(2048 : i64) : i64
  %table = llvm.mlir.addressof @legato.requirements : !llvm.ptr
  %row = llvm.getelementptr %table[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<3 x i64>
  %equal_at = llvm.getelementptr %row[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %equal = llvm.load %equal_at : !llvm.ptr -> i64
  %is_equality = llvm.icmp "ne" %equal, %0 : i64
  %is_equal = llvm.icmp "eq" %value, %other : i64
  %is_enough = llvm.icmp "sge" %value, %0 : i64
  %is_met = llvm.select %is_equality, %is_equal, %is_enough : i1, i1
  llvm.cond_br %is_met, ^met, ^refuse
^met:
  llvm.return %good : i32
^refuse:
  %message = llvm.alloca %size x i8 : (i64) -> !llvm.ptr
  %value_error = llvm.mlir.addressof @legato.ValueError : !llvm.ptr
  %strings = llvm.mlir.addressof @legato.strings : !llvm.ptr
  %text_offset = llvm.load %row : !llvm.ptr -> i64
  %text = llvm.getelementptr %strings[%text_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.cond_br %is_equality, ^unequal, ^too_small
^unequal:
  %unequal = llvm.mlir.addressof @legato.unequal : !llvm.ptr
  llvm.call @snprintf(%message, %size, %unequal, %text, %other, %value) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
  llvm.br ^raise
^too_small:
  %format = llvm.mlir.addressof @legato.requirement : !llvm.ptr
  %excess = llvm.sub %0, %value : i64
  llvm.call @snprintf(%message, %size, %format, %text, %excess) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64) -> i32
  llvm.br ^raise
^raise:
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%value_error, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %failed : i32
}

llvm.func internal @legato.refuse_memory(%sizes: !llvm.ptr) {
  %size = llvm.mlir.constant(256 : i64) : i64
  %message = llvm.alloca %size x i8 : (i64) -> !llvm.ptr
  %memory_error = llvm.mlir.addressof @legato.MemoryError : !llvm.ptr
  %format = llvm.mlir.addressof @legato.memory : !llvm.ptr
  %bytes = llvm.load %sizes : !llvm.ptr -> i64
  llvm.call @snprintf(%message, %size, %format, %bytes) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, i64) -> i32
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%memory_error, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}

llvm.func internal @legato.refuse_packed(%name: !llvm.ptr) {
  %size = llvm.mlir.constant(2048 : i64) : i64
  %message = llvm.alloca %size x i8 : (i64) -> !llvm.ptr
  %value_error = llvm.mlir.addressof @legato.ValueError : !llvm.ptr
  %format = llvm.mlir.addressof @legato.no_packed : !llvm.ptr
  llvm.call @snprintf(%message, %size, %format, %name) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
      : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr) -> i32
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%value_error, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}
