"""SPIR-V binaries of a module at the stage ``spirv``."""
import re

from legato.core.ir_helpers import find
from legato.core.mlir import gpu, ir
from legato.core.upstream import run_on
from legato.dialects.module import Module
from legato.dialects.tir.markers import DOT_PRODUCT

VERSIONS, SUBGROUP = "vce_triple", '"SubgroupId"'    # of a module its version, capabilities and extensions; a built-in variable
FINISH = "spirv.module(spirv-lower-abi-attrs,spirv-update-vce)"


def binaries(module: Module) -> dict[str, bytes]:
    """The SPIR-V of each kernel, by the name of its entry point."""
    with module.context, ir.Location.unknown():
        apart = ir.Module.create()
        for op in module.body.operations:
            if op.operation.name in ("gpu.module", "spirv.module"):
                apart.body.append(op.operation.clone(ip=False))
        run_on(apart.operation, FINISH)
        for one in find(apart.operation, "spirv.module"):
            declare_subgroups(one)
            use_dot_products(one)
        return {name: code for holder in pairs(apart) for name, code in serialized(holder)}


def declare_subgroups(module: ir.Operation) -> None:
    """Adds the capability of the built-in SubgroupId to those of a module that reads it: spirv-update-vce overlooks it."""
    reads = any(str(op.attributes["built_in"]) == SUBGROUP for op in find(module, "spirv.GlobalVariable") if "built_in" in op.attributes)
    if reads:
        declare(module, "GroupNonUniform")


def use_dot_products(module: ir.Operation) -> None:
    """Puts dot products, and additions of them, in the places of the ops that stand for them."""
    packed = ir.Attribute.parse("#spirv.packed_vector_format<PackedVectorFormat4x8Bit>")
    found = [op for op in find(module, "spirv.BitFieldUExtract") if DOT_PRODUCT in op.attributes]
    for op in found:
        x, y, sums = op.operands
        with ir.InsertionPoint(op), op.location:
            made = ir.Operation.create(f"spirv.{op.attributes[DOT_PRODUCT].value}", [sums.type], [x, y], {"format": packed}).results[0]
            op.results[0].replace_all_uses_with(ir.Operation.create("spirv.IAdd", [sums.type], [made, sums]).results[0])
        op.erase()
    if found:
        declare(module, "DotProduct, DotProductInput4x8BitPacked", "SPV_KHR_integer_dot_product")


def declare(module: ir.Operation, capabilities: str, extensions: str = "") -> None:
    """Adds to the capabilities and extensions of a module."""
    before, own, between, others, after = re.split(r"[\[\]]", str(module.attributes[VERSIONS]))
    both = [f"[{', '.join(filter(None, some))}]" for some in ((capabilities, own), (extensions, others))]
    module.attributes[VERSIONS] = ir.Attribute.parse(f"{before}{both[0]}{between}{both[1]}{after}")


def pairs(module: ir.Module) -> list[ir.Operation]:
    """The gpu.modules, each with the spirv.module that was made of it in the place of its own content: there upstream serializes it."""
    holders = {op.attributes["sym_name"].value: op for op in find(module.operation, "gpu.module")}
    for op in [one.operation for one in module.body.operations if one.operation.name == "spirv.module"]:
        holder = holders[op.attributes["sym_name"].value.removeprefix("__spv__")]
        inside = holder.regions[0].blocks[0]
        for old in list(inside.operations):
            old.operation.erase()
        op.detach_from_parent()
        inside.append(op)
    return list(holders.values())


def serialized(holder: ir.Operation) -> list[tuple[str, bytes]]:
    """The entry point and the binary of one gpu.module."""
    alone = ir.Module.create()
    alone.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    name = holder.attributes["sym_name"].value
    alone.body.append(holder.clone(ip=False))
    run_on(alone.operation, "gpu-module-to-binary")
    (binary,) = find(alone.operation, "gpu.binary")
    return [(name, gpu.ObjectAttr(one).object) for one in ir.ArrayAttr(binary.attributes["objects"])]
