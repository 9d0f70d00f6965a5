"""Two backends for the tests of partitioning: 'npu' takes convolutions and matmuls with what follows, 'dsp' elementwise ops and pools."""
from legato import Backend, ModulePass
from legato.artifacts import PythonFunction
from legato.patterns import composite, is_const, is_op, outputs, wildcard

conv = is_op("relax.conv2d")(wildcard(), is_const()).named("conv")
biased = conv.optional(lambda x: is_op("relax.add")(x, is_const()))
x = wildcard()


def ungrouped(match):
    return match["conv"].attrs["groups"] == 1 or "grouped convolutions are for the host"


class NPU(Backend):
    name = "npu"
    patterns = [
        composite("qk", outputs(is_op("relax.matmul")(x, is_const()), is_op("relax.matmul")(x, is_const()))),
        composite("conv2d_relu", is_op("relax.relu")(biased), ungrouped),
        ("conv2d", biased, ungrouped),
        ("matmul", is_op("relax.matmul")(wildcard(), is_const())),
    ]

    def codegen(self, module, options):
        return PythonFunction("test_backend:run")


class DSP(Backend):
    name = "dsp"
    patterns = [
        ("tail", is_op("relax.add", "relax.multiply")(wildcard(), wildcard()).repeated(lambda x: is_op("relax.exp", "relax.tanh")(x))),
        ("exp", is_op("relax.exp")(wildcard())),
    ]


class VetoSmall(ModulePass):
    """A cost pass: matmuls of fewer than 64 outputs are not worth a call."""

    name = "test-veto-small"

    def run(self, module, context):
        from legato.passes.partition.costs import groups, veto
        for group in groups(module, "npu"):
            if group.composite == "npu.matmul" and group.result_elements() < 64:
                veto(group, "fewer than 64 outputs")
