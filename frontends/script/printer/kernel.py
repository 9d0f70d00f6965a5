"""A kernel as a Python function: its parameters, and their buffers and sizes."""

from functools import partial

from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import body, everything, find
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.relax import dims
from legato.dialects.tir.loops import constant_of
from legato.dialects.tir.markers import INPLACE, NAMES, SIGNATURE
from legato.dialects.tir.state import SCHEDULED, state_of
from legato.frontends.script.language.own_dialects import own_dialect
from legato.frontends.script.language.types import spelled
from legato.frontends.script.printer import blocks, calls, loops, memory
from legato.frontends.script.printer.addresses import parts_of_addresses
from legato.frontends.script.printer.memory import write_table
from legato.frontends.script.printer.text import NotPrintable, PrintedText
from legato.frontends.script.printer.values import value
from legato.frontends.script.printer.writer import KernelWriter, OpTable

OPS = {**memory.OPS, **calls.OPS, **loops.OPS, **blocks.OPS}


class PrintedSignature:
    """A kernel's arguments as a script has them. ``types``: as a graph sees them; ``names``: of the parameters."""

    def __init__(self, kernel: func.FuncOp):
        attributes = kernel.attributes
        self.types = list((attributes[SIGNATURE].value if SIGNATURE in attributes else kernel.type).inputs)
        self.arguments = list(kernel.arguments)
        self.names = [a.value for a in attributes[NAMES]] if NAMES in attributes else letters(self.types, tir.out_count(kernel))

    def sizes(self, number: int) -> list[dims.Size]:
        """The sizes of an argument that is a tensor; a size without a name gets a symbol of its own."""
        sizes = dims.dims(self.types[number])
        return [dims.symbol(f"{self.names[number]}_{axis}") if s is dims.UNKNOWN else s for axis, s in enumerate(sizes)]

    def symbols(self) -> list[str]:
        """The size symbols, in the order of the arguments."""
        tensors = [n for n, t in enumerate(self.types) if not is_index(t)]
        return list(dict.fromkeys(s for n in tensors for size in self.sizes(n) for s in sorted(dims.symbols(size))))

    def dtype(self, number: int) -> str:
        """The element type of an argument that is a tensor."""
        return spelled(numpy_dtype(self.types[number].element_type))

    def buffer_type(self, number: int) -> str:
        """``T.Buffer(("n", 4), "float32")``."""
        shape = ", ".join(str(s) if isinstance(s, int) else f'"{s}"' for s in self.sizes(number))
        return f'T.Buffer(({shape}{"," if self.types[number].rank == 1 else ""}), "{self.dtype(number)}")'


def letters(types: list[ir.Type], outputs: int) -> list[str]:
    """Names for the arguments of a kernel without names."""
    named = [f"out{n}" if outputs > 1 else "out" for n in range(outputs)]
    inputs = types[: len(types) - outputs]
    return [("n" if is_index(t) else "x") + (str(n) if len(inputs) > 1 else "") for n, t in enumerate(inputs)] + named


def is_index(type_: ir.Type) -> bool:
    """Whether a type is index, that of an integer parameter."""
    return isinstance(type_, ir.IndexType)


def print_kernel(kernel: func.FuncOp, indent: str = "") -> str:
    """The source of a kernel's function. NotPrintable unless it consists of loops on buffers."""
    if not tir.is_prim_func(kernel):
        raise NotPrintable(f"@{kernel.name.value} is no prim_func")
    signature, attributes = PrintedSignature(kernel), kernel.attributes
    operations, changed = body(kernel.body.blocks[0]), {}
    if INPLACE in attributes:
        operations, changed = without_copies(kernel, operations)
    # an output that updates an input has the input's name
    shown = [signature.names[changed.get(n, n)] for n in range(len(signature.names))]
    names = {op.name for op in everything(kernel.operation) if own_dialect(op.name) is not None}
    writer = KernelWriter(kernel, indent, OpTable({
        **OPS, **dict.fromkeys(names, calls.own), "bufferization.to_buffer": partial(to_buffer, signature, shown),
        "bufferization.to_tensor": to_tensor, **dict.fromkeys(("memref.dim", "tensor.dim"), partial(dim, signature, shown))}, value))
    symbols = signature.symbols()
    writer.taken |= set(signature.names) | set(symbols)
    check_outputs(writer, signature)
    writer.masks = masks_of(kernel, changed)
    writer.skipped = parts_of_addresses(kernel.operation)
    parameters = []
    for number, (name, type_) in enumerate(zip(signature.names, signature.types)):
        if is_index(type_):
            parameters.append(f"{name}: T.int64")
            writer.texts[signature.arguments[number]] = PrintedText(name, "index")
        elif number not in changed:
            parameters.append(f"{name}: {signature.buffer_type(number)}")
    writer.line("@T.prim_func")
    writer.line(f"def {kernel.name.value}({', '.join(parameters)}):")

    def write() -> None:
        if state_of(kernel) == SCHEDULED:
            writer.line('T.func_attr({"tir.is_scheduled": True})')
        for symbol in [s for s in symbols if s not in signature.names]:
            writer.line(f"{symbol} = T.int64()")
        count = len(writer.lines)
        writer.statements(operations)
        if len(writer.lines) == count:
            writer.line("pass")

    writer.inner(write)
    return "\n".join(writer.lines) + "\n"


