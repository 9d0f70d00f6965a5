"""A device with a dialect of its own, a pass and a target, for --load; the dialect is in the module beside this file."""
from coprocessor_ops import Coprocessor, Wait

import legato
from legato import kernels
from legato.core.mlir import ir
from legato.targets.pipelines import cpu_stages


class CountFunctions(legato.ModulePass):
    """Writes the number of functions on the module; a pass that is no dataclass."""

    name = "coprocessor-count"

    def run(self, module, context):
        module.operation.attributes["coprocessor.functions"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), len(module.functions()))


def stages(target):
    return [(name, f"{text},coprocessor-count" if name == "legalized" else text) for name, text in cpu_stages(target)]


DEVICE = legato.Target("coprocessor", parents=("llvm",), stages=stages, dialects=(Coprocessor,))


@legato.legalize("relax.relu", target=DEVICE)
def waiting_relu(k, x, out):
    Wait()
    return kernels.pointwise(k, out, [x], lambda e, x: e.max(x, e.const(0)))


@legato.lower_intrinsic("coprocessor.wait", target=DEVICE)
def nothing_to_wait_for(op):
    return []
