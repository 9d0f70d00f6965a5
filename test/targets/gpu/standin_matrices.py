"""Instructions of warps on matrices, where all lanes of a warp meet, and asynchronous copies, as calls of the stand-in
(inputs/standin_driver.c)."""
from legato.core.ir_helpers import find
from legato.core.mlir import arith, func, ir, memref, vector
from legato.dialects.tir.markers import FACTOR_TYPES

MATRIX_FUNCTIONS = {"standin_ldmatrix": "(i64, i32, i32, i64) -> ()", "standin_mma": "(i32, i64, i64, i64) -> ()"}
FUNCTIONS = {**MATRIX_FUNCTIONS, "standin_copy": "(i64, i64, i32, i32) -> ()", "standin_commit": "() -> ()", "standin_wait": "(i32) -> ()"}
DEPTHS = {"f16": 16, "bf16": 16, "f32": 8, "f8E4M3FN": 32, "f8E5M2": 32}     # in the order of the stand-in's numbers
BYTES = 5       # the first number of products of bytes; the next ones are of unsigned ones on the left, on the right, and on both sides


def rewrite_matrices(module):
    """Puts calls in the places of the instructions in a module's kernels."""
    with module.context, ir.Location.unknown():
        for holder in find(module.operation, "gpu.module"):
            if find(holder, *REWRITTEN):
                with ir.InsertionPoint.at_block_begin(holder.regions[0].blocks[0]):
                    for name, type_ in FUNCTIONS.items():
                        func.FuncOp(name, ir.FunctionType(ir.Type.parse(type_)), visibility="private")
        for kernel in find(module.operation, "gpu.func"):
            for op in find(kernel, *REWRITTEN):
                with ir.InsertionPoint(op), op.location:
                    made = REWRITTEN[op.name](op, kernel.regions[0].blocks[0])
                if made is not None:
                    op.results[0].replace_all_uses_with(made)
                op.erase()


def load_matrices(op, entry):
    """Each lane names a row; what it gets is written to its memory."""
    buffer, *place = op.operands
    kept = room(entry, op.results[0].type)
    numbers = [number(int(op.attributes[name].value)) for name in ("numTiles", "transpose")]
    call("standin_ldmatrix", word(element(buffer, place)), *numbers, address(kept))
    return taken(kept, op.results[0].type)


def multiply(op, entry):
    """The result of a lane is written over what is added to it."""
    type_ = str(op.operands[0].type.element_type)
    signs = [str(one.value) for one in op.attributes[FACTOR_TYPES]] if FACTOR_TYPES in op.attributes else []
    assert (type_ == "i8") == bool(signs) and [size.value for size in op.attributes["mmaShape"]] == [16, 8, DEPTHS.get(type_, 32)]
    kind = BYTES + signs_of(signs) if signs else list(DEPTHS).index(type_)
    assert ("tf32Enabled" in op.attributes) == (type_ == "f32")
    first, second, third = (given(entry, value) for value in op.operands)
    call("standin_mma", number(kind), *map(address, (first, second, third)))
    return taken(third, op.results[0].type)


def signs_of(types):
    """Bits that say which factors are unsigned."""
    assert all(one in ("s8", "u8") for one in types)
    return sum((one == "u8") << place for place, one in enumerate(types))


def round_to_tf32(op, entry):
    """The nearest number of 11 bits, of two the one that is farther from 0; the bits after them are 0."""
    assert "rna" in str(op.attributes["rnd"])
    bits = arith.bitcast(ir.IntegerType.get_signless(32), op.operands[0])
    return arith.andi(arith.addi(bits, number(0x1000)), number(~0x1FFF))


def begin_copy(op, entry):
    """A copy of some bytes, of which the last ones may be 0."""
    segments = list(op.attributes["operandSegmentSizes"])
    to, from_ = ([list(op.operands)[begin], list(op.operands)[begin + 1:begin + 1 + count]]
                 for begin, count in ((0, segments[1]), (1 + segments[1], segments[3])))
    width = to[0].type.element_type.width // 8
    read = list(op.operands)[-1] if segments[4] else arith.constant(ir.IndexType.get(), op.attributes["dstElements"].value)
    read = arith.index_cast(ir.IntegerType.get_signless(32), arith.muli(read, arith.constant(ir.IndexType.get(), width)))
    call("standin_copy", word(element(*to)), word(element(*from_)), number(op.attributes["dstElements"].value * width), read)


def element(buffer, place):
    """The address of an element."""
    index = ir.IndexType.get()
    _, offset, *rest = memref.ExtractStridedMetadataOp(buffer).operation.results
    for number, stride in zip(place, rest[buffer.type.rank:]):
        offset = arith.addi(offset, arith.muli(number, stride))
    width = arith.constant(index, buffer.type.element_type.width // 8)
    return arith.addi(memref.extract_aligned_pointer_as_index(buffer), arith.muli(offset, width))


def call(name, *arguments):
    """A call of a function of the stand-in."""
    func.CallOp([], ir.FlatSymbolRefAttr.get(name), list(arguments))


def number(value):
    """A constant of 32 bits."""
    return arith.constant(ir.IntegerType.get_signless(32), value)


def word(value):
    """An index in 64 bits."""
    return arith.index_cast(ir.IntegerType.get_signless(64), value)


def address(buffer):
    """Where a buffer is."""
    return word(memref.extract_aligned_pointer_as_index(buffer))


def room(entry, type_):
    """Memory of a thread for a vector."""
    with ir.InsertionPoint.at_block_begin(entry):
        return memref.alloca(ir.MemRefType.get(type_.shape, type_.element_type), [], [], alignment=16)


def places(shape):
    """All places in a vector of rank 2."""
    return [(i, j) for i in range(shape[0]) for j in range(shape[1])]


def at(place):
    """A place as values."""
    return [arith.constant(ir.IndexType.get(), number) for number in place]


def given(entry, value):
    """Memory with a vector's elements."""
    kept = room(entry, value.type)
    for place in places(value.type.shape):
        memref.store(vector.extract(value, [], list(place)), kept, at(place))
    return kept


def taken(kept, type_):
    """A vector of the elements in memory."""
    return vector.from_elements(type_, [memref.load(kept, at(place)) for place in places(type_.shape)])


REWRITTEN = {"nvgpu.ldmatrix": load_matrices, "nvgpu.mma.sync": multiply, "nvgpu.device_async_copy": begin_copy,
             "nvvm.convert.float.to.tf32": round_to_tf32,
             "nvvm.cp.async.commit.group": lambda op, entry: call("standin_commit"),
             "nvvm.cp.async.wait.group": lambda op, entry: call("standin_wait", number(op.attributes["n"].value))}
