"""``--view graph.svg`` (or .html): draws main: ops with the model's names and shapes, coloured by backend."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from legato.core.errors import LegatoError
from legato.core.locations import model_name
from legato.core.mlir import func, ir
from legato.dialects.module import Module
from legato.dialects.relax.dims import dims
from legato.dialects.relax.markers import CODEGEN, EXTERNAL, NAME, PACKED
from legato.passes.pipeline.scope import backend_of, external_modules, symbol

HOST = "host"
COLOURS = ("#ffd8a8", "#b2f2bb", "#a5d8ff", "#eebefa", "#ffc9c9", "#99e9f2", "#d8f5a2", "#fcc2d7")
HOST_COLOUR, EDGE = "#f1f3f5", "#868e96"
LINE, GAP, MARGIN, LETTER = 15, 34, 20, 6.6   # pixels
LEFT_OUT = {"relax.constant", "tensor.empty", "arith.constant", "tensor.dim", "func.return"}


@dataclass(eq=False)
class Box:
    """An op of main, or a part of a backend. ``lines``: its text; ``reads``: the boxes of its operands."""

    lines: list[str]
    backend: str
    reads: list[Box] = field(default_factory=list)
    layer: int = 0
    x: float = 0
    y: float = 0

    @property
    def width(self) -> float:
        """Width in pixels."""
        return max(map(len, self.lines)) * LETTER + 16

    @property
    def height(self) -> float:
        """Height in pixels."""
        return len(self.lines) * LINE + 10


def write_view(module: Module, path: str) -> None:
    """Draws the module's main. LegatoError unless the file's name ends in .svg or .html and the module has a main."""
    kind = Path(path).suffix
    if kind not in (".svg", ".html"):
        raise LegatoError(f"--view draws .svg or .html, not '{path}'")
    picture = svg(boxes(module))
    page = f"<!doctype html><meta charset='utf-8'><title>{escape(Path(path).stem)}</title><body style='margin:0'>{picture}</body>"
    Path(path).write_text(picture if kind == ".svg" else page)


def boxes(module: Module) -> list[Box]:
    """The boxes of main, in order."""
    main = module.function("main")
    parts = _parts(module)
    made: dict[ir.Value, Box] = {}
    found = []
    for argument in main.arguments:
        box = Box([f"{_argument_name(main, argument.arg_number)}", _shape(argument.type)], HOST)
        made[argument] = box
        found.append(box)
    for view in main.body.blocks[0].operations:
        op = view.operation
        if op.name in LEFT_OUT:
            continue
        name, backend, inside = op.name.removeprefix("relax."), HOST, []
        if op.name == "func.call":
            name = op.attributes["callee"].value
            backend, inside = parts.get(name, (HOST, []))
        named = model_name(op)
        lines = [name, *([named] if named and not inside else []), *inside, *(_shape(r.type) for r in op.results)]
        box = Box(lines, backend, list(dict.fromkeys(made[v] for v in op.operands if v in made)))
        box.layer = 1 + max((read.layer for read in box.reads), default=0)
        made.update(dict.fromkeys(op.results, box))
        found.append(box)
    return found


def _parts(module: Module) -> dict[str, tuple[str, list[str]]]:
    """The backend and the ops of each function that main calls: composites, and functions of external modules."""
    inside: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for external in external_modules(module.module):
        table = {f.name.value: f for f in external.regions[0].blocks[0].operations if isinstance(f, func.FuncOp)}
        for name, function in table.items():
            inside[symbol(external) or "", name] = str(backend_of(external)), _summary(_ops(function, table))
    host = {f.name.value: f for f in module.functions()}
    found = {}
    for name, function in host.items():
        attributes = function.operation.attributes
        if EXTERNAL in attributes:
            home, inner = ir.SymbolRefAttr(attributes[EXTERNAL]).value
            found[name] = inside.get((home, inner), (home, []))
        elif PACKED in attributes:
            packed = attributes[PACKED].value
            home, _, inner = packed.rpartition(".")
            found[name] = inside.get((home, inner), (packed, []))
        elif CODEGEN in attributes:
            found[name] = attributes[CODEGEN].value, _summary(_ops(function, host))
    return found


def _ops(function: func.FuncOp, table: dict[str, func.FuncOp]) -> list[str]:
    found = []
    for view in function.body.blocks[0].operations if not function.is_external else ():
        op = view.operation
        if op.name == "func.call" and op.attributes["callee"].value in table:
            found += _ops(table[op.attributes["callee"].value], table)
        elif op.name not in LEFT_OUT:
            found.append(" ".join(filter(None, (op.name.removeprefix("relax."), model_name(op)))))
    return found


def _summary(ops: list[str]) -> list[str]:
    return [f"  {op}" for op in ops[:8]] + ([f"  ... {len(ops) - 8} more"] if len(ops) > 8 else [])


def _argument_name(main: func.FuncOp, number: int) -> str:
    if "arg_attrs" in main.attributes:
        attributes = ir.DictAttr(main.attributes["arg_attrs"][number])
        if NAME in attributes:
            return attributes[NAME].value
    return f"arg{number}"


def _shape(type_: ir.Type) -> str:
    if not isinstance(type_, ir.RankedTensorType):
        return str(type_)
    return f"{type_.element_type}[{', '.join(map(str, dims(type_)))}]"


def svg(found: list[Box]) -> str:
    """The picture as SVG: layers from top to bottom, arrows from producers to consumers, a legend of backends."""
    layers: dict[int, list[Box]] = {}
    for box in found:
        layers.setdefault(box.layer, []).append(box)
    y = MARGIN + 2 * LINE
    for number in sorted(layers):
        row = layers[number]
        row.sort(key=lambda b: sum(r.x for r in b.reads) / len(b.reads) if b.reads else 0)
        x = float(MARGIN)
        for box in row:
            wanted = sum(r.x + r.width / 2 for r in box.reads) / len(box.reads) - box.width / 2 if box.reads else x
            box.x, box.y = max(x, wanted), y
            x = box.x + box.width + MARGIN
        y += max(b.height for b in row) + GAP
    width = max((b.x + b.width for b in found), default=0) + MARGIN
    backends = list(dict.fromkeys(b.backend for b in found if b.backend != HOST))
    colours = {HOST: HOST_COLOUR, **{b: COLOURS[i % len(COLOURS)] for i, b in enumerate(backends)}}
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{y:.0f}" font-family="monospace" font-size="11">',
             f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
             f'<path d="M0 0L8 4L0 8z" fill="{EDGE}"/></marker></defs>']
    parts += _legend(colours)
    for box in found:
        for read in box.reads:
            x1, y1, x2, y2 = read.x + read.width / 2, read.y + read.height, box.x + box.width / 2, box.y
            parts.append(f'<path d="M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + GAP / 2:.0f} {x2:.0f} {y2 - GAP / 2:.0f} {x2:.0f} {y2:.0f}" '
                         f'fill="none" stroke="{EDGE}" marker-end="url(#tip)"/>')
    for box in found:
        parts.append(f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" rx="5" '
                     f'fill="{colours[box.backend]}" stroke="{EDGE}"/>')
        for number, line in enumerate(box.lines):
            weight = ' font-weight="bold"' if number == 0 else ""
            at = f'x="{box.x + 8:.0f}" y="{box.y + LINE * (number + 1):.0f}"'
            parts.append(f'<text {at}{weight} xml:space="preserve">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(colours: dict[str, str]) -> Iterable[str]:
    x = float(MARGIN)
    for name, colour in colours.items():
        yield f'<rect x="{x:.0f}" y="8" width="14" height="14" fill="{colour}" stroke="{EDGE}"/>'
        yield f'<text x="{x + 20:.0f}" y="19">{escape(name)}</text>'
        x += 40 + len(name) * LETTER
