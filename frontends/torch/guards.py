"""What torch assumed of the sizes of the arguments when it traced a module: what holds of the example may not hold of a call.

Torch follows the branches that the example takes (``if x.shape[1] > 5``) and records the conditions, of which the exporter to ONNX writes
none. They become requirements of ``main``, which the entry checks at each call.
"""
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from legato.core.errors import LegatoError
from legato.core.mlir import func
from legato.dialects.relax import dims
from legato.dialects.relax.dim import UNKNOWN, Size, floor_divide, modulo
from legato.dialects.relax.dim_bounds import maximum, minimum
from legato.dialects.relax.requirements import Requirement, Room, require, requirements
from legato.dialects.relax.type_index import given_by
from legato.frontends.torch.strided import example_of

if TYPE_CHECKING:
    import sympy  # pyright: ignore[reportMissingImports]
    import torch  # pyright: ignore[reportMissingImports]

BEYOND = 1 << 62    # torch's bounds from here on are none
TRIED = 1 << 10     # sizes above that of the example for which a condition on one size is tried


def fix_sizes(program: "torch.onnx.ONNXProgram") -> None:
    """Writes the number in the place of each free size of the inputs that a condition leaves one value."""
    for symbol, bounds in program.exported_program.range_constraints.items():
        if symbol.is_symbol and bounds.lower == bounds.upper:
            _fix(program, str(symbol), int(bounds.lower))


def _fix(program: "torch.onnx.ONNXProgram", name: str, size: int) -> None:
    for value in program.model.graph.inputs:
        for axis, given in enumerate(value.shape or ()):
            if not isinstance(given, int) and given.value == name:
                value.shape[axis] = size


def name_sizes(program: "torch.onnx.ONNXProgram") -> None:
    """Gives a name to each size of the inputs from which no symbol can be read, as ``past + length`` of a mask: that of its first input
    and axis. ``require_guards`` has calls check that it is what torch says."""
    inputs = program.model.graph.inputs
    taken = {name for value in inputs for size in value.shape or () for name in _names(size)}
    named: dict[str, str] = {}
    for value in inputs:
        for axis, size in enumerate(value.shape or ()):
            if not _names(size) or next(given_by([_parsed(size.value)]), None) is not None:
                continue
            if size.value not in named:
                name = dims.symbol_name(f"{value.name}_{axis}")
                while name in taken:
                    name += "_"
                named[size.value] = name
                taken.add(name)
            value.shape[axis] = named[size.value]


def _names(size: Any) -> set[str]:
    return set() if isinstance(size, int) or size.value is None else set(re.findall(r"[A-Za-z_]\w*", size.value))


def _parsed(text: str) -> Size:
    """A size as the exporter writes it; UNKNOWN for what relax has no form for."""
    try:
        return dims.parse(text)
    except LegatoError:
        return UNKNOWN


def require_guards(main: func.FuncOp, program: "torch.export.ExportedProgram", names: list[str], label: str) -> None:
    """Records torch's conditions on main, but for those that tell 0 and 1 from other sizes. ``names``: the program's names of main's
    arguments."""
    found = [*_known_sizes(main, program, names)]
    known, examples = {symbol: size for symbol, size, _ in found}, {symbol: number for symbol, _, number in found}
    given = {symbol: f"dimension {axis} of '{argument}'" for argument, type_ in reversed([*zip(names, main.type.inputs)])
             for symbol, axis, *_ in dims.given_symbols(type_)}
    rows = {}
    for condition in dict.fromkeys(chain(_bounds(program), _conditions(program))):
        for row in _rows(condition, known, examples):
            if row.known_by(given) and _symbols(row):
                rows.setdefault((row.size, row.equal), replace(row, text=_text(row, label, given)))
    for row in _computed(main, program, names, known):
        rows.setdefault((row.size, row.equal), replace(row, text=_text(row, label, given)))
    require(main, [*requirements(main), *rows.values()])


def _text(row: Requirement, label: str, given: Mapping[str, str]) -> str:
    return f"torch traced {label} for {row.text}; {', '.join(f'{name} is {given[name]}' for name in sorted(_symbols(row)))}"


def _symbols(row: Requirement) -> set[str]:
    return {name for size in row.sizes if not isinstance(size, Room) for name in dims.symbols(size)}


