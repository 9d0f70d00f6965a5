"""From the Python source of a kernel to a prim_func: its parameters, and the buffers and sizes that they stand for."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from legato.core.mlir import bufferization, func, ir, memref
from legato.dialects import tir
from legato.dialects.relax import dims
from legato.dialects.tir.loops import index, loop
from legato.dialects.tir.markers import FIXED, INPLACE, NAMES, SCHEDULED, SIGNATURE
from legato.frontends.script.kernel.accesses import WRITE, Accesses
from legato.frontends.script.kernel.blocks import IGNORED
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.notes import is_scheduled
from legato.frontends.script.kernel.pointers import strides_in_memory
from legato.frontends.script.kernel.statements import Statements
from legato.frontends.script.kernel.values import Scalar, as_index
from legato.frontends.script.language.faces import T
from legato.frontends.script.language.refused import refused
from legato.frontends.script.language.source import Problem, Source
from legato.frontends.script.language.types import (
    NAMES_OF_SIZES,
    BufferType,
    HandleType,
    ScalarType,
    dtype_name,
    memory_type,
    relax_element,
    sizes_of,
)

DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass
class Parameter:
    """A parameter: a buffer (``shape`` in sizes of relax) or an integer (None). ``changes``: the input whose new content an output is.

    ``strides``, ``offset``: what the script says of the buffer's place in memory, names to be given their values.
    """

    name: str
    node: ast.AST
    shape: tuple[Any, ...] | None
    dtype: str
    changes: str | None = None
    strides: ast.expr | None = None
    offset: ast.expr | None = None

    @property
    def relax_type(self) -> ir.Type:
        return ir.IndexType.get() if self.shape is None else dims.tensor_type(self.shape, relax_element(self.dtype))


class KernelParser(Statements):
    """Parses one kernel into a module."""

    def parse(self, module: ir.Module, name: str | None = None, symbols: ir.SymbolTable | None = None,
              sizes: Mapping[str, int] | None = None) -> func.FuncOp:
        """Adds the kernel to ``module``, and returns it. ScriptError for what is wrong, at its line."""
        tree: ast.FunctionDef = self.source.tree
        parameters, statements = self.parameters(tree)
        self.specialize(parameters, sizes or {})
        outputs, changed = self.outputs([p for p in parameters if p.shape is not None], statements)
        given = [p for p in parameters if p not in outputs or p in changed]
        inputs = [p for p in given if p.shape is not None] + [p for p in given if p.shape is None]
        outputs = [replace(p, name=f"{p.name}_out", changes=p.name) if p in changed else p for p in outputs]
        parameters = inputs + outputs
        with self.source.location(tree):
            types = [p.relax_type for p in parameters]

            def body(ins: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
                named = ir.ArrayAttr.get([ir.StringAttr.get(p.name) for p in parameters])
                ir.InsertionPoint.current.block.owner.attributes[NAMES] = named  # before the body: what is refused there is told by name
                buffers = self.bind(parameters, ins, outs, tree)
                self.statements(statements)
                return [bufferization.ToTensorOp(out.type, buffers[p.name].value, restrict=True, writable=True).result
                        for p, out in zip(outputs, outs)]

            kernel = tir.prim_func(module, name or tree.name, [p.relax_type for p in inputs], [p.relax_type for p in outputs], body,
                                   self.source.location(tree), symbols)
            kernel.attributes[FIXED] = ir.UnitAttr.get()
            given = [s.value for s in tree.body if isinstance(s, ast.Expr) and self.word(s.value) == "func_attr"]
            if is_scheduled([a for call in given if isinstance(call, ast.Call) for a in call.args]):
                kernel.attributes[SCHEDULED] = ir.UnitAttr.get()
            if changed:
                places = [next((n for n, i in enumerate(inputs) if i.name == o.changes), -1) for o in outputs]
                kernel.attributes[INPLACE] = ir.DenseI64ArrayAttr.get(places)
            kernel.attributes[SIGNATURE] = ir.TypeAttr.get(ir.FunctionType.get(types, types[len(inputs):]))
        return kernel

    # --- parameters ---

    def parameters(self, tree: ast.FunctionDef) -> tuple[list[Parameter], list[ast.stmt]]:
        """The parameters, and the statements behind those that only say what they are."""
        arguments = tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            raise self.source.error("a kernel has parameters by position, without defaults", tree)
        parameters = {a.arg: self.parameter(a) for a in [*arguments.posonlyargs, *arguments.args]}
        statements = [s for s in tree.body if not self.declares(s, parameters)]
        for name, parameter in parameters.items():
            if isinstance(parameter, ast.arg):
                raise self.source.error(f"'{name}' is a handle: say what it is, {name.upper()} = T.match_buffer({name}, (n, ...), dtype), "
                                        "before anything else", parameter)
        return list(parameters.values()), statements

    def parameter(self, argument: ast.arg) -> Any:
        if argument.annotation is None:
            raise self.source.error(f"the parameter has no type: {argument.arg}: T.Buffer((n, ...), \"float32\")", argument)
        given = self.evaluate_type(argument.annotation)
        if isinstance(given, BufferType):
            return self.described(argument.arg, argument, given)
        if isinstance(given, HandleType):
            return argument
        if isinstance(given, ScalarType):
            if not given.dtype.startswith(("int", "uint")):
                raise self.source.error(f"a scalar is an integer; give a {given.dtype} as T.Buffer((), \"{given.dtype}\")", argument)
            self.symbols.setdefault(argument.arg, dims.symbol(dims.symbol_name(argument.arg)))
            return Parameter(argument.arg, argument, None, given.dtype)
        raise self.source.error("a parameter is a T.Buffer(...), a T.handle or an integer type", argument.annotation)

    def described(self, name: str, node: ast.AST, given: BufferType) -> Parameter:
        try:
            return Parameter(name, node, sizes_of(given.shape), dtype_name(given.dtype))
        except (ValueError, TypeError) as error:
            raise self.source.error(str(error), node) from error

    def declares(self, statement: ast.stmt, parameters: dict[str, Any]) -> bool:
        """Takes a statement that names a size, or says what a handle is."""
        if isinstance(statement, ast.Expr):
            return isinstance(statement.value, ast.Constant) or self.word(statement.value) in IGNORED
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return False
        targets, values = [statement.targets[0]], [statement.value]
        if isinstance(targets[0], ast.Tuple) and isinstance(values[0], ast.Tuple):
            targets, values = targets[0].elts, values[0].elts
        words = [self.word(v) for v in values]
        if not all(isinstance(t, ast.Name) for t in targets) or len(targets) != len(values):
            return False
        if all(self.names_size(word, value) for word, value in zip(words, values)):
            for target in targets:
                self.symbols[target.id] = dims.symbol(dims.symbol_name(target.id))
            return True
        if words != ["match_buffer"] or not self.takes_handle(values[0], parameters):
            return False
        try:
            self.match_buffer(targets[0].id, values[0], parameters)
        except Problem as problem:
            raise self.source.error(str(problem), values[0]) from None
        return True

    def names_size(self, word: str | None, call: ast.expr) -> bool:
        return isinstance(call, ast.Call) and (word in NAMES_OF_SIZES or (word in ("int32", "int64") and not call.args))

    def takes_handle(self, call: ast.Call, parameters: dict[str, Any]) -> bool:
        handle = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg in ("param", "buffer")), None)
        return isinstance(handle, ast.Name) and handle.id in parameters

    def match_buffer(self, name: str, call: ast.Call, parameters: dict[str, Any]) -> None:
        """``A = T.match_buffer(a, (n, 128), "float32")``: what the handle ``a`` is."""
        names = ("param", "shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor", "buffer_type",
                 "axis_separators")
        given = dict(zip(names, call.args)) | {str(k.arg): k.value for k in call.keywords}
        if unknown := set(given) - set(names):
            raise Problem(f"T.match_buffer has no {', '.join(sorted(unknown))}")
        handle = given["param"]
        if not isinstance(handle, ast.Name) or not isinstance(parameters.get(handle.id), ast.arg):
            raise self.source.error("T.match_buffer takes a parameter of type T.handle, once", handle)
        if "shape" not in given:
            raise Problem("T.match_buffer says the shape of a parameter: T.match_buffer(a, (n, 128), \"float32\")")
        shape = self.python(given["shape"])
        dtype = self.python(given["dtype"]) if "dtype" in given else "float32"
        made = self.described(name, call, BufferType(tuple(shape) if isinstance(shape, (list, tuple)) else (shape,), dtype))
        made.strides, made.offset = given.get("strides"), given.get("elem_offset")
        parameters[handle.id] = made

    def specialize(self, parameters: list[Parameter], sizes: Mapping[str, int]) -> None:
        """Puts numbers in the places of sizes that are known."""
        scalars = {p.name for p in parameters if p.shape is None}
        for parameter in parameters:
            if parameter.shape is not None:
                parameter.shape = tuple(s if isinstance(s, int) else dims.substitute(s, sizes) for s in parameter.shape)
        for name, symbol in self.symbols.items():
            if str(symbol) in sizes and name not in scalars:
                self.scope[name] = sizes[str(symbol)]

    # --- outputs ---

    def outputs(self, parameters: list[Parameter], statements: list[ast.stmt]) -> tuple[list[Parameter], list[Parameter]]:
        """The parameters that are written, and those among them that are changed in place: what they hold at first matters.

        An output of its own is one of the last parameters, and is written before it is read.
        """
        first: dict[str, str] = {}
        written: set[str] = set()
        for kind, name in Accesses(self.word, self.written_by_macro, [p.name for p in parameters]).of(statements):
            first.setdefault(name, kind)
            if kind == WRITE:
                written.add(name)
        found = [p for p in parameters if p.name in written]
        if not found:
            if parameters and any(self.word(n) in ("call_extern", "call_packed") for s in statements for n in ast.walk(s)):
                return parameters[-1:], []  # what a function of C does to its arguments is not seen: the last one is the output
            for node in (n for s in statements for n in ast.walk(s) if isinstance(n, ast.Call)):
                if reason := refused(str(self.word(node))):
                    raise self.source.error(reason, node)
            raise self.source.error("a kernel writes some of its parameters, the last ones: its outputs; this one writes none",
                                    self.source.tree)
        last = next((n for n, p in enumerate(reversed(parameters)) if p.name not in written), len(parameters))
        own = [p for p in parameters[len(parameters) - last:] if first[p.name] == WRITE]
        return found, [p for p in found if p not in own]

    def bind(self, parameters: list[Parameter], ins: list[ir.Value], outs: list[ir.Value], tree: ast.AST) -> dict[str, Buffer]:
        """Gives the parameters' names their buffers, and the sizes' names their values, at the insertion point."""
        buffers = {}
        for parameter, value in zip(parameters, [*ins, *outs]):
            if parameter.shape is None:
                self.scope[parameter.name] = tir_index(value)
                continue
            shape = [s if isinstance(s, int) else DYNAMIC for s in parameter.shape]
            type_ = ir.MemRefType.get(shape, memory_type(parameter.dtype))
            made = bufferization.ToBufferOp(type_, value).result
            buffers[parameter.name] = Buffer(made, parameter.dtype, parameter.name)
        values = self.size_values(parameters, buffers)
        for name, symbol in self.symbols.items():
            if name not in self.scope and str(symbol) in values:
                self.scope[name] = tir_index(values[str(symbol)])
        for parameter in parameters:
            if parameter.name in buffers:
                self.scope[parameter.name] = buffers[parameter.name]
        for parameter in parameters:
            if parameter.changes:
                self.copy(buffers[parameter.changes], buffers[parameter.name])
                self.scope[parameter.changes] = buffers[parameter.name]
        for parameter in parameters:
            if parameter.strides is not None and parameter.name in buffers:
                self.name_values(parameter.strides, strides_in_memory(buffers[parameter.name]), "strides")
            if parameter.offset is not None:
                self.name_values(ast.Tuple([parameter.offset], ast.Load()), (0,), "elem_offset")
        return buffers

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Loops that copy a buffer into another one."""
        def nest(variables: list[Any]) -> None:
            if len(variables) == source.rank:
                target.store(source.load(variables), variables)
                return
            with loop(as_index(0), as_index(source.size(len(variables))), name=f"i{len(variables)}") as made:
                nest([*variables, tir_index(made.variable)])

        nest([])

    def size_values(self, parameters: list[Parameter], buffers: dict[str, Buffer]) -> dict[str, ir.Value]:
        """The values of the symbols that are sizes of buffers."""
        values: dict[str, ir.Value] = {p.name: self.scope[p.name].value for p in parameters if p.shape is None}
        wanted: dict[str, Parameter] = {}
        for parameter in parameters:
            for axis, size in enumerate(parameter.shape or ()):
                if isinstance(size, int):
                    continue
                if size.is_symbol and str(size) not in values:
                    values[str(size)] = memref.DimOp(buffers[parameter.name].value, index(axis)).result
                wanted |= {name: parameter for name in dims.symbols(size)}
        for name, parameter in wanted.items():
            if name not in values:
                raise self.source.error(f"the size '{name}' is not the size of a buffer alone, nor a parameter: its value cannot be known",
                                        parameter.node)
        return values


def tir_index(value: ir.Value) -> Any:
    return Scalar(value, "index")


def parse_kernel(source: Source, module: ir.Module, name: str | None = None, symbols: ir.SymbolTable | None = None,
                 sizes: Mapping[str, int] | None = None) -> func.FuncOp:
    """The prim_func that a Python function's source is, added to a module; ``sizes``: the values of some of its symbols."""
    try:
        return KernelParser(source, T).parse(module, name, symbols, sizes)
    except Problem as problem:
        raise source.error(str(problem), source.tree) from None
