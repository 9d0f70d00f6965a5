"""Fuzzing at length: `make fuzz`, or this script. Findings go to a folder, each with what reproduces it; a report stands at the end."""
import argparse
import itertools
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("", "frontends", "frontends/script", "regressions/wrong_numbers", "schedule", "targets/gpu")
sys.path[:0] = [str(ROOT), *(str(ROOT / "test" / part) for part in PARTS)]

from campaign import Campaign, Tally  # noqa: E402
from fuzzing import SUBJECTS  # noqa: E402


def coverage(tally: Tally) -> str:
    """What the cases covered: a line for each group of features, the rarest values last."""
    groups: dict[str, list[str]] = {}
    for feature, count in tally.features.most_common():
        group, _, value = feature.partition(" ")
        groups.setdefault(group, []).append(f"{value or '-'} {count}")
    return "\n".join(f"  {group} ({len(values)}): {', '.join(values)}" for group, values in sorted(groups.items()))


def report(name: str, tally: Tally, seconds: float, folder: Path) -> str:
    """The page about one subject."""
    kinds = ", ".join(f"{kind} {count}" for kind, count in tally.kinds.most_common())
    lines = [f"{name}: {tally.count} programs in {seconds:.0f} s: {kinds or 'none'}", coverage(tally)]
    lines += [f"  {count:5} {text}" for text, count in tally.refusals.most_common(40)]
    for seed, outcome in sorted(tally.findings.items()):
        last = outcome.text.strip().splitlines() or [""]
        lines.append(f"  {outcome.kind}: {folder}/{name}-{seed}: {last[-1][:160]}")
    return "\n".join(line for line in lines if line)


def run(name: str, seeds: Iterable[int], seconds: float, campaign: Campaign, together: int) -> Tally:
    """One subject, with a progress line where a terminal shows it."""
    started, tally, shown = time.monotonic(), Tally(), 0.0
    for tally in campaign.run(iter(seeds), seconds, together):
        now = time.monotonic()
        if now - shown > (1 if sys.stderr.isatty() else 60):
            shown = now
            line = f"{name}: {tally.count} programs, {len(tally.findings)} findings, {now - started:.0f} of {seconds:.0f} s"
            print(f"\r{line}" if sys.stderr.isatty() else line, end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(report(name, tally, time.monotonic() - started, campaign.folder), flush=True)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="*", choices=[[], *SUBJECTS], metavar="SUBJECT", help=f"of {', '.join(SUBJECTS)} (default: all)")
    parser.add_argument("--minutes", type=float, default=60, help="for all subjects together (default: %(default)s)")
    parser.add_argument("--count", type=int, help="programs of each subject at most (default: as many as the minutes allow)")
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the next has the next number (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=120, help="seconds of the processor; a program that takes more is hung "
                        "(default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--together", type=int, default=8, help="programs that are compiled as one (default: %(default)s)")
    parser.add_argument("--target", default="", help="for which programs are compiled, such as vulkan, or nvvm{approx=true}, on the "
                        "stand-in for its driver (default: CPUs of several levels)")
    parser.add_argument("-o", dest="folder", type=Path, default=Path("build/fuzz"), help="for findings (default: %(default)s)")
    options = parser.parse_args()
    names = options.subjects or list(SUBJECTS)
    found = 0
    for name in names:
        seeds = itertools.count(options.seed) if options.count is None else range(options.seed, options.seed + options.count)
        campaign = Campaign(name, options.folder, options.limit, options.jobs, options.target)
        found += len(run(name, seeds, options.minutes * 60 / len(names), campaign, options.together).findings)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