def _computed(main: func.FuncOp, program: "torch.export.ExportedProgram", names: list[str],
              known: Mapping["sympy.Expr", Size]) -> Iterator[Requirement]:
    """What the sizes are that ``name_sizes`` has named."""
    for size, name in _sizes(main, program, names):
        if _is_named(size.node.expr, name):
            found = _size(size.node.expr, known)
            if found is not UNKNOWN:
                yield Requirement(found, f"{found} == {name}", equal=name)


def _known_sizes(main: func.FuncOp, program: "torch.export.ExportedProgram", names: list[str]) -> Iterator[tuple["sympy.Expr", Size, int]]:
    """Torch's symbols with the sizes that main's arguments give, and with those of the example."""
    for size, known in _sizes(main, program, names):
        expression, names_inside = size.node.expr, dims.symbols(known)
        if len(expression.free_symbols) == len(names_inside) == 1 and not _is_named(expression, known):
            symbol = next(iter(expression.free_symbols))     # itself, or in an expression, which main solves
            yield symbol, dims.parse(names_inside.pop()), example_of(symbol, size.node.shape_env)


def _sizes(main: func.FuncOp, program: "torch.export.ExportedProgram", names: list[str]) -> Iterator[tuple["torch.SymInt", Size]]:
    """The free sizes of main's arguments, torch's and relax's."""
    values = {node.name: node.meta.get("val") for node in program.graph.find_nodes(op="placeholder")}
    for name, type_ in zip(names, main.type.inputs):
        for size, known in zip(getattr(values.get(name), "shape", ()), dims.dims(type_)):
            if getattr(getattr(size, "node", None), "expr", None) is not None:
                yield size, known


def _is_named(expression: "sympy.Expr", size: Size) -> bool:
    """Whether an expression of torch's has a name of its own."""
    return not expression.is_symbol and isinstance(size, dims.Dim) and size.is_symbol


def _bounds(program: "torch.export.ExportedProgram") -> Iterator["sympy.Basic"]:
    import sympy  # pyright: ignore[reportMissingImports]

    for size, bounds in program.range_constraints.items():
        if bounds.lower > 0:
            yield sympy.Ge(size, bounds.lower, evaluate=False)
        if bounds.upper < BEYOND:
            yield sympy.Le(size, bounds.upper, evaluate=False)


def _conditions(program: "torch.export.ExportedProgram") -> Iterator["sympy.Basic"]:
    """The conditions of the program's own trace."""
    values = (node.meta.get("val") for node in program.graph.find_nodes(op="placeholder"))
    sizes = (size for value in values for size in getattr(value, "shape", ()) if not isinstance(size, int))
    for shapes in {id(size.node.shape_env): size.node.shape_env for size in sizes}.values():
        for symbol, size in shapes.replacements.items():
            yield _equal(symbol, size)
        for guard in chain(shapes.guards, *shapes.deferred_runtime_asserts.values()):
            yield guard.expr


def _equal(a: "sympy.Basic", b: "sympy.Basic") -> "sympy.Basic":
    import sympy  # pyright: ignore[reportMissingImports]

    return sympy.Eq(a, b, evaluate=False)


def _rows(condition: "sympy.Basic", known: Mapping["sympy.Expr", Size], examples: Mapping["sympy.Expr", int]) -> Iterator[Requirement]:
    """The requirements that say a condition; none for one on what main's arguments do not give, or on several sizes in no form of relax."""
    kind = type(condition).__name__
    parts = condition.args if kind == "And" else _compared(*condition.args) if kind == "Equality" else ()
    if parts:
        for part in parts:
            yield from _rows(part, known, examples)
        return
    a, b = (_size(part, known) for part in condition.args) if kind in _RELATIONS else (UNKNOWN, UNKNOWN)
    if a is UNKNOWN or b is UNKNOWN:
        yield from _interval(condition, known, examples)
        return
    sign, difference = _RELATIONS[kind]
    text = f"{a} {sign} {b}"
    row = Requirement(a, text, equal=b) if difference is None else Requirement(difference(a, b), text)
    if not _tells_one(row) and not (kind == "Unequality" and {0, 1} & {x for x in (a, b) if isinstance(x, int)}
                                    and not _is_remainder(condition)):
        yield row


