"""Buffers that a kernel's statements define: allocations and views."""

import ast
from math import prod
from typing import Any

from legato.core.mlir import ir
from legato.dialects.tir import loops
from legato.frontends.script.kernel.arguments import named
from legato.frontends.script.kernel.buffers import DYNAMIC, Buffer
from legato.frontends.script.kernel.elements import bounds_of_part
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.values import Scalar, as_index, dtype_of
from legato.frontends.script.kernel.views import Reshaped, part
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import FLOAT8, dtype_name, memory_type

# the words that make a buffer, with its scope where the word determines it
ALLOCATIONS = {"alloc_buffer": None, "sblock_alloc_buffer": None, "alloc_local": "local", "alloc_shared": "shared", "allocate": None,
               "decl_buffer": None, "Buffer": None, "buffer_decl": None}
HINTS = ("align", "offset_factor", "buffer_type", "axis_separators", "condition", "annotations", "layout")  # arguments that change no value
ALLOCATED = ("shape", "dtype", "scope", "logical_scope", "data", "strides", "elem_offset", *HINTS)  # arguments, in their order
DECLARED = ("shape", "dtype", "data", "strides", "elem_offset", "scope", *HINTS)


def makes_buffer(parser: KernelParser, node: ast.expr) -> bool:
    """Whether an expression allocates memory or makes a view."""
    return isinstance(node, ast.Call) and parser.word(node) in (*ALLOCATIONS, "match_buffer")


def allocate(parser: KernelParser, name: str, call: ast.Call) -> Buffer:
    """The buffer that a call makes, named after the variable that it is assigned to."""
    word = str(parser.word(call))
    if word == "match_buffer":
        return match_part(parser, name, call)
    names = DECLARED if word in ("decl_buffer", "Buffer") else ALLOCATED
    given = {k: v for k, v in named(parser, call, *names).items() if v is not None}
    if "shape" not in given:
        raise Misuse(f"T.{word}(shape, dtype, scope=...) says the shape")
    shape = sizes(given["shape"])
    dtype = element(given.get("dtype", "float32"))
    if "data" in given:
        return reshaped(parser, name, word, call, shape, dtype, given)
    if word == "Buffer" or word == "buffer_decl":
        raise Misuse("T.Buffer is a type, or another buffer's elements (data=A.data); memory is made by T.alloc_buffer(shape, dtype)")
    if "strides" in given and any(a != b for a, b in zip(sizes(given["strides"]), row_major_numbers(shape))):
        raise Misuse("buffers lie in memory row by row, without gaps: allocate the shape with the gaps in it")
    scope = ALLOCATIONS[word] or given.get("scope") or given.get("logical_scope") or "global"
    if not isinstance(scope, str):
        raise Misuse("a scope is a text: scope=\"shared\"")
    return allocated(name, shape, dtype, scope)


def allocated_by_python(word: str, shape: Any, dtype: Any = "float32", scope: Any = None, **hints: Any) -> Buffer:
    """``T.alloc_buffer(shape, dtype, scope)`` in a Python function that a kernel calls: memory at the insertion point."""
    if set(hints) - set(HINTS):
        raise Misuse(f"T.{word} has no {', '.join(sorted(set(hints) - set(HINTS)))}")
    scope = ALLOCATIONS[word] or scope or "global"
    return allocated("buffer", sizes(tuple(shape) if isinstance(shape, list) else shape), element(dtype), str(scope))


def sizes(given: Any) -> tuple[Any, ...]:
    """A shape: ints and index values. Misuse for anything else."""
    found = given if isinstance(given, tuple) else (given,)
    for size in found:
        if isinstance(size, bool) or not (isinstance(size, int) or (isinstance(size, Scalar) and not size.is_float)):
            raise Misuse(f"a size is an integer, not {dtype_of(size) if isinstance(size, Scalar) else repr(size)}")
        if isinstance(size, int) and size < 0:
            raise Misuse(f"a size is not negative: {size}")
    return found


def element(given: Any) -> str:
    """The name of an element type. Misuse for anything else."""
    try:
        return dtype_name(given)
    except ValueError as error:
        raise Misuse(str(error)) from None


def allocated(name: str, shape: tuple[Any, ...], dtype: str, scope: str) -> Buffer:
    """Memory of a scope, allocated at the insertion point."""
    dynamic = [as_index(s) for s in shape if isinstance(s, Scalar)]
    type_ = ir.MemRefType.get([DYNAMIC if isinstance(s, Scalar) else s for s in shape], memory_type(dtype))
    made = loops.make_buffer(type_, name, scope, dynamic)
    if dtype.startswith("uint") or dtype in ("bool", *FLOAT8):  # which the memref's type does not say
        made.owner.operation.attributes["dtype"] = ir.StringAttr.get(dtype)
    return Buffer(made, dtype, name)


