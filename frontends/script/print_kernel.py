"""Kernels written as loops, back to the source of a script."""

from collections.abc import Callable
from typing import Any

from ...dialects import tir
from ...dialects.dtypes import numpy_dtype
from ...dialects.errors import LegatoError
from ...dialects.relax import dims
from ...dialects.tir.loops import constant_of
from ...mlir import func, ir
from .kernel import NAMES, SIGNATURE
from .print_words import CALLS, CASTS, COMPARISONS, INFIX, LOOPS, PREDICATES_F, PREDICATES_I, UNSIGNED
from .types import spelled


class NotPrintable(LegatoError):
    """An op for which the script has no words."""


def dtype_of(type_: ir.Type) -> str:
    return "index" if isinstance(type_, ir.IndexType) else spelled(numpy_dtype(type_))


class KernelPrinter:
    """Prints one kernel."""

    def __init__(self, kernel: func.FuncOp, indent: str = ""):
        self.kernel, self.indent = kernel, indent
        self.lines: list[str] = []
        self.names: dict[ir.Value, str] = {}       # values that have a name
        self.texts: dict[ir.Value, str] = {}       # values that are read once: their expression stands where they are read
        self.dtypes: dict[ir.Value, str] = {}
        self.taken: set[str] = set()

    def text(self) -> str:
        """The source of the kernel's function. NotPrintable where it is not loops on buffers."""
        signature = self.kernel.attributes[SIGNATURE].value if SIGNATURE in self.kernel.attributes else self.kernel.type
        inputs = list(signature.inputs)
        named = NAMES in self.kernel.attributes
        given = [a.value for a in self.kernel.attributes[NAMES]] if named else [f"a{n}" for n in range(len(inputs))]
        tensors = [t for t in inputs if not isinstance(t, ir.IndexType)]
        symbols = list(dict.fromkeys(s for t in tensors for size in dims.dims(t) for s in dims.symbols(size)))
        self.taken |= set(given) | set(symbols)
        parameters = []
        for name, type_, argument in zip(given, inputs, self.kernel.arguments):
            if isinstance(type_, ir.IndexType):
                parameters.append(f"{name}: T.int64")
                self.names[argument], self.dtypes[argument] = name, "index"
                continue
            shape = ", ".join(str(s) if isinstance(s, int) else repr(str(s)).replace("'", '"') for s in dims.dims(type_))
            parameters.append(f'{name}: T.Buffer(({shape}{"," if type_.rank == 1 else ""}), "{spelled(numpy_dtype(type_.element_type))}")')
        self.buffers = dict(zip(self.kernel.arguments, zip(given, inputs)))
        self.symbols = [s for s in symbols if s not in given]
        self.line(f"@T.prim_func\n{self.indent}def {self.kernel.name.value}({', '.join(parameters)}):")
        self.deeper()
        for symbol in self.symbols:
            self.line(f"{symbol} = T.int64()")
        operations = [op.operation for op in self.kernel.body.blocks[0].operations]
        self.statements(operations[:-1])
        return "\n".join(self.lines) + "\n"

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def deeper(self) -> None:
        self.indent += "    "

    def body(self, operations: list[ir.Operation]) -> None:
        """A body in its own indentation."""
        before, taken = self.indent, set(self.taken)
        self.deeper()
        count = len(self.lines)
        self.statements(operations)
        if len(self.lines) == count:
            self.line("pass")
        self.indent, self.taken = before, taken

    def fresh(self, name: str) -> str:
        name = name if name.isidentifier() else "x"
        found = name if name not in self.taken else next(f"{name}_{n}" for n in range(1, 10000) if f"{name}_{n}" not in self.taken)
        self.taken.add(found)
        return found

    # --- statements ---

    def statements(self, operations: list[ir.Operation]) -> None:
        for op in operations:
            method: Callable[[ir.Operation], None] | None = getattr(self, "op_" + op.name.replace(".", "_"), None)
            if method is not None:
                method(op)
            elif op.results:
                self.value(op)
            elif op.name not in ("tir.yield", "scf.yield", "func.return"):
                raise NotPrintable(f"@{self.kernel.name.value} cannot be written as a script: it has {op.name}")

    def op_bufferization_to_buffer(self, op: ir.Operation) -> None:
        name, type_ = self.buffers[op.operands[0]]
        self.names[op.results[0]], self.dtypes[op.results[0]] = name, spelled(numpy_dtype(type_.element_type))

    def op_bufferization_to_tensor(self, op: ir.Operation) -> None:
        """The end of a kernel: its outputs are what it has written."""

    def op_memref_dim(self, op: ir.Operation) -> None:
        axis = constant_of(op.operands[1])
        buffer = self.names[op.operands[0]]
        tensor = next((t for n, t in self.buffers.values() if n == buffer), None)
        size = dims.dims(tensor)[axis] if tensor is not None else None
        named = size is not None and not isinstance(size, int) and size.is_symbol
        self.names[op.results[0]] = str(size) if named else f"{buffer}.shape[{axis}]"
        self.dtypes[op.results[0]] = "index"

    def op_tir_alloc_buffer(self, op: ir.Operation) -> None:
        made, type_ = op.opview, op.results[0].type
        sizes = iter(op.operands)
        shape = ", ".join(self.read(next(sizes)) if type_.is_dynamic_dim(d) else str(type_.shape[d]) for d in range(type_.rank))
        dtype = op.attributes["dtype"].value if "dtype" in op.attributes else dtype_of(type_.element_type)
        name = self.names[op.results[0]] = self.fresh(made.name)
        self.dtypes[op.results[0]] = dtype
        scope = f', scope="{made.scope}"' if made.scope != "global" else ""
        self.line(f'{name} = T.alloc_buffer(({shape}{"," if type_.rank == 1 else ""}), "{dtype}"{scope})')

    def op_tir_for(self, op: ir.Operation) -> None:
        loop, taken = op.opview, set(self.taken)
        lower, upper = (self.read(v) for v in loop.bounds)
        name = self.names[loop.variable] = self.fresh(loop.name)
        self.dtypes[loop.variable] = "index"
        bounds = upper if lower == "0" else f"{lower}, {upper}"
        thread = f', thread="{loop.thread}"' if loop.thread else ""
        self.line(f"for {name} in {LOOPS[loop.kind]}({bounds}{thread}):")
        self.body([o.operation for o in loop.block.operations])
        self.taken = taken

    def op_tir_block(self, op: ir.Operation, tests: tuple[str, ...] = ()) -> None:
        block = op.opview
        values = [self.read(v) for v in block.values]
        self.line(f'with T.block("{block.name}"):')
        before, taken = self.indent, set(self.taken)
        self.deeper()
        axes = [self.fresh(axis) for axis in block.axes]
        for axis, kind, extent, value in zip(axes, block.kinds, block.extents, values):
            size = str(extent) if extent is not None else self.extent_text(block, value)
            self.line(f"{axis} = T.axis.{kind}({size}, {value})")
        for test in tests:
            self.line(f"T.where({test})")
        if block.init_block is not None:
            self.name_axes(block.init_block, axes)
            self.line("with T.init():")
            self.body([o.operation for o in block.init_block.operations])
        self.name_axes(block.block, axes)
        self.statements([o.operation for o in block.block.operations])
        self.indent, self.taken = before, taken

    def extent_text(self, block: Any, value: str) -> str:
        """The extent of an axis that is known at run time only: the upper bound of its loop."""
        from ...dialects.tir.loops import loop_of

        number = [self.names.get(v) for v in block.values].index(value)
        loop = loop_of(block.values[number])
        return self.read(loop.bounds[1]) if loop is not None else value

    def name_axes(self, block: ir.Block, names: list[str]) -> None:
        for argument, name in zip(block.arguments, names):
            self.names[argument], self.dtypes[argument] = name, "index"

    def op_memref_store(self, op: ir.Operation) -> None:
        value, buffer, *indices = op.operands
        places = ", ".join(self.read(i) for i in indices)
        self.line(f"{self.names[buffer]}[{places}] = {self.read(value)}")

    def op_memref_load(self, op: ir.Operation) -> None:
        buffer, *indices = op.operands
        self.dtypes[op.results[0]] = self.dtypes[buffer]
        self.let(op.results[0], f"{self.names[buffer]}[{', '.join(self.read(i) for i in indices)}]", moves=False)

    def op_scf_if(self, op: ir.Operation) -> None:
        if op.results:
            self.if_then_else(op)
            return
        inside = [o.operation for o in op.regions[0].blocks[0].operations][:-1]
        if len(inside) == 1 and inside[0].name == "tir.block" and not len(op.regions[1].blocks):
            self.op_tir_block(inside[0], (self.read(op.operands[0]),))
            return
        self.line(f"if {self.read(op.operands[0])}:")
        self.body(inside)
        if len(op.regions[1].blocks):
            self.line("else:")
            self.body([o.operation for o in op.regions[1].blocks[0].operations])

    def if_then_else(self, op: ir.Operation) -> None:
        """An ``scf.if`` that gives a value: both branches have to be expressions."""
        test, branches, count = self.read(op.operands[0]), [], len(self.lines)
        for region in op.regions:
            *inside, end = [o.operation for o in region.blocks[0].operations]
            self.statements(inside)
            branches.append(self.read(end.operands[0]))
            self.dtypes[op.results[0]] = self.dtypes[end.operands[0]]
        if len(self.lines) != count or len(op.results) != 1:
            raise NotPrintable(f"@{self.kernel.name.value} cannot be written as a script: a branch of T.if_then_else is no expression")
        self.let(op.results[0], f"T.if_then_else({test}, {', '.join(branches)})", moves=False)

    def op_func_call(self, op: ir.Operation) -> None:
        name = op.attributes["callee"].value
        arguments = ", ".join(self.read(v) for v in op.operands)
        dtype = dtype_of(op.results[0].type) if op.results else "void"
        call = f'T.call_extern("{dtype}", "{name}", {arguments})'
        if op.results:
            self.dtypes[op.results[0]] = dtype
            self.let(op.results[0], call, moves=False)
        else:
            self.line(f"T.evaluate({call})")

    # --- values ---

    def read(self, value: ir.Value) -> str:
        if value in self.names:
            return self.names[value]
        if value in self.texts:
            return self.texts.pop(value) if constant_of(value) is None else self.texts[value]
        raise NotPrintable(f"@{self.kernel.name.value} cannot be written as a script: a value of {value.type} has no words")

    def let(self, value: ir.Value, text: str, moves: bool = True) -> None:
        """Remembers an expression where it can be read later, else gives it a name."""
        uses = list(value.uses)
        if len(uses) == 1 and (moves or undisturbed(value, uses[0].owner.operation)):
            self.texts[value] = text
        elif uses:
            name = self.names[value] = self.fresh("v")
            self.line(f"{name} = {text}")

    def value(self, op: ir.Operation) -> None:
        result, name = op.results[0], op.name
        if name.split(".")[0] not in ("arith", "math"):
            raise NotPrintable(f"@{self.kernel.name.value} cannot be written as a script: it has {name}")
        dtype = self.result_dtype(op)
        self.dtypes[result] = dtype
        if name == "arith.constant":
            self.texts[result] = constant_text(op, dtype)
            if dtype not in ("index",) or len(list(result.uses)) > 0:
                self.names[result] = self.texts[result]
            return
        operands = [self.read(v) for v in op.operands]
        if name in INFIX:
            text = f"({operands[0]} {INFIX[name]} {operands[1]})"
        elif name in CALLS:
            text = f"{CALLS[name]}({', '.join(operands)})"
        elif name in ("arith.cmpi", "arith.cmpf"):
            number = op.attributes["predicate"].value
            predicate = (PREDICATES_I if name == "arith.cmpi" else PREDICATES_F)[number]
            if predicate not in COMPARISONS:
                raise NotPrintable(f"@{self.kernel.name.value} cannot be written as a script: it compares by {predicate}")
            text = f"({operands[0]} {COMPARISONS[predicate]} {operands[1]})"
        elif name == "arith.select":
            text = f"T.Select({', '.join(operands)})"
        elif name == "arith.negf":
            text = f"(-{operands[0]})"
        elif name == "arith.bitcast":
            text = f'T.reinterpret("{dtype}", {operands[0]})'
        elif name in CASTS:
            text = operands[0] if dtype in ("bool", "index") else f'T.Cast("{dtype}", {operands[0]})'
        else:
            raise NotPrintable(f"@{self.kernel.name.value} cannot be written as a script: it has {name}")
        self.let(result, text)

    def result_dtype(self, op: ir.Operation) -> str:
        """The script's type of a result: whether an integer is unsigned is seen in what is done with it."""
        found = dtype_of(op.results[0].type)
        if found.startswith("int"):
            like = [self.dtypes.get(v, "") for v in op.operands]
            if op.name in UNSIGNED or (op.name not in CASTS and any(d.startswith("uint") for d in like)):
                return "u" + found
        return found


def constant_text(op: ir.Operation, dtype: str) -> str:
    value = op.attributes["value"].value
    if dtype == "index":
        return str(value)
    if dtype == "bool":
        return str(bool(value))
    if isinstance(value, float):
        shown = repr(value)
        return f'T.{dtype}("{shown}")' if shown in ("inf", "-inf", "nan") else f"T.{dtype}({shown})"
    return f"T.{dtype}({value})"


def undisturbed(value: ir.Value, user: ir.Operation) -> bool:
    """Whether nothing is written between a load and the one place that reads it."""
    owner = value.owner.operation
    block = owner.block
    if user.block != block:
        return False
    seen = False
    for op in block.operations:
        if op.operation == owner:
            seen = True
        elif op.operation == user:
            return True
        elif seen and (op.operation.name in ("memref.store", "func.call") or len(op.operation.regions)):
            return False
    return False


def print_kernel(kernel: func.FuncOp, indent: str = "") -> str:
    """The source of a kernel. NotPrintable where it is not loops on buffers."""
    if not tir.is_prim_func(kernel):
        raise NotPrintable(f"@{kernel.name.value} is no prim_func")
    return KernelPrinter(kernel, indent).text()
