"""Pieces of HTML for notebooks, and sizes for people."""
from collections.abc import Iterable, Sequence
from html import escape

LINES = 400   # of a text that is folded into a notebook's cell


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table; numbers (int, float) are aligned to the right."""
    def cell(value: object) -> str:
        right = ' style="text-align:right"' if isinstance(value, int | float) else ' style="text-align:left"'
        return f"<td{right}>{escape(f'{value:.3f}' if isinstance(value, float) else str(value))}</td>"

    head = "".join(f'<th style="text-align:left">{escape(one)}</th>' for one in heads)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    title = f'<caption style="text-align:left;white-space:pre-wrap">{escape(caption)}</caption>' if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_folded(title: str, text: str) -> str:
    """A text behind a line to click on; its first lines, if it is long."""
    lines = text.splitlines()
    left = len(lines) - LINES
    shown = "\n".join(lines[:LINES]) + (f"\n... {left} more lines" if left > 0 else "")
    return f"<details><summary>{escape(title)}</summary><pre>{escape(shown)}</pre></details>"


def bytes_text(count: int) -> str:
    """A number of bytes in a unit that suits it: ``90.9 MB``."""
    for unit, width in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= width:
            return f"{count / width:.1f} {unit}"
    return f"{count} bytes"


def counted(count: int, what: str) -> str:
    """``1 kernel``, ``2 kernels``."""
    return f"{count} {what}{'' if count == 1 else 's'}"
