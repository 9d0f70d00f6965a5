"""``--verify-diagnostics``: compares the diagnostics with those that comments in a test expect. The comments are mlir-opt's:

    // expected-error@+1 {{part of the message}}      also expected-warning, expected-note, expected-remark
    // expected-error-re@above {{op {{[a-z.]+}} is}}  @+N, @-N, @above, @below, @unknown; -re: inner {{...}} are regular expressions
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from legato.core.diagnostics import Diagnostic
from legato.tools.errors import SourceText

DESIGNATOR = re.compile(
    r"expected-(?P<kind>error|note|remark|warning)(?P<re>-re)? *(?:@(?P<at>[+-][0-9]+|above|below|unknown))? *\{\{(?P<text>.*)\}\}$")
IGNORED_NOTES = ("see current operation",)  # a note that MLIR adds; mlir-opt does not when it verifies diagnostics
UNKNOWN = 0


@dataclass
class Expectation:
    """One comment: severity, expected line (UNKNOWN: no position), text, its pattern, and the line of the comment."""

    kind: str
    line: int
    text: str
    pattern: re.Pattern[str]
    comment_line: int
    met: bool = False


def expectations(text: str) -> list[Expectation]:
    """The comments in a text. ``@above`` and ``@below`` refer to the nearest line without such a comment."""
    found: list[Expectation] = []
    below: list[Expectation] = []
    last_code_line = 1
    for number, line in enumerate(text.splitlines(), 1):
        match = DESIGNATOR.search(line.rstrip())
        if match is None:
            for expectation in below:
                expectation.line = number
            below.clear()
            last_code_line = number
            continue
        at = match["at"] or "+0"
        one = Expectation(match["kind"], UNKNOWN, match["text"], _pattern(match["text"], match["re"] is not None), number)
        if at == "above":
            one.line = last_code_line
        elif at == "below":
            below.append(one)
        elif at != "unknown":
            one.line = number + int(at)
        found.append(one)
    return found


def mismatches(expected: list[Expectation], said: Iterable[Diagnostic], source: SourceText) -> list[str]:
    """Descriptions of unexpected diagnostics and of unmet expectations; empty if all match. Marks met ones in `expected`."""
    problems = []
    for diagnostic in (one for whole in said for one in whole.with_notes()):
        if diagnostic.severity == "note" and diagnostic.message.startswith(IGNORED_NOTES):
            continue
        line = diagnostic.position.line if diagnostic.position else UNKNOWN
        candidates = [one for one in expected if not one.met and one.kind == diagnostic.severity and one.line == line]
        match = next((one for one in candidates if one.pattern.search(diagnostic.message)), None)
        if match is not None:
            match.met = True
            continue
        where = source.place(diagnostic.position) if diagnostic.position else f"{source.name} (no place: expect it @unknown)"
        problems.append(f"{where}: error: unexpected {diagnostic.severity}: {diagnostic.message}")
    for one in expected:
        if not one.met:
            about = "" if one.line == UNKNOWN else f" on line {one.line}"
            problems.append(f'{source.name}:{one.comment_line}: error: expected {one.kind} "{one.text}"{about} was not produced')
    return problems


def _pattern(text: str, is_regex: bool) -> re.Pattern[str]:
    if not is_regex:
        return re.compile(re.escape(text))
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile("".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts)))
