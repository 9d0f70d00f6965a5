"""Options of targets that say what this machine's GPU has."""
from dataclasses import replace

from legato.runtime.vulkan import matrices
from legato.targets.builtin import HOST, NONE
from legato.targets.target import Target


def settled(target: Target) -> Target:
    """A target whose options say what ``host`` stands for: for Vulkan the cooperative matrices of this machine's device."""
    if target.options.get("matrices") != HOST:
        return target
    shapes, subgroup = matrices.host()
    given = {"matrices": "+".join(shapes) or NONE, "subgroup": target.options["subgroup"] or subgroup or None}
    return replace(target, options={**target.options, **given})
