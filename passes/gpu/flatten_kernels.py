"""tir-flatten-kernels: kernels get one-dimensional storage buffers, as Vulkan's have, and their sizes in one more of them."""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.errors import UnsupportedError
from legato.core.ir_helpers import everything, find, index
from legato.core.locations import describe
from legato.core.mlir import arith, ir, memref
from legato.dialects.module import Module
from legato.passes.gpu.flat_buffers import (
    FUNCTION,
    MATRICES,
    STORAGE,
    WORKGROUP,
    Flat,
    Number,
    buffer_type,
    flatten_users,
    layout_of,
    moves_in_words,
    stored_type,
    times,
)
from legato.passes.gpu.launches import launches_of
from legato.passes.pipeline.base import ModulePass, PassContext

BLOCK, TYPE, SEGMENTS = "known_block_size", "function_type", "operandSegmentSizes"
ARGUMENTS = 11   # of a launch: the number of its group of operands for the kernel
CAPABILITIES = "Shader, Int64, Float64, Int8, Int16, Float16, StorageBuffer8BitAccess, StorageBuffer16BitAccess"
EXTENSIONS = "SPV_KHR_storage_buffer_storage_class, SPV_KHR_8bit_storage, SPV_KHR_16bit_storage"
LIMITS = "#spirv.resource_limits<max_compute_workgroup_size=[1024, 1024, 64]>"
ENVIRONMENT = f"#spirv.target_env<#spirv.vce<v1.3, [{CAPABILITIES}], [{EXTENSIONS}]>, api=Vulkan, {LIMITS}>"
# of kernels that multiply cooperative matrices
MATRICES_ENVIRONMENT = (
    f"#spirv.target_env<#spirv.vce<v1.6, [{CAPABILITIES}, GroupNonUniform, VulkanMemoryModel, CooperativeMatrixKHR, BFloat16TypeKHR, "
    f"BFloat16CooperativeMatrixKHR], [{EXTENSIONS}, SPV_KHR_vulkan_memory_model, SPV_KHR_cooperative_matrix, SPV_KHR_bfloat16]>, "
    f"api=Vulkan, {LIMITS}>")


@dataclass(frozen=True)
class FlattenKernels(ModulePass):
    """Flattens what kernels get: each buffer becomes one of one dimension in the storage class StorageBuffer, and all sizes, strides,
    offsets and indices that are known only at run time become one buffer of i32, the last argument, which the host fills. Local and
    shared buffers move to the storage classes Function and Workgroup. Adds what upstream's conversion to SPIR-V asks for: the environment
    and the size of a block.
    """

    name: ClassVar[str] = "tir-flatten-kernels"

    def run(self, module: Module, context: PassContext) -> None:
        launches = launches_of(module.module)
        with module.context, ir.Location.unknown():
            for holder in find(module.operation, "gpu.module"):
                environment = ir.Attribute.parse(MATRICES_ENVIRONMENT if find(holder, *MATRICES) else ENVIRONMENT)
                holder.attributes["targets"] = ir.ArrayAttr.get([environment])
                holder.attributes["spirv.target_env"] = environment    # for conversions of the ops inside
                types: dict[str, list[ir.Type]] = {}
                for kernel in find(holder, "gpu.func"):
                    flatten(kernel)
                    types[kernel.attributes["sym_name"].value] = ir.FunctionType(ir.TypeAttr(kernel.attributes[TYPE]).value).inputs
                for launch in launches.get(holder.attributes["sym_name"].value, ()):
                    flatten_launch(launch, types[ir.SymbolRefAttr(launch.attributes["kernel"]).value[1]])


