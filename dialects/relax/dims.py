"""Symbolic shapes in types: parsing, printing, and computing their values at run time.

A dimension is an int, a ``Dim`` (an expression of symbols) or ``UNKNOWN``. The encoding of a type holds the expressions:
``tensor<?x768xf32, #relax.dims<["n", 768]>>``; a type without encoding has ints and ``UNKNOWN``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import SupportsIndex

from legato.core import search
from legato.core.errors import LegatoError
from legato.core.mlir import arith, func, ir, tensor
from legato.dialects.relax.dialect import DimsAttr
from legato.dialects.relax.dim import FUNCTIONS, UNKNOWN, Dim, DimPart, Size, Unknown, floor_divide, modulo, symbol  # noqa: F401
from legato.dialects.relax.dim_bounds import broadcast_size, maximum, minimum
from legato.dialects.relax.materializer import Materializer
from legato.dialects.relax.sizes import LARGEST, ceil_divide, magnitude, nested, product, steps_between, substitute, symbols  # noqa: F401 - re-exported
from legato.dialects.relax.type_index import given_by, type_index

_DYNAMIC = ir.ShapedType.get_dynamic_size()
CALLED = {"min": minimum, "max": maximum, "broadcast": broadcast_size}
_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(//|[-+*%(),]))")


@lru_cache(4096)
def parse(text: str) -> Size:
    """Parses an expression of ints, names, ``+ - * // %``, ``min(a, b)``, ``max(a, b)``, ``broadcast(a, b)``; ``"?"`` is UNKNOWN.
    LegatoError if it is malformed."""
    if text.strip() == "?":
        return UNKNOWN
    tokens, position = [], 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None:
            raise LegatoError(f"cannot read the dimension '{text}': unexpected '{stripped[position:].lstrip()[0]}'")
        tokens.append(match.group().strip())
        position = match.end()
    tokens.append("")
    try:
        size, rest = _sum(tokens, 0)
    except (ValueError, ZeroDivisionError) as error:
        raise LegatoError(f"cannot read the dimension '{text}': {error}") from error
    if tokens[rest]:
        raise LegatoError(f"cannot read the dimension '{text}': unexpected '{tokens[rest]}'")
    return size


def as_size(value) -> Size:
    """An int, expression text, ``Dim`` or ``UNKNOWN`` as a size. LegatoError for anything else, and for an int beyond 64 bits."""
    if type(value) is int and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, (Dim, Unknown)):
        return value
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise LegatoError(f"a size is an int, or an expression of ints and symbols, not {value!r}")
    size = int(value.__index__())
    if not -(2**63) <= size < 2**63:
        raise LegatoError(f"a size of {size} does not fit in 64 bits")
    return size


def symbol_name(text: str) -> str:
    """A valid symbol name made from a model's name (``"batch-size"`` gives ``"batch_size"``)."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return name if re.match(r"[A-Za-z_]", name) and name not in FUNCTIONS else f"_{name}"


def dims(tensor_type) -> tuple[Size, ...]:
    """The sizes of a ranked tensor type. LegatoError if its encoding does not fit its shape."""
    index = type_index()
    if index is None:
        return _dims(tensor_type)
    found = index.sizes.get(tensor_type)
    return index.add(tensor_type, _dims(tensor_type)) if found is None else found


def _dims(tensor_type) -> tuple[Size, ...]:
    shape = tensor_type.shape
    encoding = tensor_type.encoding if _DYNAMIC in shape else None
    if not isinstance(encoding, DimsAttr):
        return tuple(UNKNOWN if size == _DYNAMIC else size for size in shape)
    sizes = from_attribute(encoding)
    if len(sizes) != len(shape):
        raise LegatoError(f"{tensor_type} has {len(shape)} dimensions, but its encoding names {len(sizes)}")
    for given, named in zip(shape, sizes):
        if (given == _DYNAMIC) == isinstance(named, int) or (given != _DYNAMIC and given != named):
            raise LegatoError(f"{tensor_type}: the encoding says '{named}' where the shape says '{'?' if given == _DYNAMIC else given}'")
    return sizes


def from_attribute(attribute: DimsAttr) -> tuple[Size, ...]:
    """The sizes in ``#relax.dims<[...]>``."""
    sizes = []
    for element in attribute.params[0].maybe_downcast():
        if isinstance(element, ir.StringAttr):
            sizes.append(parse(element.value))
        elif isinstance(element, ir.IntegerAttr):
            sizes.append(element.value)
        else:
            raise LegatoError(f"{attribute} lists {element}: a dimension is an integer or a string")
    return tuple(sizes)