def _is_remainder(condition: "sympy.Basic") -> bool:
    """Whether a condition says what a remainder is not: 0, or 1 where it is by 2. Sizes of tensors, which torch asks whether they are 0 or
    1, may be remainders, too, but of those that are 0 the trace has no branch."""
    for one, other in (condition.args, condition.args[::-1]):
        if type(one).__name__ in ("Mod", "PythonMod") and other.is_Integer:
            return other == 0 or (other == 1 and one.args[1] == 2)
    return False


def _interval(condition: "sympy.Basic", known: Mapping["sympy.Expr", Size], examples: Mapping["sympy.Expr", int]) -> Iterator[Requirement]:
    """The bounds around the example within which a condition on one size holds, as ``int(n ** 0.5) == 3`` does from 9 to 15."""
    import sympy  # pyright: ignore[reportMissingImports]

    symbol = next(iter(condition.free_symbols), None)
    if symbol not in known or len(condition.free_symbols) != 1:
        return

    def holds(number: int) -> bool:
        try:
            return condition.xreplace({symbol: sympy.Integer(number)}) == sympy.true
        except ZeroDivisionError:
            return False

    size, example = known[symbol], examples[symbol]
    low, high, most = example, example, example + TRIED
    while low > 0 and holds(low - 1):
        low -= 1
    while high < most and holds(high + 1):
        high += 1
    if not holds(example) or any(holds(number) for number in (*range(low), *range(high + 1, most + 1))):
        return      # not a condition that numbers decide, or no interval: every other size, perhaps
    if low > 2:     # 0 and 1 as elsewhere
        yield Requirement(size - low, f"{size} >= {low}")
    if high < most:
        yield Requirement(high - size, f"{size} <= {high}")


def _tells_one(row: Requirement) -> bool:
    """Whether a condition holds of all sizes but 0 and 1. Torch asks for these wherever it lays out memory, and models do to take a
    shortcut that changes no result: decoders, whether there is more than one token."""
    names = dims.symbols(row.size)
    if row.equal is not None or len(names) != 1:
        return False
    size = dims.parse(names.pop())
    return row.size in (size - 2, size - 1)


def _compared(a: "sympy.Basic", b: "sympy.Basic") -> "list[sympy.Basic]":
    """What ``a == min(a, c)`` says of a and c, in either order; nothing for other equations."""
    import sympy  # pyright: ignore[reportMissingImports]

    for one, other in ((a, b), (b, a)):
        relation = {"Min": sympy.Le, "Max": sympy.Ge}.get(type(other).__name__)
        if relation and one in other.args:
            return [relation(one, part, evaluate=False) for part in other.args if part != one]
    return []


_RELATIONS: Mapping[str, tuple[str, Any]] = {   # by sympy's class: how it is written, and what must not be negative for it
    "Equality": ("==", None),
    "Unequality": ("!=", lambda a, b: (a - b) * (a - b) - 1),
    "GreaterThan": (">=", lambda a, b: a - b),
    "StrictGreaterThan": (">", lambda a, b: a - b - 1),
    "LessThan": ("<=", lambda a, b: b - a),
    "StrictLessThan": ("<", lambda a, b: b - a - 1),
}
_FUNCTIONS: Mapping[str, Any] = {
    "Add": lambda a, b: a + b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": floor_divide,
    "CleanDiv": floor_divide,
    "Mod": modulo,
    "PythonMod": modulo,
    "Min": minimum,
    "Max": maximum,
}


def _size(expression: "sympy.Basic", known: Mapping["sympy.Expr", Size]) -> Size:
    """A size of torch's as one of relax; UNKNOWN for one without a form."""
    if expression in known:
        return known[expression]
    if expression.is_Integer:
        return int(expression)
    kind = type(expression).__name__
    if kind == "Pow" and expression.args[1].is_Integer and expression.args[1] > 0:
        parts = [_size(expression.args[0], known)] * int(expression.args[1])
        kind = "Mul"
    elif kind in _FUNCTIONS:
        parts = [_size(part, known) for part in expression.args]
    else:
        return UNKNOWN
    result, *rest = parts
    for part in rest:
        result = _FUNCTIONS[kind](result, part)
    return result
