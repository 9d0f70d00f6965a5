"""docs/tir.md: every piece of code runs, and each step is faster than the three loops by what the text says, roughly."""
import re
from pathlib import Path

from legato.frontends.script.language.source import remember_text

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tir.md"


def test_the_tutorial_runs(capsys):
    source = "".join(line if inside else "\n" for line, inside in lines_of_code(TUTORIAL.read_text()))
    filename = str(TUTORIAL)
    remember_text(filename, source)
    exec(compile(source, filename, "exec"), {"__name__": "tutorial"})
    printed = capsys.readouterr().out
    speeds = {what: float(speed) for what, speed in re.findall(r"^(.+): ([\d.]+) GFLOP/s$", printed, re.MULTILINE)}
    assert list(speeds) == ["three loops", "vectors along the rows", "tiles", "accumulators in registers"]
    slow, *_, fast = speeds.values()
    assert fast > 5 * slow  # 180 times where it was measured; the machine of a test is busy, and may have shorter vectors


def lines_of_code(text):
    """Each line, and whether it is code; the line numbers stay those of the page."""
    inside = False
    for line in text.splitlines(keepends=True):
        if re.match(r"```", line):
            inside = line.startswith("```python")
            yield "\n", False
        else:
            yield line, inside