def to_attribute(sizes: Iterable[Size]) -> DimsAttr:
    """``#relax.dims<[...]>`` of these sizes."""
    i64 = ir.IntegerType.get_signless(64)
    return DimsAttr.get(ir.ArrayAttr.get([ir.IntegerAttr.get(i64, s) if isinstance(s, int) else ir.StringAttr.get(str(s)) for s in sizes]))


def tensor_type(sizes: Sequence, element_type: ir.Type) -> ir.RankedTensorType:
    """The tensor type with these sizes (ints, expression texts, Dims, UNKNOWN), with an encoding if one of them is symbolic."""
    sizes = [as_size(s) for s in sizes]
    shape = [s if isinstance(s, int) else _DYNAMIC for s in sizes]
    encoding = to_attribute(sizes) if _DYNAMIC in shape and any(isinstance(s, Dim) for s in sizes) else None
    made = ir.RankedTensorType.get(shape, element_type, encoding, loc=ir.Location.unknown(element_type.context))
    if encoding is not None and (index := type_index()) is not None:
        index.add(made, sizes)
    return made


def strip(tensor_type) -> ir.RankedTensorType:
    """The type without its encoding."""
    if tensor_type.encoding is None:
        return tensor_type
    return ir.RankedTensorType.get(tensor_type.shape, tensor_type.element_type, loc=ir.Location.unknown(tensor_type.context))


def compatible(a: Size, b: Size) -> bool:
    """Whether two sizes may be equal at run time as far as names tell: they are equal, or one is unknown."""
    return a == b or a is UNKNOWN or b is UNKNOWN


def symbol_table(function: "func.FuncOp") -> dict[str, tuple[int, int, int, int]]:
    """The arguments that define a function's symbols: name to (argument, dimension, scale, offset).

    That dimension of the argument is ``symbol * scale + offset``. A bare symbol (scale 1, offset 0) is preferred to an expression of it.
    """
    table: dict[str, tuple[int, int, int, int]] = {}
    firsts: dict[ir.Type, int] = {}     # of the many arguments of a model with a cache in each layer, few types differ
    for number, argument_type in enumerate(function.type.inputs):
        firsts.setdefault(argument_type, number)
    for argument_type, number in firsts.items():
        for name, *found in given_symbols(argument_type):
            if name not in table or (found[1:] == [1, 0] and table[name][2:] != (1, 0)):
                table[name] = (number, *found)
    return table


def given_symbols(type_: ir.Type) -> Iterator[tuple[str, int, int, int]]:
    """The symbols that a value of a type defines: (name, dimension, scale, offset), where that dimension is ``name * scale +
    offset``."""
    if not isinstance(type_, ir.RankedTensorType) or type_.has_static_shape:
        return
    yield from given_by(dims(type_))


def is_defined(name: str, function: "func.FuncOp") -> bool:
    """Whether a symbol has a value at the insertion point, which is in a function."""
    return name in symbol_table(function) or _giving_result(name, function) is not None


def _giving_result(name: str, function: "func.FuncOp", inside: bool = False) -> tuple[ir.Value, int, int, int] | None:
    """The first value that defines a symbol which no argument defines, a size that depends on data: in the function's block, unless it is
    ``inside``, or else in an inner one around the insertion point."""
    seen: set[ir.Type] = set()      # of thousands of results in a large graph, few types differ
    index = type_index()
    for block in islice(_blocks_around(function), inside, None):
        for result in _results_in(block) if index is None else _results_of(block, index.givers.get(name, [])):
            type_ = result.type
            if type_ in seen:
                continue
            seen.add(type_)
            for found, axis, scale, offset in given_symbols(type_):
                if found == name:
                    return result, axis, scale, offset
    return None


def _results_in(block: ir.Block) -> Iterator[ir.Value]:
    for op in block.operations:
        yield from op.operation.results


def _results_of(block: ir.Block, types: Sequence[ir.Type]) -> Sequence[ir.Value]:
    """The results of the first op of a block that has one of these types."""
    op = search.by.first_giving(block, types) if types else None
    return () if op is None else op.results


def _blocks_around(function: "func.FuncOp") -> Iterator[ir.Block]:
    """The blocks of a function around the insertion point, the function's first; only that where the point is elsewhere."""
    block, found = ir.InsertionPoint.current.block, []
    while block is not None:
        found.append(block)
        owner = block.owner.operation
        if owner == function.operation:
            return reversed(found)
        block = None if owner.parent is None else owner.block
    return iter([function.body.blocks[0]])


