"""Every op of the list x element type x (numbers, vectors) x target."""
import functions
import numpy as np
import pytest
import references
import sweep
from every_float import GRAPH_OPS
from functions import CASES, DTYPES
from scipy import special
from thoroughly import first_of, thorough

from legato.core.ir_helpers import marked
from legato.core.mlir import ir, math, passmanager
from legato.dialects.tir.markers import WEIGHS
from legato.targets.intrinsics.ops import OPS, Ufunc

SPIRV = "#spirv.target_env<#spirv.vce<v1.5, [Shader, Float16, Float64, Int8, Int16, Int64], []>, #spirv.resource_limits<>>"
DOWN = {
    "nvvm": "convert-scf-to-cf,convert-math-to-nvvm,arith-expand{include-bf16=1},convert-vector-to-llvm,convert-to-llvm",
    "vulkan": "convert-scf-to-spirv,convert-math-to-spirv,convert-arith-to-spirv,convert-vector-to-spirv,convert-func-to-spirv",
}
KNOWN = {"nvvm": ("llvm", "nvvm", "builtin"), "vulkan": ("spirv", "builtin")}
# SPIR-V's GLSL has no functions of f64, and no bf16
LACKING = {"nvvm": (), "vulkan": ("f64", "bf16")}


# the functions of f32 differ with the CPU; the others do not
@pytest.mark.parametrize("dtype, target", [
    ("f32", "llvm"), *thorough([*((dtype, "llvm") for dtype in DTYPES if dtype != "f32"), ("f32", "llvm{cpu=x86-64-v3}")], 2)])
def test_on_cpus_errors_are_as_documented(dtype, target):
    documented = sweep.documented()
    for (case, form), (error, where) in sweep.measure([c for c in CASES if c.dtype == dtype], target).items():
        bound = documented.get((case.op.name, dtype), 0)
        assert error <= bound + 0.01, f"{case} {form}: {error:.3g} ulp at {where}, {bound} is documented"


AIMS = {"exp": 1, "log": 1, "sin": 1, "cos": 1, "tanh": 1, "erf": 1}


def test_documented_errors_of_f32_are_small():
    for (name, dtype), bound in sweep.documented().items():
        assert dtype != "f32" or bound <= AIMS.get(name, 2), name
    record = references.recorded()
    for name, aim in {"sigmoid": 1, "silu": 2, "mish": 5, "gelu of operand": 2, "gelu_tanh of operand": 2}.items():
        assert record[name]["ulps"] <= aim, name


ACTIVATIONS = {
    "sigmoid": special.expit, "silu": lambda x: x * special.expit(x), "gelu": lambda x: x * special.erfc(-x / np.sqrt(2)) / 2,
    "gelu_tanh": lambda x: x * special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)), "softplus": lambda x: np.logaddexp(0, x),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
}


@pytest.mark.parametrize("target", first_of(["llvm", "llvm{cpu=x86-64-v3}"]))
def test_activations_have_the_documented_errors(target):
    """At the arguments of the greatest errors, and at numbers of every exponent."""
    record, x = references.recorded(), references.float_bits(np.float32)
    cases = [functions.Case(Ufunc(name, build), "f32") for name, build in GRAPH_OPS.items()]
    compiled = sweep.Compiled(cases, target)
    for case in cases:
        with np.errstate(all="ignore"):
            right = ACTIVATIONS[case.op.name](x.astype(np.float64))
        for form in ("scalar", "vector"):
            found, = sweep.call(compiled, case, form, [x])
            for key, scale in ((case.op.name, ()), (f"{case.op.name} of operand", (x,))):
                errors = sweep.ulps(found, right, np.float32, scale)
                worst = int(np.argmax(errors))
                assert errors[worst] <= record[key]["ulps"] + 0.01, (key, form, x[worst], found[worst], right[worst])


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=x86-64-v3}"])
def test_weights_of_a_softmax(target):
    """Exponentials of no positive number, at every 1009th of them, infinity, NaNs of two payloads, and zeros."""
    bits = np.arange(0x80000000, 0xFF800001, 1009, dtype=np.uint32)
    special = np.array([0, 0x80000000, 0xFF800000, 0x7FC00000, 0x7FC00001, 0xC2AEAC4F, 0xC2AEAC50, 0xC2AEAC51], np.uint32)
    x = np.concatenate([bits, special]).view(np.float32)
    case = functions.Case(Ufunc("weight", lambda e, x: marked(math.exp(x), WEIGHS)), "f32")
    compiled = sweep.Compiled([case], target)
    with np.errstate(all="ignore"):
        right = np.exp(x.astype(np.float64))
    for form in ("scalar", "vector"):
        found, = sweep.call(compiled, case, form, [x])
        assert np.array_equal(np.isnan(found), np.isnan(x))
        known = ~np.isnan(x)
        normal = right[known] >= np.finfo(np.float32).tiny
        assert (found[known][right[known] < np.finfo(np.float32).tiny * (1 - 1e-5)] == 0).all()
        error = np.abs(found[known] - right[known])[normal] / np.spacing(right[known][normal].astype(np.float32))
        beyond = error - x[known][normal] / -25     # of the multiple of ln 2
        assert beyond.max() <= 1.9, (form, beyond.max(), x[known][normal][beyond.argmax()])


def test_all_values_of_16_bits_are_tried():
    for case in CASES:
        if case.op.operands == "x" and case.dtype in ("f16", "i8", "ui16") and case.op.name != "sin":
            size = np.dtype(DTYPES[case.dtype]).itemsize
            assert np.unique(sweep.inputs(case)[0].view(f"u{size}")).size == 1 << 8 * size


@pytest.mark.parametrize("target", DOWN)
def test_elsewhere_everything_is_lowered_to_what_the_target_has(target):
    module, _ = sweep.legalized(target, [c for c in CASES if c.dtype not in LACKING[target]])
    with module.context:
        if target == "vulkan":
            module.operation.attributes["spirv.target_env"] = ir.Attribute.parse(SPIRV)
        passmanager.PassManager.parse(f"builtin.module({DOWN[target]},reconcile-unrealized-casts)").run(module.operation)
    left = []

    def visit(op):
        if op.name.split(".")[0] not in KNOWN[target] or op.name == "builtin.unrealized_conversion_cast":
            left.append(op.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    assert not left and module.operation.verify()


def test_the_document_is_of_this_list():
    text = sweep.DOCUMENT.read_text()
    ways = sweep.ways()
    for op in OPS:
        assert f"| {op.name} | {ways[op.name, 'llvm']} | {ways[op.name, 'nvvm']} | {ways[op.name, 'vulkan']} |" in text, \
            "docs/intrinsics.md is old: python test/targets/intrinsics/sweep.py --write"
    assert "wrong" not in text and len(functions.CASES) > 600


def test_the_list_has_cmath_and_numpys_ufuncs():
    names = {name for op in OPS for name in (op.name, *op.aliases)}
    elsewhere = {"conjugate", "isnat", "matmul", "matvec", "vecdot", "vecmat", "bitwise_invert"}  # of complex numbers, dates, matrices
    ufuncs = {n for n in dir(np) if isinstance(getattr(np, n), np.ufunc) and getattr(np, n).__name__ == n} - elsewhere
    same = {"acos": "arccos", "remainder": "mod"}
    assert sorted(ufuncs - names - set(same)) == []
