"""The compiler's side: the patterns that the accelerator supports, layouts, code generation."""
import pickle

from legato import Backend
from legato.artifacts import Blob
from legato.dialects import relax
from legato.examples.npu.simulator import pack
from legato.patterns import composite, is_const, is_op, wildcard

conv = is_op("relax.conv2d")(wildcard(), is_const()).named("conv")
biased = conv.optional(lambda x: is_op("relax.add")(x, is_const()))
fused = biased.optional(lambda x: is_op("relax.relu")(x))


def fits(match):
    """Whether the device supports the convolution: one group, constant sizes, f32."""
    if match["conv"].attrs["groups"] != 1:
        return "the accelerator has no grouped convolutions"
    if not all(isinstance(size, int) for size in match["conv"].operands[0].type.dims):
        return "the accelerator wants sizes that are known at compile time"
    return True if str(match.root.type.dtype) == "float32" else "the accelerator computes in f32"


class NPU(Backend):
    """Convolutions, with bias and relu if these follow."""

    name = "npu"
    patterns = [composite("conv2d", fused, fits)]
    # Applies to its own modules only: the host's convolutions keep their layout.
    pipeline = (
        "relax-inline,relax-convert-layout{data-layout=NHWC kernel-layout=HWIO},"
        "relax-fold-constants,relax-canonicalize"
    )

    def codegen(self, module, options):
        """A program for each function."""
        load = "legato.examples.npu.simulator:load"
        programs = {f.name.value: pickle.dumps(program(module, f)) for f in module.functions()}
        return [Blob(data, load, (name,)) for name, data in programs.items()]


def program(module, function):
    """A function of graph ops as instructions of the device; weights are packed into tiles."""
    numbers = {argument: n for n, argument in enumerate(function.arguments)}
    count, steps = len(numbers), []

    def emit(result, name, *operands, **arguments):
        steps.append((name, [numbers[v] for v in operands], arguments))
        numbers[result] = count + len(steps) - 1

    constants = {}
    for op in function.entry_block.operations:
        name, operands = op.operation.name, list(op.operation.operands)
        if name == "func.return":
            return {"inputs": count, "steps": steps, "results": [numbers[v] for v in operands]}
        result = op.operation.results[0]
        if name == "relax.constant":
            constants[result] = module.array(op)
            emit(result, "constant", value=constants[result])
        elif name == "relax.conv2d":
            kernel = constants[operands[1]]  # HWIO
            attrs = relax.attributes_of(op)
            emit(
                result, "conv", operands[0],
                tiles=pack(kernel.reshape(-1, kernel.shape[-1])), channels=kernel.shape[-1],
                kernel=kernel.shape[:2],
                **{key: attrs[key] for key in ("strides", "padding", "dilations")},
            )
        elif name == "relax.permute_dims":
            emit(result, "transpose", operands[0], axes=relax.attributes_of(op)["axes"])
        elif name in ("relax.add", "relax.relu"):
            emit(result, name.removeprefix("relax."), *operands)
        else:
            raise ValueError(f"the accelerator cannot do {name}")