def flatten(kernel: ir.Operation) -> None:
    """Rewrites one kernel. UnsupportedError for what a storage buffer cannot hold, and for a block of unknown size."""
    check(kernel)
    if BLOCK not in kernel.attributes:
        raise UnsupportedError(f"{describe(kernel)}: the number of threads in a block is known only at run time; Vulkan wants it at "
                               "compile time")
    block = kernel.regions[0].blocks[0]
    count = len(ir.FunctionType(ir.TypeAttr(kernel.attributes[TYPE]).value).inputs)
    inputs, shared = list(block.arguments)[:count], list(block.arguments)[count:]
    i32 = ir.IntegerType.get_signless(32)
    bases = [block.add_argument(buffer_type(a.type, STORAGE, words=moves_in_words(a)), kernel.location) for a in inputs
             if isinstance(a.type, ir.MemRefType)]
    sizes = block.add_argument(buffer_type(ir.MemRefType.get([1], i32), STORAGE), kernel.location)
    flat: list[tuple[ir.Value, Flat]] = []
    with ir.InsertionPoint.at_block_begin(block), kernel.location:
        numbers = RuntimeNumbers(sizes)
        for value in inputs:
            if isinstance(value.type, ir.MemRefType):
                flat.append((value, numbers.buffer(value.type, bases[len(flat)])))
            elif isinstance(value.type, ir.IndexType):
                value.replace_all_uses_with(numbers.take())
            else:
                raise UnsupportedError(f"{describe(kernel)}: the kernel takes a value of type {value.type} from the host; on Vulkan it can "
                                       "take buffers and sizes")
        flat += [(value, allocated(value.type, WORKGROUP, "memref.alloc", moves_in_words(value))) for value in shared]
    for op in find(kernel, "memref.alloca", "memref.alloc"):
        if ir.MemRefType(op.results[0].type).memory_space is None:
            with ir.InsertionPoint(op), op.location:
                flat.append((op.results[0], allocated(op.results[0].type, FUNCTION, "memref.alloca")))
    for value, one in flat:
        flatten_users(value, one)
        if isinstance(value.owner, ir.OpView | ir.Operation):
            value.owner.erase()
    retype(kernel, block, len(inputs) + len(shared))


def check(kernel: ir.Operation) -> None:
    """UnsupportedError for functions that a Vulkan device lacks: libraries', and those of f64; and for buffers of a thread whose size
    is not known."""
    for op in everything(kernel):
        if op.name == "func.call":
            raise UnsupportedError(f"{describe(op)}: the kernel calls the library function {op.attributes['callee']}, and no library is on "
                                   "a Vulkan device")
        if op.name.startswith("math.") and any(isinstance(element(value.type), ir.F64Type) for value in op.operands):
            raise UnsupportedError(f"{describe(op)}: {op.name} of f64: Vulkan's instructions compute it for f16 and f32, and the target "
                                   "has no rule for it; compute it in f32")
        if op.name in ("memref.alloc", "memref.alloca") and not ir.MemRefType(op.results[0].type).has_static_shape:
            raise UnsupportedError(f"{describe(op)}: each thread of the kernel needs a buffer whose size is known only at run time, and "
                                   "Vulkan has none: make the size a constant of the model")


def element(type_: ir.Type) -> ir.Type:
    """The element type of a vector; another type itself."""
    return ir.VectorType(type_).element_type if isinstance(type_, ir.VectorType) else type_


def retype(kernel: ir.Operation, block: ir.Block, old: int) -> None:
    """Drops the first ``old`` arguments of a kernel, and declares those that are left."""
    for number in reversed(range(old)):
        block.erase_argument(number)
    kernel.attributes[TYPE] = ir.TypeAttr.get(ir.FunctionType.get([a.type for a in block.arguments], []))
    for name in ("workgroup_attributions", "private_attributions", "workgroup_attrib_attrs", "private_attrib_attrs", "arg_attrs"):
        if name in kernel.attributes:
            del kernel.attributes[name]
    threads = list(ir.DenseI32ArrayAttr(kernel.attributes[BLOCK]))
    kernel.attributes["spirv.entry_point_abi"] = ir.Attribute.parse(f"#spirv.entry_point_abi<workgroup_size = {threads}>")


