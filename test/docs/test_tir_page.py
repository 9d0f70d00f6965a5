"""docs/tir.md: every piece of code runs, and each step is faster than the three loops by what the text says, roughly."""
import re
import time
from pathlib import Path

import numpy as np

import legato
from legato.frontends.script.language.source import remember_text

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tir.md"


def test_the_tutorial_runs():
    speeds: dict[str, float] = {}

    def show(what, sch):
        exe, (a, b) = legato.compile(sch.module), (names["a"], names["b"])
        np.testing.assert_allclose(exe(a, b), a @ b, rtol=1e-4)
        times = []
        for _ in range(5):
            begun = time.perf_counter()
            exe(a, b)
            times.append(time.perf_counter() - begun)
        speeds[what] = 2 * a.shape[0] ** 3 / min(times) / 1e9

    names = {"show": show, "__name__": "tutorial"}
    text = TUTORIAL.read_text()
    source = "".join(line if inside else "\n" for line, inside in lines_of_code(text))
    filename = str(TUTORIAL)
    remember_text(filename, source)
    exec(compile(source, filename, "exec"), names)
    print(speeds)
    assert list(speeds) == ["three loops", "vectors along the rows", "tiles", "accumulators in registers"]
    slow, *_, fast = speeds.values()
    assert fast > 25 * slow  # 180 times where it was measured; the machine of a test may be busy, and have shorter vectors


def lines_of_code(text):
    """Each line, and whether it is code; the line numbers stay those of the page."""
    inside = False
    for line in text.splitlines(keepends=True):
        if re.match(r"```", line):
            inside = line.startswith("```python")
            yield "\n", False
        else:
            yield line, inside
