// The tvm-ffi entry of a compiled model: what is the same for every model, in several files. tables.py adds what differs, under the names
//   @legato.counts   numbers of inputs, outputs, symbols, sizes, weights, packed functions that main calls, requirements
//   @legato.inputs   a row for each: name, expected type (offsets into @legato.strings), dtype, rank, first row in axes, element bytes;
//                    behind them a row for each result of a packed function, by the function's name
//   @legato.axes     a row for each axis of those: symbol or -1, scale, offset; the size has to be symbol * scale + offset
//   @legato.symbols  the name of each symbol, those last that packed functions' results give
//   @legato.requirements  a row for each: text, position in the sizes (-1: main checks it itself), 1 if the two sizes there must be equal
//   @legato.packed   a row for each packed function: its name, and how long that is
//   @legato.outputs  a row for each: dtype, rank, position of its shape in the sizes that @main_sizes computes (-1: main asks for its
//                    memory itself), element bytes
//   @legato.strings  texts, each with a zero behind it; the first is the signature of main
//   @legato.main     calls @main with pointers taken from tables
// An instance of the model is a !state, owned by a tvm-ffi function that @__tvm_ffi_create makes. Nothing here is shared by instances.

// TVMFFIAny: type index, padding, value
!any = !llvm.struct<(i32, i32, i64)>
// DLTensor: data, device type, device number, rank, dtype, shape, strides, byte offset
!tensor = !llvm.struct<(ptr, i32, i32, i32, i32, ptr, ptr, i64)>
// DLManagedTensor: the tensor, context, deleter
!managed = !llvm.struct<(!tensor, ptr, ptr)>
// An instance: the object that owns code and weights, the function ffi.Array, arenas at rest, the address of each weight, packed functions
!state = !llvm.struct<(ptr, ptr, array<16 x ptr>, array<0 x ptr>)>

llvm.func @TVMFFIFunctionCreate(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIFunctionGetGlobal(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIFunctionCall(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
llvm.func @TVMFFITensorFromDLPack(!llvm.ptr, i32, i32, !llvm.ptr) -> i32
llvm.func @TVMFFIObjectIncRef(!llvm.ptr)
llvm.func @TVMFFIObjectDecRef(!llvm.ptr)
llvm.func @TVMFFIErrorSetRaisedFromCStr(!llvm.ptr, !llvm.ptr)
llvm.func @aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @calloc(i64, i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func @snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32

llvm.mlir.global private constant @legato.TypeError("TypeError\00")
llvm.mlir.global private constant @legato.ValueError("ValueError\00")
llvm.mlir.global private constant @legato.MemoryError("MemoryError\00")
llvm.mlir.global private constant @legato.array("ffi.Array")
