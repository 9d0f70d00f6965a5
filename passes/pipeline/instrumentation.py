"""Output of a running pipeline: the IR before and after passes, and times."""
from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from legato.core.errors import LegatoError

if TYPE_CHECKING:
    from legato.dialects.module import Module

RULE_WIDTH = 72


@dataclass(frozen=True)
class Instrumentation:
    """The passes before or after which the IR is printed (``print_after_all``: every pass), and whether passes are timed one by one.

    `print_after_change`: after passes that changed the IR only; alone, after all of these. `print_after_failure`: after a pass that
    failed. `show` prints a module to text; `stream` receives it (default: standard error), or with `tree_dir` files in that folder, one a
    dump: ``builtin_module_no-symbol-name/3_cse.mlir``.
    """

    print_before: frozenset[str] = frozenset()
    print_after: frozenset[str] = frozenset()
    print_before_all: bool = False
    print_after_all: bool = False
    print_after_change: bool = False
    print_after_failure: bool = False
    tree_dir: Path | None = None
    timing: bool = False
    show: Callable[[Module], str] = str
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _numbers: Counter[Path] = field(default_factory=Counter, compare=False)  # of files, by folder

    @property
    def is_used(self) -> bool:
        """Whether anything is printed or timed."""
        return bool(self.timing or self.print_before or self.print_after or self.print_before_all or self.print_after_all
                    or self.print_after_change or self.print_after_failure)

    def alone(self, name: str) -> bool:
        """Whether the pass must run by itself, not grouped with its neighbours."""
        return self.timing or self.print_after_failure or self.prints_before(name) or self.prints_after(name)

    def prints_before(self, name: str) -> bool:
        """Whether the IR is printed before the pass."""
        return self.print_before_all or name in self.print_before

    def prints_after(self, name: str) -> bool:
        """Whether the IR is printed after the pass."""
        chosen = self.print_after_all or bool(self.print_after)
        return self.print_after_all or name in self.print_after or (self.print_after_change and not chosen)

    def dump(self, when: str, name: str, scope: str | None, module: Module) -> None:
        """Prints the IR under a headline like mlir-opt's. `when`: ``Before cse``, ``After cse``, ``After cse Failed``; `name`: the pass's;
        `scope`: the external module's, or None."""
        where = f" (external module {scope})" if scope else ""
        text = f"// -----// IR Dump {when}{where} //----- //\n{self.show(module).rstrip()}\n"
        if self.tree_dir is None:
            print(text, file=self.stream, flush=True)
            return
        symbol = re.sub(r"[^\w.-]", "_", scope.replace("@", "")) if scope else "no-symbol-name"
        folder = self.tree_dir / f"builtin_module_{symbol}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self._numbers[folder]}_{name}.mlir").write_text(text)
        self._numbers[folder] += 1


def check_instrumentation(given: Instrumentation | None) -> None:
    """LegatoError for what is given as ``instrumentation=`` and is none."""
    if given is not None and not isinstance(given, Instrumentation):
        raise LegatoError(f"instrumentation= takes an Instrumentation of {__name__}, not {type(given).__name__}")


def time_report(times: list[tuple[str, float]], total: float | None = None,
                parts: Mapping[str, list[tuple[str, float]]] | None = None) -> str:
    """A table of (name, seconds): one line per name in order of first use, with count, milliseconds and share.

    `total`: the whole time in seconds, if the names do not cover it. `parts`: what a name's time consists of, below its line.
    """
    rows = _merged_times(times)
    whole = covered = sum(seconds for _, seconds in rows.values())
    if total is not None and total > covered:
        rows["(the rest)"] = (1, total - covered)
        whole = total
    lines = []
    for name, (count, seconds) in rows.items():
        lines.append(_time_row(name, count, seconds, whole))
        inner = _merged_times((parts or {}).get(name, []))
        lines += [_time_row(f"    {part}", number, spent, whole, bar=False) for part, (number, spent) in inner.items()]
    rule = "-" * max(RULE_WIDTH, max(map(len, lines), default=0))
    head, foot = f"  {'time':>9}  {'share':>6}   {'':12}  what", _time_row("total", 1, whole, whole, bar=False)
    return "\n".join([rule, head, rule, *lines, rule, foot, rule])


def _merged_times(times: list[tuple[str, float]]) -> dict[str, tuple[int, float]]:
    rows: dict[str, tuple[int, float]] = {}
    for name, seconds in times:
        count, before = rows.get(name, (0, 0.0))
        rows[name] = (count + 1, before + seconds)
    return rows


def _time_row(name: str, count: int, seconds: float, whole: float, bar: bool = True) -> str:
    share = seconds / whole if whole else 0.0
    drawn = "█" * round(12 * share) if bar else ""
    return f"  {seconds * 1e3:6.1f} ms  {share:6.1%}   {drawn:12}  {name}{f'  ({count} runs)' if count > 1 else ''}"