def reshaped(parser: KernelParser, name: str, word: str, call: ast.Call, shape: tuple[Any, ...], dtype: str,
             given: dict[str, Any]) -> Buffer:
    """``T.decl_buffer((4, 4), "float32", data=A.data)``: A's memory in another shape."""
    node = next((k.value for k in call.keywords if k.arg == "data"), call)
    base = parser.expression(node.value) if isinstance(node, ast.Attribute) and node.attr == "data" else parser.expression(node)
    if not isinstance(base, Buffer):
        raise parser.error(f"T.{word}: data= is another buffer's memory, A.data", node)
    if base.dtype != dtype:
        raise parser.error(f"'{base.name}' has elements of type {base.dtype}, not {dtype}: T.reinterpret takes an element's bits", node)
    if "strides" in given and any(a != b for a, b in zip(sizes(given["strides"]), row_major_numbers(shape))):
        raise parser.error("another shape lies in memory row by row: index the buffer itself where there are gaps", node)
    begin = given.get("elem_offset", 0)
    whole = [size for axis in range(base.rank) if (size := base.known_size(axis)) is not None]
    if isinstance(begin, int) and len(whole) == base.rank and all(isinstance(s, int) for s in shape):
        have, want = prod(whole), begin + prod(shape)
        if want > have:
            raise parser.error(f"'{base.name}' has {have} elements; {want} do not lie in it", node)
    return Reshaped(base.value, dtype, name, base, shape, begin)


def match_part(parser: KernelParser, name: str, call: ast.Call) -> Buffer:
    """``A_part = T.match_buffer(A[i * 16:i * 16 + 16, 0:16], (16, 16))``."""
    keywords = {k.arg: k.value for k in call.keywords}
    region = call.args[0] if call.args else keywords.pop("param", None)
    node = region.value if isinstance(region, ast.Subscript) else region
    buffer = None if node is None else parser.expression(node)
    if not isinstance(buffer, Buffer):
        raise Misuse("T.match_buffer in a block takes a part of a buffer: T.match_buffer(A[i:i + 16, 0:16], (16, 16))")
    bounds = bounds_of_part(parser, region.slice if isinstance(region, ast.Subscript) else None, buffer)
    shape = call.args[1] if len(call.args) > 1 else keywords.pop("shape", None)
    dtype = call.args[2] if len(call.args) > 2 else keywords.pop("dtype", None)
    if dtype is not None and (said := element(parser.expression(dtype))) != buffer.dtype:
        raise parser.error(f"'{buffer.name}' has elements of type {buffer.dtype}, not {said}", dtype)
    strides, offset = keywords.pop("strides", None), keywords.pop("elem_offset", None)
    unknown = set(keywords) - {"scope", "align", "offset_factor", "buffer_type", "data", "axis_separators"}
    if unknown or len(call.args) > 3:
        raise Misuse("T.match_buffer(part, shape, dtype) has no "
                      + (", ".join(str(u) for u in unknown) or "fourth argument by position"))
    made = part(buffer, [(begin, extent) for _, begin, extent in bounds], None if shape is None else sizes(parser.expression(shape)), name)
    if strides is not None:
        name_values(parser, strides, made.strides(), "strides")
    if offset is not None:
        name_values(parser, ast.Tuple([offset], ast.Load()), (made.offset(),), "elem_offset")
    return made


def name_values(parser: KernelParser, node: ast.expr, found: tuple[Any, ...], what: str) -> None:
    """Gives the size symbols in ``strides=[s0, s1]`` the values found. ScriptError for a number that is not the one found."""
    nodes = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    if nodes and len(nodes) != len(found):
        raise parser.error(f"{len(nodes)} {what} for {len(found)} dimensions", node)
    for one, value in zip(nodes, found):
        if isinstance(one, ast.Name) and one.id in parser.symbols and one.id not in parser.scope:
            parser.scope[one.id] = value
        elif isinstance(one, ast.Constant) and isinstance(one.value, int) and isinstance(value, int) and one.value != value:
            raise parser.error(f"the {what.removesuffix('s')} there is {value}, not {one.value}", one)


def row_major_numbers(shape: tuple[Any, ...]) -> list[Any]:
    """The strides of a shape without gaps; None where they are not numbers."""
    return [prod(shape[axis + 1:]) if all(isinstance(s, int) for s in shape[axis + 1:]) else None for axis in range(len(shape))]