def check_outputs(writer: KernelWriter, signature: PrintedSignature) -> None:
    """NotPrintable for an output that is not written, since a script's outputs are the parameters it writes, and for structured ops."""
    kernel = writer.kernel
    outputs = signature.arguments[len(signature.types) - tir.out_count(kernel):]
    stores = [op.operands[1] for op in find(kernel.operation, "memref.store")]
    for op in find(kernel.operation, "bufferization.to_buffer"):
        unwritten = op.operands[0] in outputs and op.results[0] not in stores
        if unwritten and not any(u.owner.operation.name != "bufferization.to_tensor" for u in op.results[0].uses):
            raise writer.refuse("it has an output that it does not write, as those without elements are")
    names = [op.operation.name for op in kernel.body.blocks[0].operations]
    structured = [name for name in names if name.startswith(("linalg.", "tensor.")) and name != "tensor.dim"]
    if structured:
        raise writer.refuse(f"it has {structured[0]}; tir-to-loops makes loops of it")


def masks_of(kernel: func.FuncOp, changed: dict[int, int]) -> dict[ir.Value, str]:
    """The buffers of outputs that no store writes, with what is done to them. ``changed``: the outputs that update an input."""
    arguments = list(kernel.arguments)
    stored = [op.operands[1] for op in find(kernel.operation, "memref.store")]
    buffers = {arguments.index(op.operands[0]): op.results[0] for op in find(kernel.operation, "bufferization.to_buffer")
               if op.operands[0] in arguments}
    outputs = range(len(arguments) - tir.out_count(kernel), len(arguments))
    masks = {buffers[n]: "w" for n in outputs if n in buffers and buffers[n] not in stored}
    return {**masks, **{buffers[n]: "rw" for n in changed if n in buffers}}


# --- ops of the signature ---

def to_buffer(signature: PrintedSignature, shown: list[str], writer: KernelWriter, op: ir.Operation) -> None:
    """The buffer of an argument, named as the parameter (``shown``: by the argument's number), or of a constant."""
    if op.operands[0] not in signature.arguments:
        return write_table(writer, op)
    number = signature.arguments.index(op.operands[0])
    writer.buffers[op.results[0]] = shown[number]
    writer.dtypes[op.results[0]] = signature.dtype(number)


def to_tensor(writer: KernelWriter, op: ir.Operation) -> None:
    """An output at the end of a kernel, which a script does not return."""


def dim(signature: PrintedSignature, shown: list[str], writer: KernelWriter, op: ir.Operation) -> None:
    """A size of a buffer, or of an argument: its symbol, or ``A.shape[0]``."""
    buffer, axis = op.operands[0], constant_of(op.operands[1])
    owner = buffer.owner
    tensor = owner.operands[0] if not isinstance(owner, ir.Block) and owner.name == "bufferization.to_buffer" else buffer
    number = signature.arguments.index(tensor) if tensor in signature.arguments else None
    size = None if axis is None or number is None else signature.sizes(number)[axis]
    is_symbol = isinstance(size, dims.Dim) and size.is_symbol
    name = shown[number] if number is not None else writer.buffers[buffer]
    writer.texts[op.results[0]] = PrintedText(str(size) if is_symbol else f"{name}.shape[{axis}]", "index")


# --- kernels that change their arguments ---

def without_copies(kernel: func.FuncOp, operations: list[ir.Operation]) -> tuple[list[ir.Operation], dict[int, int]]:
    """The statements of an in-place kernel without the copies at its start, and the input that each output updates, by number.

    All statements, and no such outputs, where the kernel does not start with these copies.
    """
    arguments = list(kernel.arguments)
    first = len(arguments) - tir.out_count(kernel)
    places = {first + n: place for n, place in enumerate(kernel.attributes[INPLACE]) if place >= 0}
    buffers = {op.results[0]: arguments.index(op.operands[0]) for op in operations
               if op.name == "bufferization.to_buffer" and op.operands[0] in arguments}
    copies = []
    for op in [o for o in operations if o.name == "tir.for" or o.name == "memref.store"]:
        found = copied(op, buffers)
        if found is None or places.get(found[1]) != found[0] or found in [c for _, c in copies]:
            break
        copies.append((op, found))
    if {out: place for _, (place, out) in copies} != places:
        return operations, {}
    return [op for op in operations if op not in [c for c, _ in copies]], places


def copied(op: ir.Operation, buffers: dict[ir.Value, int]) -> tuple[int, int] | None:
    """The arguments, source and target, between which a nest of loops copies all elements; None where it does anything else."""
    variables = []
    while op.name == "tir.for":
        variables.append(op.opview.variable)
        inside = [o for o in body(op.opview.block) if o.name not in ("arith.constant", "memref.dim")]
        if not inside:
            return None
        op = inside[-1]
        if op.name != "tir.for" and len(inside) != 2:
            return None
    if op.name != "memref.store" or isinstance(op.operands[0].owner, ir.Block):
        return None
    load = op.operands[0].owner.operation
    if load.name != "memref.load" or list(load.operands)[1:] != variables or list(op.operands)[2:] != variables:
        return None
    source, target = load.operands[0], op.operands[1]
    return (buffers[source], buffers[target]) if source in buffers and target in buffers else None
