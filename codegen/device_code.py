"""The kernels of a lowered module: their LLVM IR, and their PTX, with a cubin made of it, in the module's own code."""
from legato.codegen.native.body import bytes_text, constant_text
from legato.core.errors import LegatoError
from legato.core.mlir import ir, llvm
from legato.dialects.tir.markers import CHIP, CUBIN

PTX, BINARY = "legato.ptx", "legato.cubin"      # the globals of the entry, codegen/entry/cuda/layouts.py
ALIGNED = "{alignment = 64 : i64}"              # as the driver expects binaries
NO_BINARY = bytes(8)


def device_code(module: ir.Module) -> dict[str, str]:
    """The LLVM IR of each gpu.module of a lowered module, by name. LegatoError for kernels that are no LLVM IR."""
    found = [op for op in module.body.operations if op.operation.name == "gpu.module"]
    other = [inside.operation.name for op in found for inside in op.operation.regions[0].blocks[0].operations
             if not inside.operation.name.startswith("llvm.")]
    if other:
        raise LegatoError(f"LLVM IR is made of kernels in the llvm dialect, and these are {other[0]}: a Vulkan device takes SPIR-V "
                          "(--emit spirv)")
    return {op.attributes["sym_name"].value: translated(op) for op in found}


def translated(module: ir.Module | ir.OpView) -> str:
    """The LLVM IR of a module, or of a gpu.module, in the llvm dialect."""
    with module.operation.context:
        return llvm.translate_module_to_llvmir(module.operation)


def embed_kernels(module: ir.Module) -> None:
    """Puts the PTX of a module's kernels, which its entry loads, into a global in their place, and into another the cubin that is tried
    first, where the target wants one and ptxas is here; of a model without kernels, which copies at most, both are empty, and for other
    targets there are none. LegatoError: see ``ptx.ptx``."""
    kernels = [op for op in module.body.operations if op.operation.name == "gpu.module"]
    named = {op.attributes["sym_name"].value: op for op in module.body.operations if "sym_name" in op.attributes}
    main = named.get("main")
    if main is None or CHIP not in main.attributes or (not kernels and "value" in named[PTX].attributes):     # or they are there already
        return
    from legato.codegen.cubin import assembled
    from legato.codegen.ptx import ptx

    chip = main.attributes[CHIP].value
    text = ptx(list(device_code(module).values()), chip) if kernels else ""
    text, binary = assembled(text, chip) if kernels and CUBIN in main.attributes else (text, None)
    made = [constant_text(PTX, text)]
    if CUBIN in main.attributes:
        made.append(bytes_text(BINARY, binary or NO_BINARY, attributes=ALIGNED))
    with module.context, ir.Location.unknown():
        for op in (*kernels, *(named[name] for name in (PTX, BINARY) if name in named)):
            op.operation.erase()
        for one in made:
            ir.InsertionPoint.at_block_begin(module.body).insert(ir.Operation.parse(one))
