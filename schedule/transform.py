"""Runs a transform script on one kernel."""
import re

from legato.core.diagnostics import PassFailed
from legato.core.mlir import func, interpreter, ir


def sequence(body: str, root: str = "%root") -> str:
    """A transform module with one named sequence; ``body`` refers to the payload, a kernel, as ``root``."""
    return ("module attributes {transform.with_named_sequence} {\n"
            f"transform.named_sequence @__transform_main({root}: !transform.any_op {{transform.readonly}}) {{\n"
            f"{body}\ntransform.yield\n}}\n}}")


def apply_script(body: str, kernel: func.FuncOp) -> None:
    """Runs a transform script on one kernel. PassFailed with the line of the script that failed."""
    text = sequence(body)
    name = kernel.name.value
    try:
        script = ir.Module.parse(text)
        interpreter.apply_named_sequence(kernel.operation, script.body.operations[0], script)
    except (ir.MLIRError, ValueError) as error:
        lines = text.splitlines()
        place = re.search(r'"?-"?:(\d+):\d+', str(error))
        line = f"\n  in: {lines[int(place.group(1)) - 1].strip()}" if place and int(place.group(1)) <= len(lines) else ""
        raise PassFailed(f"the schedule of @{name} failed: {error}{line}") from None