def materialize(size: Size, where: "func.FuncOp | Mapping[str, ir.Value]", ip: ir.InsertionPoint | None = None,
                unchecked: bool = False, made: dict[object, ir.Value] | None = None) -> ir.Value:
    """The run-time value of a size: an ``index`` built at the insertion point.

    The symbols come from a table of index values by name, or from the sizes of a function's arguments. ``unchecked``: before the entry has
    checked the sizes of a call, of which some may be divisors of 0, which count as 1, or divide -2**63 by -1, which counts as -2**63 + 1:
    such divisions end the process. ``made``: the values of sizes, products and parts so far, all of which dominate the insertion point;
    those that are built are added. LegatoError for a size without a value.
    """
    if ip is not None:
        with ip:
            return materialize(size, where, unchecked=unchecked, made=made)
    return Materializer(partial(_symbol_value, where=where), unchecked, {} if made is None else made).value(size)


def is_known_here(value: ir.Value) -> bool:
    """Whether the op of a value stands before the insertion point, or before the op around that."""
    place, op = ir.InsertionPoint.current, value.owner.operation
    before, block = place.ref_operation, place.block
    while block != op.block:
        before = block.owner.operation
        if before.block is None or before.name == "func.func":
            return True
        block = before.block
    return before is None or op.is_before_in_block(before)


def _symbol_value(name: str, where) -> ir.Value:
    if isinstance(where, Mapping):
        if name not in where:
            raise LegatoError(f"no value for the symbol '{name}'; there are values for: {', '.join(where) or 'none'}")
        return where[name]
    return symbol_value(name, where)


def symbol_value(name: str, function: "func.FuncOp", inside: bool = False) -> ir.Value:
    """The run-time value of a function's symbol, built at the insertion point, of the size of an argument or of a result in its block, or
    in an inner one, where it is looked for first if ``inside``. LegatoError for a symbol that none has."""
    table = symbol_table(function)
    if name in table:
        number, *place = table[name]
        return solved(function.arguments[number], *place)
    giver = (_giving_result(name, function, inside=True) if inside else None) or _giving_result(name, function)
    if giver is None:
        raise LegatoError(f"the symbol '{name}' is not a dimension of any argument of @{function.name.value}, nor of what a packed "
                          "function returns there: its value cannot be known")
    source, *place = giver
    if not is_known_here(source):
        raise LegatoError(f"the symbol '{name}' is not a dimension of any argument of @{function.name.value}, and is needed before "
                          f"{source.owner.name}, the first op whose result has it: its value cannot be known")
    return solved(source, *place)


def solved(source: ir.Value, axis: int, scale: int, offset: int) -> ir.Value:
    """The run-time value of a symbol, built at the insertion point, where a dimension of a value is ``symbol * scale + offset``."""
    index = ir.IndexType.get()
    value = tensor.DimOp(source, arith.ConstantOp(index, axis).result).result
    if offset:
        value = arith.SubIOp(value, arith.ConstantOp(index, offset).result).result
    return arith.FloorDivSIOp(value, arith.ConstantOp(index, scale).result).result if scale != 1 else value


def _sum(tokens: list[str], at: int) -> tuple[Size, int]:
    value, at = _product(tokens, at)
    while tokens[at] in ("+", "-"):
        other, after = _product(tokens, at + 1)
        value, at = (value + other if tokens[at] == "+" else value - other), after
    return value, at


def _product(tokens: list[str], at: int) -> tuple[Size, int]:
    value, at = _factor(tokens, at)
    while tokens[at] in ("*", "//", "%"):
        other, after = _factor(tokens, at + 1)
        value = value * other if tokens[at] == "*" else floor_divide(value, other) if tokens[at] == "//" else modulo(value, other)
        at = after
    return value, at


def _factor(tokens: list[str], at: int) -> tuple[Size, int]:
    token = tokens[at]
    if token == "-":
        value, at = _factor(tokens, at + 1)
        return -value, at
    if token in FUNCTIONS and tokens[at + 1] == "(":
        a, at = _sum(tokens, at + 2)
        b, at = _sum(tokens, _expect(tokens, at, ","))
        return CALLED[token](a, b), _expect(tokens, at, ")")
    if token == "(":
        value, at = _sum(tokens, at + 1)
        return value, _expect(tokens, at, ")")
    if token.isdigit():
        return int(token), at + 1
    if token and (token[0].isalpha() or token[0] == "_"):
        return symbol(token), at + 1
    raise ValueError(f"unexpected '{token}'" if token else "it ends too soon")


def _expect(tokens: list[str], at: int, token: str) -> int:
    if tokens[at] != token:
        raise ValueError(f"expected '{token}', found '{tokens[at] or 'the end'}'")
    return at + 1
