"""Output of a running pipeline: the IR before and after passes, and times."""
from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from legato.dialects.module import Module

RULE_WIDTH = 72


@dataclass(frozen=True)
class Instrumentation:
    """The passes before or after which the IR is printed (``print_after_all``: every pass), and whether passes are timed one by one.

    `show` prints a module to text; `stream` receives it (default: standard error).
    """

    print_before: frozenset[str] = frozenset()
    print_after: frozenset[str] = frozenset()
    print_before_all: bool = False
    print_after_all: bool = False
    timing: bool = False
    show: Callable[[Module], str] = str
    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def alone(self, name: str) -> bool:
        """Whether the pass must run by itself, not grouped with its neighbours."""
        return self.timing or self.prints_before(name) or self.prints_after(name)

    def prints_before(self, name: str) -> bool:
        """Whether the IR is printed before the pass."""
        return self.print_before_all or name in self.print_before

    def prints_after(self, name: str) -> bool:
        """Whether the IR is printed after the pass."""
        return self.print_after_all or name in self.print_after

    def dump(self, when: str, name: str, scope: str | None, module: Module) -> None:
        """Prints the IR under a headline like mlir-opt's. `when` is Before, After, or After Failure of."""
        where = f" (external module {scope})" if scope else ""
        print(f"// -----// IR Dump {when} {name}{where} //----- //\n{self.show(module).rstrip()}\n", file=self.stream, flush=True)


def time_report(times: list[tuple[str, float]], total: float | None = None) -> str:
    """A table of (name, seconds): one line per name in order of first use, with count, milliseconds and share.

    `total`: the whole time in seconds, if the names do not cover it.
    """
    rows: dict[str, tuple[int, float]] = {}
    for name, seconds in times:
        count, before = rows.get(name, (0, 0.0))
        rows[name] = (count + 1, before + seconds)
    whole = max(total or 0.0, sum(seconds for _, seconds in rows.values()))
    covered = sum(seconds for _, seconds in rows.values())
    if total is not None and total > covered:
        rows["(the rest)"] = (1, total - covered)
    width = max([len(name) for name in rows] + [len("total")])
    rule = "-" * max(RULE_WIDTH, width + 40)
    lines = [rule, f"  {'time':>9}  {'share':>6}   {'':12}  what", rule]
    for name, (count, seconds) in rows.items():
        share = seconds / whole if whole else 0.0
        bar = "█" * round(12 * share)
        lines.append(f"  {seconds * 1e3:6.1f} ms  {share:6.1%}   {bar:12}  {name}{f'  ({count} runs)' if count > 1 else ''}")
    lines += [rule, f"  {whole * 1e3:6.1f} ms  {1:6.1%}   {'':12}  total", rule]
    return "\n".join(lines)
