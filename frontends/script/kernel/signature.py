"""The signature of a kernel: its parameters, which of them are outputs, and their buffers and sizes in the body."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from legato.core.errors import LegatoError
from legato.core.ir_helpers import index
from legato.core.mlir import bufferization, ir, memref
from legato.dialects.relax import dims
from legato.dialects.tir.loops import loop
from legato.frontends.script.kernel.accesses import PACKED, WRITE, Accesses
from legato.frontends.script.kernel.allocations import name_values
from legato.frontends.script.kernel.buffers import DYNAMIC, Buffer
from legato.frontends.script.kernel.describe import not_in_kernels
from legato.frontends.script.kernel.macros import macro_of
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.pointers import strides_in_memory
from legato.frontends.script.kernel.values import as_index, index_value
from legato.frontends.script.language.marks import report_kernel_marks
from legato.frontends.script.language.own_dialects import own_dialect
from legato.frontends.script.language.refused import refused
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import (
    BufferType,
    HandleType,
    ScalarType,
    dtype_name,
    memory_type,
    not_negative,
    relax_element,
    sizes_of,
)
from legato.frontends.script.language.words import makes_size

MATCH_BUFFER = ("param", "shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor", "buffer_type",
                "axis_separators")  # arguments, in their order


@dataclass
class KernelParameter:
    """A parameter: a buffer, or an integer (``shape`` is None).

    ``shape``: sizes in relax's form. ``changes``: the name of the input that an output updates. ``strides``, ``offset``: the size
    symbols, as syntax, that get the values of the buffer's strides and offset.
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
        """The type of the prim_func's argument as a graph sees it."""
        return ir.IndexType.get() if self.shape is None else dims.tensor_type(self.shape, relax_element(self.dtype))


# --- parameters ---

def parameters_of(parser: KernelParser, tree: ast.FunctionDef) -> tuple[list[KernelParameter], list[ast.stmt]]:
    """The parameters, and the statements of the body but those that declare a parameter or a size symbol."""
    given = tree.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
        raise parser.error("a kernel has parameters by position, without defaults", tree)
    found = {a.arg: parameter(parser, a) for a in [*given.posonlyargs, *given.args]}
    statements = [s for s in tree.body if not declares(parser, s, found)]
    parameters = []
    for name, one in found.items():
        if isinstance(one, ast.arg):
            raise parser.error(f"'{name}' is a handle: say what it is, {name.upper()} = T.match_buffer({name}, (n, ...), dtype), "
                               "before anything else", one)
        parameters.append(one)
    return parameters, statements


def parameter(parser: KernelParser, argument: ast.arg) -> KernelParameter | ast.arg:
    """A parameter by its annotation; the argument itself where that is a handle, which a T.match_buffer describes."""
    if argument.annotation is None:
        raise parser.error(f"the parameter has no type: {argument.arg}: T.Buffer((n, ...), \"float32\")", argument)
    given = annotation(parser, argument.annotation)
    if isinstance(given, BufferType):
        return described(parser, argument.arg, argument, given)
    if isinstance(given, HandleType):
        return argument
    if isinstance(given, ScalarType):
        if not given.dtype.startswith(("int", "uint")):
            raise parser.error(f"a scalar is an integer; give a {given.dtype} as T.Buffer((), \"{given.dtype}\")", argument)
        parser.symbols.setdefault(argument.arg, dims.symbol(dims.symbol_name(argument.arg)))
        return KernelParameter(argument.arg, argument, None, given.dtype)
    raise parser.error("a parameter is a T.Buffer(...), a T.handle or an integer type", argument.annotation)


def annotation(parser: KernelParser, node: ast.expr) -> Any:
    """The value of an annotation, which may be a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return parser.python(parser.source.parsed(node.value, node), node)
    return parser.python(node)


def described(parser: KernelParser, name: str, node: ast.AST, given: BufferType) -> KernelParameter:
    """The parameter that a buffer's type describes."""
    try:
        return KernelParameter(name, node, tuple(not_negative(sizes_of(given.shape))), dtype_name(given.dtype))
    except (ValueError, TypeError, LegatoError) as error:
        raise parser.error(str(error), node) from error


