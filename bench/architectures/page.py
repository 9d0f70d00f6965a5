"""docs/architectures.md: what came of each export, by architecture."""
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .check import SLOW, TOLERANCE, Result
from .ways import EXPORTERS, SIZES, WAYS

HEAD = """# Architectures

Architectures of transformers {transformers}, tiny and with random weights, exported by PyTorch {torch} in six ways: by `torch.onnx.export`
(dynamo) and by its older exporter (script, `dynamo=False`), with fixed sizes, with a free batch, and with all sizes free that the
architecture leaves free (batch, lengths of text and sound, sides of images). Each file is compiled once and called with arguments of up to
eight sets of sizes; the number is the largest max|a-b| / max|b| over all outputs of all calls, beside onnxruntime {onnxruntime} on the same
file.

This page is written by `python -m bench.architectures page`, after `python -m bench.architectures export` and `check`.

"""
TITLES = {"wrong": "Wrong", "failed": "Fails", "crashed": "Crashes", "refused": "Refused", "exporter": "Not exported"}
STATES = {"runs": "", "wrong": "**wrong**", "refused": "refused", "failed": "**fails**", "crashed": "**crashes**", "exporter": "exporter"}


def results_in(folder: Path) -> list[Result]:
    """The results that ``check`` has written, by architecture."""
    return [Result(**json.loads(path.read_text())) for path in sorted(folder.glob("*/*.json"))]


def page(results: Sequence[Result], versions: dict[str, str]) -> str:
    """The page's text."""
    found = {(one.architecture, one.way): one for one in results}
    names = sorted({one.architecture for one in results})
    count = Counter(one.state for one in results)
    tried = len(results) - count["exporter"]
    lines = [HEAD.format(**versions),
             f"Of {len(results)} exports of {len(names)} architectures torch makes {tried} models that onnxruntime runs. Of these "
             f"{count['runs']} "
             f"({100 * count['runs'] / max(tried, 1):.1f} %) run, {count['refused']} are refused, {count['wrong']} are wrong, "
             f"{count['failed'] + count['crashed']} fail or crash. The largest error is {max(one.error or 0.0 for one in results):.0e}; an "
             f"error above {TOLERANCE:.0e} counts as wrong. {_slowest(results)}\n",
             f"| architecture | {' | '.join(f'{way.exporter}, {way.sizes}' for way in WAYS)} |", f"| --- |{' --- |' * len(WAYS)}"]
    lines += [f"| {name} | {' | '.join(_cell(found.get((name, str(way)))) for way in WAYS)} |" for name in names]
    lines += ["", f"*{' / '.join(EXPORTERS)}*: the exporter; *{' / '.join(SIZES)}*: the sizes that are free. *exporter*: torch does not "
              "make a model that onnxruntime runs. A star: with `attn_implementation=\"eager\"`, since the exporter refuses the other.", ""]
    for state, title in TITLES.items():
        rows = [one for one in results if one.state == state]
        if rows:
            lines += [f"## {title}", "", "| architecture | export | reason |", "| --- | --- | --- |"]
            lines += [f"| {one.architecture} | {one.way} | {_text(one.reason)} |" for one in rows] + [""]
    return "\n".join(lines)


def _cell(result: Result | None) -> str:
    if result is None:
        return "not tried"
    text = STATES[result.state] or f"{result.error or 0.0:.0e}"
    return text + ("*" if result.attention == "eager" and result.state == "runs" else "")


def _text(reason: str) -> str:
    """A reason for a cell: without paths of the machine, and not too long."""
    words = [Path(word).name if word.startswith("/") and word.endswith(".onnx") else word for word in reason.split()]
    return " ".join(words)[:220].replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _slowest(results: Sequence[Result]) -> str:
    slowest = max(results, key=lambda one: one.seconds)
    slow = sum(one.seconds > SLOW for one in results)
    return (f"Import and compile take at most {slowest.seconds:.0f} s of processor time ({slowest.architecture}, {slowest.way})"
            + (f"; {slow} take more than {SLOW:.0f} s." if slow else "."))
