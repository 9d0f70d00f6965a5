"""Options of targets that say what this machine's GPU has."""
from dataclasses import replace

from legato.targets.builtin import HOST, NONE
from legato.targets.target import Target


def settled(target: Target) -> Target:
    """A target whose options say what ``host`` stands for: for Vulkan the cooperative matrices, dot products and integers of 64 bits
    of this machine's device."""
    if HOST not in (target.options.get("matrices"), target.options.get("dot-products"), target.options.get("int64")):
        return target
    from legato.runtime.vulkan import device, matrices

    given = {}
    if target.options.get("matrices") == HOST:
        shapes, subgroup = matrices.host()
        given = {"matrices": "+".join(shapes) or NONE, "subgroup": target.options["subgroup"] or subgroup or None}
    if target.options.get("dot-products") == HOST:
        given["dot-products"] = str(device.has_dot_products()).lower()
    if target.options.get("int64") == HOST:
        given["int64"] = str(device.has_long_integers()).lower()
    return replace(target, options={**target.options, **given})
