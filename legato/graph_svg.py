"""A graph of boxes as SVG, and in the language of Graphviz."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from legato.graph_boxes import BACKEND, INPUT, KERNEL, OP, OUTPUT, GraphBox
from legato.graph_layout import GAP, LETTER, LINE, MARGIN, GraphLayout, Spot, layout, shown_lines

BACKEND_COLOURS = ("#ffd8a8", "#b2f2bb", "#a5d8ff", "#eebefa", "#ffc9c9", "#99e9f2", "#d8f5a2", "#fcc2d7")
FILLS = {INPUT: "#ffffff", OUTPUT: "#ffffff", OP: "#f1f3f5", KERNEL: "#d0d9ff"}
STROKES = {INPUT: "#2f9e44", OUTPUT: "#e8590c", OP: "#868e96", KERNEL: "#5c7cfa", BACKEND: "#868e96"}
WORDS = {INPUT: "input", OUTPUT: "output", OP: "op", KERNEL: "kernel"}
EDGE, TEXT, PAPER, TIME = "#868e96", "#212529", "#ffffff", "#e03131"
FONT = "font-family='ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace' font-size='11'"


def graph_svg(boxes: Sequence[GraphBox], title: str = "") -> str:
    """The picture: rows from top to bottom, arrows from producers to consumers, a legend, and a bar for the time of each box, against the
    longest."""
    legend = _legend(boxes)
    placed = layout(boxes, MARGIN + LINE + (22 if legend else 0) + (LINE if title else 0))
    widest = max(placed.width, MARGIN * 2 + sum(width for *_, width in legend), MARGIN * 2 + len(title) * LETTER)
    size = f'width="{widest:.0f}" height="{placed.height:.0f}" viewBox="0 0 {widest:.0f} {placed.height:.0f}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT}>',
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{EDGE}"/></marker></defs>',
        f'<rect width="100%" height="100%" fill="{PAPER}"/>', *_drawn_legend(legend),
        *([f'<text x="{MARGIN}" y="{MARGIN + LINE + 8}" fill="{TEXT}">{escape(title)}</text>'] if title else []),
        *_edges(placed), *_drawn_boxes(placed, _fills(boxes)), "</svg>"]) + "\n"


def _fills(boxes: Sequence[GraphBox]) -> dict[str, str]:
    """The colours of kinds, and of backends by their names."""
    backends = dict.fromkeys(box.backend for box in boxes if box.kind == BACKEND)
    return FILLS | {name: BACKEND_COLOURS[number % len(BACKEND_COLOURS)] for number, name in enumerate(backends)}


def _fill(box: GraphBox, fills: dict[str, str]) -> str:
    return fills[box.backend if box.kind == BACKEND else box.kind]


def _legend(boxes: Sequence[GraphBox]) -> list[tuple[str, str, str, float]]:
    """Word, fill, stroke and width of each kind of box that there is, and of each backend."""
    fills, found = _fills(boxes), []
    words = WORDS | ({OP: "op on the host"} if any(box.kind == BACKEND for box in boxes) else {})
    for kind, name in dict.fromkeys((box.kind, box.backend if box.kind == BACKEND else box.kind) for box in boxes):
        word = words.get(name, name)
        found.append((word, fills[name], STROKES[kind], 44 + len(word) * LETTER))
    return found


def _drawn_legend(legend: list[tuple[str, str, str, float]]) -> Iterator[str]:
    x = float(MARGIN)
    for word, fill, stroke, width in legend:
        yield f'<rect x="{x:.0f}" y="12" width="14" height="14" rx="3" fill="{fill}" stroke="{stroke}"/>'
        yield f'<text x="{x + 20:.0f}" y="23" fill="{TEXT}">{escape(word)}</text>'
        x += width


def _edges(placed: GraphLayout) -> Iterator[str]:
    """The edges, row by row: straight down through their places, and sideways between two rows only."""
    for number, row in enumerate(placed.rows):
        for lower in row:
            ordered = sorted(lower.above, key=lambda spot: spot.x)
            for index, upper in enumerate(ordered):
                end = lower.x
                if lower.box is not None:  # arrows that end at one box do not end in one point
                    end += ((index + 1) / (len(ordered) + 1) - 0.5) * min(lower.width - 12, 40.0 * len(ordered))
                floor = placed.bottoms[number - 1]
                start = floor if upper.box is None else upper.y + upper.height
                tip = ' marker-end="url(#tip)"' if lower.box is not None else ""
                through = f"V{placed.bottoms[number]:.1f}" if lower.box is None else ""
                yield (f'<path d="M{upper.x:.1f} {start:.1f}V{floor:.1f}C{upper.x:.1f} {floor + GAP * 0.6:.1f} {end:.1f} '
                       f'{lower.y - GAP * 0.6:.1f} {end:.1f} {lower.y:.1f}{through}" fill="none" stroke="{EDGE}"{tip}/>')


def _drawn_boxes(placed: GraphLayout, fills: dict[str, str]) -> Iterator[str]:
    longest = max((spot.box.seconds or 0.0 for spot in placed.spots() if spot.box is not None), default=0.0)
    for spot in placed.spots():
        yield from _drawn(spot, fills, longest)


def _drawn(spot: Spot, fills: dict[str, str], longest: float) -> Iterator[str]:
    box = spot.box
    assert box is not None
    x, lines = spot.x - spot.width / 2, shown_lines(box)
    radius = 11 if box.kind in (INPUT, OUTPUT) else 4
    yield f"<g><title>{escape(chr(10).join(box.lines))}</title>"
    yield (f'<rect x="{x:.1f}" y="{spot.y:.1f}" width="{spot.width:.1f}" height="{spot.height:.1f}" rx="{radius}" '
           f'fill="{_fill(box, fills)}" stroke="{STROKES[box.kind]}"/>')
    for number, line in enumerate(lines):
        weight = ' font-weight="bold"' if number == 0 else ""
        yield (f'<text x="{x + 9:.1f}" y="{spot.y + LINE * (number + 1):.1f}" fill="{TEXT}"{weight} xml:space="preserve">'
               f"{escape(line)}</text>")
    if box.seconds is not None and longest:
        bar = max(1.0, (spot.width - 18) * box.seconds / longest)
        yield f'<rect x="{x + 9:.1f}" y="{spot.y + spot.height - 8:.1f}" width="{bar:.1f}" height="4" fill="{TIME}"/>'
    yield "</g>"


def graph_dot(boxes: Sequence[GraphBox], title: str = "") -> str:
    """The graph for Graphviz: ``dot -Tpdf``."""
    names, fills = {box: f"n{number}" for number, box in enumerate(boxes)}, _fills(boxes)
    lines = ["digraph main {", f"  graph [label={_quoted([title])}, labelloc=t, fontname=monospace];",
             "  node [shape=box, style=filled, fontname=monospace, fontsize=10];", f'  edge [color="{EDGE}"];']
    for box in boxes:
        look = ', style="filled,rounded"' if box.kind in (INPUT, OUTPUT) else ""
        colours = f'fillcolor="{_fill(box, fills)}", color="{STROKES[box.kind]}"{look}'
        lines.append(f"  {names[box]} [label={_quoted(shown_lines(box))}, {colours}];")
    lines += [f"  {names[read]} -> {names[box]};" for box in boxes for read in box.reads]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(lines: Sequence[str]) -> str:
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "".join(f"{line}\\l" if len(lines) > 1 else line for line in escaped) + '"'
