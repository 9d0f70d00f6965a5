"""A kernel as a function's source: its parameters, and the buffers and sizes that they are."""

from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import body, find
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.relax import dims
from legato.dialects.tir.loops import constant_of
from legato.dialects.tir.markers import INPLACE, NAMES, SCHEDULED, SIGNATURE
from legato.frontends.script.language.types import spelled
from legato.frontends.script.printer.addresses import parts_of_addresses
from legato.frontends.script.printer.statements import Statements
from legato.frontends.script.printer.text import NotPrintable, Text


class KernelPrinter(Statements):
    """Prints one kernel."""

    def text(self) -> str:
        """The source of the kernel's function. NotPrintable where it is not loops on buffers."""
        attributes = self.kernel.attributes
        self.types = list((attributes[SIGNATURE].value if SIGNATURE in attributes else self.kernel.type).inputs)
        self.given = [a.value for a in attributes[NAMES]] if NAMES in attributes else self.letters()
        tensors = [n for n, t in enumerate(self.types) if not is_index(t)]
        symbols = list(dict.fromkeys(s for n in tensors for size in self.sizes(n) for s in dims.symbols(size)))
        self.taken |= set(self.given) | set(symbols)
        self.check_outputs()
        self.skipped = parts_of_addresses(self.kernel.operation)
        operations, changed = body(self.kernel.body.blocks[0]), {}
        if INPLACE in attributes:
            operations, changed = self.without_copies(operations)
        parameters = []
        for number, (name, type_, argument) in enumerate(zip(self.given, self.types, self.kernel.arguments)):
            if is_index(type_):
                parameters.append(f"{name}: T.int64")
                self.texts[argument] = Text(name, "index")
            elif number not in changed:
                parameters.append(f"{name}: {self.buffer_type(number)}")
        self.shown = [self.given[changed.get(n, n)] for n in range(len(self.given))]
        self.line("@T.prim_func")
        self.line(f"def {self.kernel.name.value}({', '.join(parameters)}):")
        self.indent += "    "
        if SCHEDULED in attributes:
            self.line('T.func_attr({"tir.is_scheduled": True})')
        for symbol in [s for s in symbols if s not in self.given]:
            self.line(f"{symbol} = T.int64()")
        count = len(self.lines)
        self.statements(operations)
        if len(self.lines) == count:
            self.line("pass")
        return "\n".join(self.lines) + "\n"

    def check_outputs(self) -> None:
        """A script's outputs are what it writes."""
        outputs = list(self.kernel.arguments)[len(self.types) - tir.out_count(self.kernel):]
        stores = [op.operands[1] for op in find(self.kernel.operation, "memref.store")]
        for op in find(self.kernel.operation, "bufferization.to_buffer"):
            unwritten = op.operands[0] in outputs and op.results[0] not in stores
            if unwritten and not any(u.owner.operation.name != "bufferization.to_tensor" for u in op.results[0].uses):
                raise self.refuse("it has an output that it does not write, as those without elements are")
        names = [op.operation.name for op in self.kernel.body.blocks[0].operations]
        structured = [name for name in names if name.startswith(("linalg.", "tensor."))]
        if structured:
            raise self.refuse(f"it has {structured[0]}; tir-to-loops makes loops of it")

    def letters(self) -> list[str]:
        """Names for the arguments of a kernel that has none."""
        outputs = tir.out_count(self.kernel)
        count = len(self.types)
        named = [f"out{n}" if outputs > 1 else "out" for n in range(outputs)]
        inputs = self.types[: count - outputs]
        return [("n" if is_index(t) else "x") + (str(n) if len(inputs) > 1 else "") for n, t in enumerate(inputs)] + named

    def sizes(self, number: int) -> list[dims.Size]:
        """The sizes of an argument that is a tensor; one without a name gets one of its own."""
        sizes = dims.dims(self.types[number])
        return [dims.symbol(f"{self.given[number]}_{axis}") if s is dims.UNKNOWN else s for axis, s in enumerate(sizes)]

    def buffer_type(self, number: int) -> str:
        type_ = self.types[number]
        shape = ", ".join(str(s) if isinstance(s, int) else f'"{s}"' for s in self.sizes(number))
        return f'T.Buffer(({shape}{"," if type_.rank == 1 else ""}), "{spelled(numpy_dtype(type_.element_type))}")'

    # --- buffers ---

    def op_bufferization_to_buffer(self, op: ir.Operation) -> None:
        number = list(self.kernel.arguments).index(op.operands[0])
        self.buffers[op.results[0]] = self.shown[number]
        self.dtypes[op.results[0]] = spelled(numpy_dtype(self.types[number].element_type))

    def op_bufferization_to_tensor(self, op: ir.Operation) -> None:
        """The end of a kernel: its outputs are what it has written."""

    def op_memref_dim(self, op: ir.Operation) -> None:
        buffer, axis = op.operands[0], constant_of(op.operands[1])
        owner = buffer.owner
        size = None
        if axis is not None and not isinstance(owner, ir.Block) and owner.name == "bufferization.to_buffer":
            size = self.sizes(list(self.kernel.arguments).index(owner.operands[0]))[axis]
        if isinstance(size, dims.Dim) and size.is_symbol:
            self.texts[op.results[0]] = Text(str(size), "index")
        else:
            self.texts[op.results[0]] = Text(f"{self.buffers[buffer]}.shape[{axis}]", "index")

    # --- kernels that change their arguments ---

    def without_copies(self, operations: list[ir.Operation]) -> tuple[list[ir.Operation], dict[int, int]]:
        """The statements behind those that copy arguments into the outputs that are their new contents, and which those are.

        All as it stands where the copies are not what such a kernel begins with.
        """
        arguments = list(self.kernel.arguments)
        first = len(arguments) - tir.out_count(self.kernel)
        places = {first + n: place for n, place in enumerate(self.kernel.attributes[INPLACE]) if place >= 0}
        buffers = {op.results[0]: arguments.index(op.operands[0]) for op in operations if op.name == "bufferization.to_buffer"}
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
    """The arguments between which a nest of loops copies all elements; None where it does anything else."""
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


def is_index(type_: ir.Type) -> bool:
    return isinstance(type_, ir.IndexType)


def print_kernel(kernel: func.FuncOp, indent: str = "") -> str:
    """The source of a kernel. NotPrintable where it is not loops on buffers."""
    if not tir.is_prim_func(kernel):
        raise NotPrintable(f"@{kernel.name.value} is no prim_func")
    return KernelPrinter(kernel, indent).text()