class RuntimeNumbers:
    """The numbers that a kernel reads, in order, from its last buffer."""

    def __init__(self, buffer: ir.Value) -> None:
        self._buffer, self._count = buffer, 0

    def take(self) -> ir.Value:
        """The next number, as an index."""
        loaded = memref.load(self._buffer, [index(self._count)])
        self._count += 1
        return arith.index_cast(ir.IndexType.get(), loaded)

    def buffer(self, type_: ir.Type, base: ir.Value) -> Flat:
        """A flat buffer for an argument of this type: its numbers are its unknown sizes, strides and offset."""
        type_ = ir.MemRefType(type_)
        sizes: list[Number] = [self.take() if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)]
        strides, offset = layout_of(type_)
        words = ir.MemRefType(base.type).element_type != stored_type(type_.element_type)
        if strides is None:
            return Flat(base, 0, row_major(sizes), tuple(sizes), words)
        taken = tuple(self.take() if stride is None else stride for stride in strides)
        return Flat(base, self.take() if offset is None else offset, taken, tuple(sizes), words)


def numbers_of(value: ir.Value) -> list[ir.Value]:
    """What the host writes for a buffer: the values that ``RuntimeNumbers.buffer`` takes, in its order."""
    type_ = ir.MemRefType(value.type)
    found = [memref.dim(value, index(i)) for i in range(type_.rank) if type_.is_dynamic_dim(i)]
    strides, offset = layout_of(type_)
    if strides is not None and (offset is None or None in strides):
        parts = list(ir.Operation.create("memref.extract_strided_metadata", metadata_types(type_), [value]).results)
        found += [parts[2 + type_.rank + i] for i, stride in enumerate(strides) if stride is None]
        found += [parts[1]] if offset is None else []
    return found


def metadata_types(type_: ir.MemRefType) -> list[ir.Type]:
    """The types of the results of memref.extract_strided_metadata: base, offset, sizes, strides."""
    return [ir.MemRefType.get([], type_.element_type), *[ir.IndexType.get()] * (1 + 2 * type_.rank)]


def row_major(sizes: list[Number]) -> tuple[Number, ...]:
    """The strides of a dense buffer."""
    strides: list[Number] = []
    product: Number = 1
    for size in reversed(sizes):
        strides.insert(0, product)
        product = times(product, size)
    return tuple(strides)


def allocated(type_: ir.Type, space: str, op: str, words: bool = False) -> Flat:
    """A new flat buffer for one of static size; of ``words``, where that has bytes."""
    shape = list(ir.MemRefType(type_).shape)
    count = 1
    for size in shape:
        count *= size
    flat = buffer_type(ir.MemRefType(type_), space, count, words)
    made = ir.Operation.create(op, [flat], [], {SEGMENTS: ir.DenseI32ArrayAttr.get([0, 0])})
    return Flat(made.results[0], 0, row_major(shape), tuple(shape), words)


def flatten_launch(launch: ir.Operation, types: Sequence[ir.Type]) -> None:
    """Gives a launch the flat buffers, of which ``types`` are those that its kernel takes, and a buffer that the host fills with the
    numbers."""
    segments = list(ir.DenseI32ArrayAttr(launch.attributes[SEGMENTS]))
    first = sum(segments[:ARGUMENTS])
    operands = list(launch.operands)
    i32 = ir.IntegerType.get_signless(32)
    with ir.InsertionPoint(launch), launch.location:
        numbers: list[ir.Value] = []
        buffers: list[ir.Value] = []
        for value in operands[first:]:
            is_buffer = isinstance(value.type, ir.MemRefType)
            numbers += numbers_of(value) if is_buffer else [value]
            buffers += [cast(value, types[len(buffers)])] if is_buffer else []
        sizes = memref.alloc(ir.MemRefType.get([max(1, len(numbers))], i32), [], [])
        for place, number in enumerate(numbers):
            memref.store(arith.index_cast(i32, number), sizes, [index(place)])
        buffers.append(cast(sizes, types[-1]))
        attributes = {name: launch.attributes[name] for name in launch.attributes}
        segments[ARGUMENTS] = len(buffers)
        attributes[SEGMENTS] = ir.DenseI32ArrayAttr.get(segments)
        ir.Operation.create(launch.name, [], [*operands[:first], *buffers], attributes)
    launch.erase()


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """A buffer as one of another shape in another space, from its first byte."""
    return ir.Operation.create("builtin.unrealized_conversion_cast", [type_], [value]).results[0]
