"""Calls of the stand-in in front of what kernels read and write, which finds what is beyond a buffer, and threads that race
(inputs/standin/accesses.h)."""
from standin_matrices import call, number

from legato.core.ir_helpers import everything, find
from legato.core.mlir import arith, func, ir, memref

ACCESS = "standin_access"
READ, WRITE, ATOMIC = range(3)
KINDS = {"memref.load": READ, "vector.load": READ, "memref.store": WRITE, "vector.store": WRITE,
         "memref.atomic_rmw": ATOMIC, "memref.generic_atomic_rmw": ATOMIC}
VIEWS = ("memref.subview", "memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.reinterpret_cast",
         "memref.memory_space_cast")
UNCHECKED = ("memref.alloca", "memref.extract_strided_metadata", "memref.extract_aligned_pointer_as_index", "memref.dim", "memref.alloc",
             "memref.dealloc", "memref.assume_alignment", *VIEWS)


def check_accesses(module):
    """Calls in front of each access of memory that threads share: its place, bytes and kind, and where its buffer begins and ends."""
    with module.context, ir.Location.unknown():
        for holder in find(module.operation, "gpu.module"):
            with ir.InsertionPoint.at_block_begin(holder.regions[0].blocks[0]):
                func.FuncOp(ACCESS, ir.FunctionType(ir.Type.parse("(i64, i32, i32, i64, i64) -> ()")), visibility="private")
            for kernel in find(holder, "gpu.func"):
                ends = {}
                for op in list(everything(kernel)):
                    if any(isinstance(value.type, ir.MemRefType) for value in op.operands) and op.name not in UNCHECKED:
                        check(op, kernel.regions[0].blocks[0], ends)


def check(op, entry, ends):
    """A call in front of an access."""
    kind = KINDS[op.name]
    buffer, *place = list(op.operands)[kind == WRITE or op.name == "memref.atomic_rmw":]
    root = root_of(buffer)
    if isinstance(root.owner, ir.Block):
        with ir.InsertionPoint.at_block_begin(entry):
            if root not in ends:
                ends[root] = bounds(root)
        type_ = (op.operands[0] if kind else op.results[0]).type
        lanes = type_.shape[0] if isinstance(type_, ir.VectorType) else 1
        with ir.InsertionPoint(op), op.location:
            call(ACCESS, word(address(buffer, place)), number(lanes * width(buffer)), number(kind), *ends[root])
    else:
        assert root.owner.name in ("memref.alloca", "memref.view"), f"the stand-in does not check buffers of {root.owner.name}"


def root_of(buffer):
    """What a buffer is a part of."""
    while not isinstance(buffer.owner, ir.Block) and buffer.owner.name in VIEWS:
        buffer = buffer.owner.operands[0]
    return buffer


def bounds(buffer):
    """The addresses of a buffer's first byte, and of the byte after its last one; 0 where a kernel need not be given the sizes."""
    if not buffer.type.has_static_shape:
        return [arith.constant(ir.IntegerType.get_signless(64), 0)] * 2
    base, last, (sizes, strides) = *origin(buffer), shape_of(buffer)
    end = arith.constant(ir.IndexType.get(), 1)
    for size, stride in zip(sizes, strides):
        end = arith.addi(end, arith.muli(arith.subi(size, arith.constant(ir.IndexType.get(), 1)), stride))
    for size in sizes:
        none = arith.cmpi(arith.CmpIPredicate.eq, size, arith.constant(ir.IndexType.get(), 0))
        end = arith.select(none, arith.constant(ir.IndexType.get(), 0), end)
    begin = arith.addi(base, arith.muli(last, bytes_of(buffer)))
    return word(begin), word(arith.addi(begin, arith.muli(end, bytes_of(buffer))))


def address(buffer, place):
    """The address of an element."""
    base, offset = origin(buffer)
    for one, stride in zip(place, shape_of(buffer)[1]):
        offset = arith.addi(offset, arith.muli(one, stride))
    return arith.addi(base, arith.muli(offset, bytes_of(buffer)))


def origin(buffer):
    """A buffer's pointer, and the number of elements from there to its first one."""
    return memref.extract_aligned_pointer_as_index(buffer), metadata(buffer)[1]


def shape_of(buffer):
    """The sizes and strides of a buffer."""
    rest, rank = metadata(buffer)[2:], buffer.type.rank
    return rest[:rank], rest[rank:]


def metadata(buffer):
    return list(memref.ExtractStridedMetadataOp(buffer).operation.results)


def width(buffer):
    """The bytes of an element."""
    type_ = buffer.type.element_type
    return 8 if isinstance(type_, ir.IndexType) else max(1, type_.width // 8)


def bytes_of(buffer):
    return arith.constant(ir.IndexType.get(), width(buffer))


def word(value):
    """An index in 64 bits."""
    return arith.index_cast(ir.IntegerType.get_signless(64), value)
