"""Rules of a user's, for --load."""
import legato
from legato import kernels

NPU = legato.register_target(legato.Target("npu", parents=("llvm",), options={"tiles": 4}))


@legato.legalize("relax.softmax", target="npu", priority=1, when=(kernels.dtype("f16"), kernels.attribute("axis", -1)))
def half_softmax(k, x, out):
    raise AssertionError("its predicate keeps it away")


@legato.legalize("relax.softmax", target="npu")
def small_softmax(k, x, out):
    return legato.Refusal(f"only up to 4 columns, not {x.type.shape[-1]}")


@legato.legalize("relax.exp", target="npu")
def fast_exp(k, x, out):
    return kernels.pointwise(k, out, [x], lambda e, x: e.add(x, x))


@legato.lower_intrinsic("math.exp", target="npu", dtypes=("f32",))
def exp_instruction(op, x):
    return legato.Refusal("not here")
