"""Half floats where the machine has no conversions of them: by integer arithmetic, rounded as numpy rounds, without a library's help."""
import ml_dtypes
import numpy as np
import pytest
from assembly import innermost_loops

import legato
from legato import driver
from legato.core.cpu import missing_features
from legato.dialects import Module
from legato.targets.cpu.machine import LEVELS

CPUS = ["x86-64", "x86-64-v2", "x86-64-v3"]  # F16C comes with the last
HERE = [level for level in LEVELS if level in ("x86-64-v3", "x86-64-v4") and not missing_features(level, "")]
SPELLED = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def text(x: np.ndarray, to: str) -> str:
    source = next(name for name, dtype in SPELLED.items() if x.dtype == dtype)
    types = [f"tensor<{'x'.join(map(str, x.shape))}x{element}>" for element in (source, to)]
    return (f'func.func @main(%x: {types[0]} {{relax.name = "x"}}) -> ({types[1]} {{relax.name = "y"}}) {{\n'
            f'%0 = "relax.astype"(%x) {{dtype = {to}}} : ({types[0]}) -> {types[1]}\nreturn %0 : {types[1]} }}')


def cast(cpu: str, x: np.ndarray, to: str) -> np.ndarray:
    return legato.compile(Module.parse(text(x, to)), f"llvm{{cpu={cpu}}}")(x)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """Bit by bit, so that zeros' signs count, but for NaN."""
    assert found.dtype == expected.dtype
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), ~number)
    bits = f"u{found.itemsize}"
    np.testing.assert_array_equal(found[number].view(bits), expected[number].view(bits))


def numbers_between(dtype) -> np.ndarray:
    """In f64: all numbers of a half float type, the middles between neighbours, and what is next to the middles."""
    every = np.sort(np.arange(1 << 16, dtype=np.uint16).view(dtype).astype(np.float64))
    every = every[np.isfinite(every)]
    middles = (every[1:] + every[:-1]) / 2
    spread = np.maximum(np.abs(middles), 1e-30) * 1e-6
    rest = [-0.0, np.inf, -np.inf, np.nan, 65519.99, 65520, 1e30, -1e30, 1e-30, -1e-30]
    return np.concatenate([every, middles, middles - spread, middles + spread, rest])


@pytest.mark.parametrize("cpu", CPUS)
def test_from_f16(cpu):
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    for to in ("f32", "f64"):
        same(cast(cpu, x, to), x.astype(SPELLED[to]))


@pytest.mark.parametrize("cpu", CPUS)
def test_to_f16(cpu):
    x = numbers_between(np.float16)
    with np.errstate(over="ignore"):
        x = x.astype(np.float32)
        same(cast(cpu, x, "f16"), x.astype(np.float16))


@pytest.mark.parametrize("cpu", HERE)
def test_roundings(cpu, tmp_path):
    """Of every number, by an instruction for a vector: LLVM would take them for roundings of halves, and do these one by one."""
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    type_ = "tensor<65536xf16>"
    for name, function in (("ceil", np.ceil), ("floor", np.floor), ("round", np.rint), ("trunc", np.trunc)):
        executable = legato.compile(Module.parse(
            f'func.func @main(%x: {type_} {{relax.name = "x"}}) -> ({type_} {{relax.name = "y"}}) {{\n'
            f'%0 = "relax.{name}"(%x) : ({type_}) -> {type_}\nreturn %0 : {type_} }}'), f"llvm{{cpu={cpu}}}")
        same(executable(x), function(x))
        executable.save(tmp_path / "model.legato")
        assert not any("vroundss" in line or "vrndscaless" in line for loop in innermost_loops(tmp_path / "model.legato") for line in loop)


@pytest.mark.parametrize("cpu", CPUS)
def test_scalars_constants_and_odd_sizes(cpu):
    """1 / sqrt(x * 2 + 1) in halves, of sizes that are no multiple of a vector's."""
    for shape in ([], [1], [37], [3, 5]):
        type_ = f"tensor<{''.join(f'{size}x' for size in shape)}f16>"
        op = lambda name, *operands: f'"relax.{name}"({", ".join(operands)}) : ({", ".join([type_] * len(operands))}) -> {type_}'  # noqa: B023,E731
        module = Module.parse(f"""func.func @main(%x: {type_} {{relax.name = "x"}}) -> ({type_} {{relax.name = "y"}}) {{
            %two = "relax.constant"() {{value = dense<2.0> : {type_}}} : () -> {type_}
            %one = "relax.constant"() {{value = dense<1.0> : {type_}}} : () -> {type_}
            %0 = {op("multiply", "%x", "%two")}
            %1 = {op("add", "%0", "%one")}
            %2 = {op("rsqrt", "%1")}
            return %2 : {type_} }}""")
        x = np.abs(np.random.default_rng(0).standard_normal(shape)).astype(np.float16)
        found = legato.compile(module, f"llvm{{cpu={cpu}}}")(x)
        np.testing.assert_allclose(found.astype(np.float32), 1 / np.sqrt(x.astype(np.float32) * 2 + 1), rtol=2e-3)


@pytest.mark.parametrize("cpu", [*CPUS, None])
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_steps_round_in_between(cpu, element):
    """(x * x + x) - x * x: each step is rounded to the half float, so that casts follow each other directly."""
    dtype = np.dtype({"f16": np.float16, "bf16": ml_dtypes.bfloat16}[element])
    type_ = f"tensor<37x{element}>"
    op = lambda name, a, b: f'"relax.{name}"({a}, {b}) : ({type_}, {type_}) -> {type_}'  # noqa: E731
    module = Module.parse(f"""func.func @main(%x: {type_} {{relax.name = "x"}}) -> ({type_} {{relax.name = "y"}}) {{
        %0 = {op("multiply", "%x", "%x")}
        %1 = {op("add", "%0", "%x")}
        %2 = {op("subtract", "%1", "%0")}
        return %2 : {type_} }}""")
    x = np.random.default_rng(0).standard_normal(37).astype(dtype)
    found = np.asarray(legato.compile(module, "llvm" if cpu is None else f"llvm{{cpu={cpu}}}")(x)).view(dtype)
    assert (found == (x * x + x) - x * x).all()


@pytest.mark.parametrize("cpu", CPUS[:2])
def test_no_library_is_called(cpu):
    lowered = driver.lower(Module.parse(text(np.zeros(40, np.float16), "f32")), f"llvm{{cpu={cpu}}}")
    assert "half" not in driver.llvm_ir(lowered)
