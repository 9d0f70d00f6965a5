"""Kernels of the stage outlined in the forms that lowering gives them, for the stand-in, which lowers them by itself."""
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.passes.gpu.guard_short_indices import SHORT_FORM


def add_short_forms(module, names):
    """The forms of kernels with indices of 32 bits that lowering has added, by the names of all: on the CPU they have 64."""
    with module.context:
        for holder in find(module.operation, "gpu.module"):
            if (name := holder.attributes["sym_name"].value + SHORT_FORM) in names:
                with ir.InsertionPoint(holder):
                    made = holder.clone()
                for op in (made, *find(made, "gpu.func")):
                    op.attributes["sym_name"] = ir.StringAttr.get(name)