def declares(parser: KernelParser, statement: ast.stmt, parameters: dict[str, KernelParameter | ast.arg]) -> bool:
    """Whether a statement only defines size symbols, describes a handle, or is a docstring or a hint; the first two are executed here."""
    if isinstance(statement, ast.Expr):
        word = parser.word(statement.value)
        if word == "func_attr" and isinstance(statement.value, ast.Call):
            report_kernel_marks(parser.source, statement.value)
        return isinstance(statement.value, ast.Constant) or word in ("func_attr", "block_attr", "sblock_attr")
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    targets, values = [statement.targets[0]], [statement.value]
    if isinstance(targets[0], ast.Tuple) and isinstance(values[0], ast.Tuple):
        targets, values = targets[0].elts, values[0].elts
    names = [t.id for t in targets if isinstance(t, ast.Name)]
    if len(names) != len(targets) or len(targets) != len(values):
        return False
    if all(makes_size(parser.word(v), v) for v in values):
        parser.symbols |= {name: dims.symbol(dims.symbol_name(name)) for name in names}
        return True
    call = values[0]
    if [parser.word(v) for v in values] != ["match_buffer"] or not isinstance(call, ast.Call) or not takes_handle(call, parameters):
        return False
    with parser.source.at(call):
        match_buffer(parser, names[0], call, parameters)
    return True


def takes_handle(call: ast.Call, parameters: dict[str, KernelParameter | ast.arg]) -> bool:
    """Whether a T.match_buffer takes a parameter, rather than a part of a buffer."""
    handle = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg in ("param", "buffer")), None)
    return isinstance(handle, ast.Name) and handle.id in parameters


def match_buffer(parser: KernelParser, name: str, call: ast.Call, parameters: dict[str, KernelParameter | ast.arg]) -> None:
    """``A = T.match_buffer(a, (n, 128), "float32")``: the parameter that the handle ``a`` is."""
    given = dict(zip(MATCH_BUFFER, call.args)) | {str(k.arg): k.value for k in call.keywords}
    if unknown := set(given) - set(MATCH_BUFFER):
        raise Misuse(f"T.match_buffer has no {', '.join(sorted(unknown))}")
    handle = given["param"]
    if not isinstance(handle, ast.Name) or not isinstance(parameters.get(handle.id), ast.arg):
        raise parser.error("T.match_buffer takes a parameter of type T.handle, once", handle)
    if "shape" not in given:
        raise Misuse("T.match_buffer says the shape of a parameter: T.match_buffer(a, (n, 128), \"float32\")")
    shape = parser.python(given["shape"])
    dtype = parser.python(given["dtype"]) if "dtype" in given else "float32"
    made = described(parser, name, call, BufferType(tuple(shape) if isinstance(shape, (list, tuple)) else (shape,), dtype))
    made.strides, made.offset = given.get("strides"), given.get("elem_offset")
    parameters[handle.id] = made


def specialize(parser: KernelParser, parameters: list[KernelParameter], sizes: Mapping[str, int]) -> None:
    """Puts the values of size symbols, where they are known, into the parameters' shapes and the scope."""
    scalars = {p.name for p in parameters if p.shape is None}
    for one in parameters:
        if one.shape is not None:
            one.shape = tuple(s if isinstance(s, int) else dims.substitute(s, sizes) for s in one.shape)
    for name, symbol in parser.symbols.items():
        if str(symbol) in sizes and name not in scalars:
            parser.scope[name] = sizes[str(symbol)]


# --- outputs ---

