"""Names of passes that are no more, with what to write in their places: a saved pipeline or a reproducer may hold them."""
from legato.passes.pipeline.options import OptionError, split_options

STAGE = "it is the stage {stage} of a target now: legato-compile --print-pipeline={stage} --target '{target}' prints its passes"
RENAMED: dict[str, tuple[str, dict[str, str]]] = {  # a name to its answer, and the options that the answer repeats, with their defaults
    "tir-lower": (STAGE.replace("{stage}", "llvm"), {"target": "llvm"}),
    "tir-map-threads": (STAGE.replace("{stage}", "outlined"), {"target": "nvvm"}),
    "tir-bufferize": (
        "it is these passes now: tir-prepare-main,tir-tie-results,tir-eliminate-empty-tensors,tir-drop-ties,"
        "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},"
        "canonicalize,cse,canonicalize,tir-drop-results,tir-extract-workspaces{stack-bytes={stack-bytes}},cse", {"stack-bytes": "32768"}),
    "tir-lower-nvvm": (STAGE.replace("{stage}", "nvvm"), {"target": "nvvm"}),
}


def answer(name: str, options: str = "") -> str | None:
    """What stands now for the pass that was called ``name``, and was given these options (text); None for a name that never was."""
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
