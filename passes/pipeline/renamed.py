"""Names of removed passes, with their replacements, for saved pipelines and reproducers."""
from legato.passes.pipeline.options import OptionError, split_options

STAGE = "it is the stage {stage} of a target now: legato-compile --print-pipeline={stage} --target '{target}' prints its passes"
RENAMED: dict[str, tuple[str, dict[str, str]]] = {  # name: the replacement, and the options it repeats with their defaults
    "tir-lower": (STAGE.replace("{stage}", "llvm"), {"target": "llvm"}),
    "tir-map-threads": (STAGE.replace("{stage}", "outlined"), {"target": "nvvm"}),
    "tir-bufferize": (
        "it is these passes now: tir-prepare-main,tir-tie-results,tir-eliminate-empty-tensors,tir-drop-ties,"
        "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},"
        "canonicalize,cse,canonicalize,tir-drop-results,tir-extract-workspaces{stack-bytes={stack-bytes}},cse", {"stack-bytes": "32768"}),
    "tir-lower-nvvm": (STAGE.replace("{stage}", "nvvm"), {"target": "nvvm"}),
}


def answer(name: str, options: str = "") -> str | None:
    """The replacement for the removed pass ``name`` with these options (text); None for a name that never was a pass."""
    if name not in RENAMED:
        return None
    text, values = RENAMED[name]
    try:
        given = {key: value for key, value in split_options(options).items() if value is not None}
    except OptionError:
        given = {}
    for key, value in {**values, **given}.items():
        text = text.replace(f"{{{key}}}", value.strip("\"'"))
    return f'there is no pass "{name}" any more; {text}'