def outputs_of(parser: KernelParser, parameters: list[KernelParameter],
               statements: list[ast.stmt]) -> tuple[list[KernelParameter], list[KernelParameter]]:
    """The buffers that are written, and those among them that are updated in place: they are inputs too.

    A separate output is one of the last parameters, and is written before it is read.
    """
    first: dict[str, str] = {}
    written: set[str] = set()

    def macro(call: ast.Call) -> ast.FunctionDef | None:
        found = macro_of(parser, call)
        return found.source.tree if found else None

    try:
        accesses = list(Accesses(parser.word, macro, [p.name for p in parameters]).of(statements))
    except Misuse as problem:
        raise parser.error(str(problem), parser.source.tree) from None
    for kind, name in accesses:
        first.setdefault(name, kind)
        if kind == WRITE:
            written.add(name)
    found = [p for p in parameters if p.name in written]
    if not found:
        if parameters and any(is_external(parser.word(n)) for s in statements for n in ast.walk(s)):
            return parameters[-1:], []  # an external function writes through a pointer: the last parameter is the output
        for node in (n for s in statements for n in ast.walk(s) if isinstance(n, ast.Call)):
            if reason := refused(str(parser.word(node))):
                raise parser.error(reason, node)
        if (strange := next((s for s in statements if type(s) not in parser.tables.statements), None)) is not None:
            raise parser.error(not_in_kernels(strange), strange)
        raise parser.error("a kernel writes elements of some of its parameters, the last ones: its outputs; this one writes none",
                           parser.source.tree)
    last = next((n for n, p in enumerate(reversed(parameters)) if p.name not in written), len(parameters))
    own = [p for p in parameters[len(parameters) - last:] if first[p.name] == WRITE]
    return found, [p for p in found if p not in own]


def is_external(word: str | None) -> bool:
    """Whether a call of the word can write buffers that it is given."""
    return word is not None and (word in ("call_extern", "call_pure_extern", *PACKED) or own_dialect(word) is not None)


# --- the body's names ---

def bind(parser: KernelParser, parameters: list[KernelParameter], values: list[ir.Value]) -> dict[str, Buffer]:
    """Gives the parameters' names their buffers and the size symbols their values, at the insertion point; the buffers, by name.

    ``values``: the prim_func's arguments. An output that changes an input starts as a copy of it.
    """
    buffers = {}
    for one, value in zip(parameters, values):
        if one.shape is None:
            parser.scope[one.name] = index_value(value)
            continue
        type_ = ir.MemRefType.get([s if isinstance(s, int) else DYNAMIC for s in one.shape], memory_type(one.dtype))
        buffers[one.name] = Buffer(bufferization.ToBufferOp(type_, value).result, one.dtype, one.name)
    known = size_values(parser, parameters, buffers)
    for name, symbol in parser.symbols.items():
        if name not in parser.scope and str(symbol) in known:
            parser.scope[name] = index_value(known[str(symbol)])
    parser.scope |= buffers
    for one in parameters:
        if one.changes:
            copy(buffers[one.changes], buffers[one.name])
            parser.scope[one.changes] = buffers[one.name]
    for one in parameters:
        if one.strides is not None and one.name in buffers:
            name_values(parser, one.strides, strides_in_memory(buffers[one.name]), "strides")
        if one.offset is not None:
            name_values(parser, ast.Tuple([one.offset], ast.Load()), (0,), "elem_offset")
    return buffers


def copy(source: Buffer, target: Buffer, variables: tuple[Any, ...] = ()) -> None:
    """Loops that copy a buffer into another one. ``variables``: of the loops around."""
    axis = len(variables)
    if axis == source.rank:
        target.store(source.load(list(variables)), list(variables))
        return
    with loop(as_index(0), as_index(source.size(axis)), name=f"i{axis}") as made:
        copy(source, target, (*variables, index_value(made.variable)))


def size_values(parser: KernelParser, parameters: list[KernelParameter], buffers: dict[str, Buffer]) -> dict[str, ir.Value]:
    """The values of the size symbols. ScriptError for one that is neither a size of a buffer by itself nor a parameter."""
    values: dict[str, ir.Value] = {p.name: parser.scope[p.name].value for p in parameters if p.shape is None}
    wanted: dict[str, KernelParameter] = {}
    for one in parameters:
        for axis, size in enumerate(one.shape or ()):
            if isinstance(size, int):
                continue
            if size.is_symbol and str(size) not in values:
                values[str(size)] = memref.DimOp(buffers[one.name].value, index(axis)).result
            wanted |= {name: one for name in dims.symbols(size)}
    for name, one in wanted.items():
        if name not in values:
            raise parser.error(f"the size '{name}' is not the size of a buffer alone, nor a parameter: its value cannot be known", one.node)
    return values
