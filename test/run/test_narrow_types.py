"""Element types of at most 8 bits that are only stored: 8-, 6- and 4-bit floats, integers of 4 and 2 bits. Compiled code against ml_dtypes
and onnx's reference."""
import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import legato
from legato import relax

FLOATS = {"f8E4M3FN": 8, "f8E4M3FNUZ": 8, "f8E5M2": 8, "f8E5M2FNUZ": 8, "f8E8M0FNU": 8, "f6E2M3FN": 6, "f6E3M2FN": 6, "f4E2M1FN": 4}
INTEGERS = {"i4": 4, "i2": 2, "ui4": 4, "ui2": 2}
TYPES = FLOATS | INTEGERS
# before 0.7, ml_dtypes rounds all numbers above the least power of two to the next one
KNOWS_SMALL_POWERS = np.float32(1.25 * 2.0**-127).astype(ml_dtypes.float8_e8m0fnu) == ml_dtypes.float8_e8m0fnu(2.0**-127)
ALL_F16 = np.arange(1 << 16).astype(np.uint16).view(np.float16)


def dtype_of(spelling):
    return legato.core.dtypes.as_dtype(spelling)


def codes(spelling):
    return np.arange(1 << TYPES[spelling]).astype(np.uint8).view(dtype_of(spelling))


def compiled(inputs, body):
    """A model of symbolic sizes: the element types of its inputs, and for each output its type, its input's number and type."""
    def tensor(spelling):
        return f'tensor<?x{spelling}, #relax.dims<["n{spelling}"]>>' if inputs is TYPES else f'tensor<?x{spelling}, #relax.dims<["n"]>>'

    lines = [f'%y{i} = "relax.astype"(%x{j}) {{dtype = {o}}} : ({tensor(s)}) -> {shaped(tensor(s), s, o)}'
             for i, (o, j, s) in enumerate(body)]
    types = [shaped(tensor(s), s, o) for o, _, s in body]
    results = ", ".join(f"%y{i}" for i in range(len(body)))
    arguments = ", ".join(f"%x{j}: {tensor(s)}" for j, s in enumerate(inputs))
    text = [f"func.func @main({arguments}) -> ({', '.join(types)}) {{", *lines, f"return {results} : {', '.join(types)}", "}"]
    return legato.compile(legato.Module.parse("\n".join(text)))


def shaped(tensor, source, target):
    return tensor.replace(f"x{source},", f"x{target},")


def assert_same(found, expected):
    """Equal bits; any NaN equals any other."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    wide, wanted = found.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(wide, wanted)
    np.testing.assert_array_equal(np.signbit(wide[~np.isnan(wanted)]), np.signbit(wanted[~np.isnan(wanted)]))


def test_every_code_is_read():
    exe = compiled(TYPES, [("f32", j, s) for j, s in enumerate(TYPES)])
    for spelling, found in zip(TYPES, exe(*map(codes, TYPES))):
        assert_same(found, codes(spelling).astype(np.float32))


@pytest.mark.parametrize("source", ["f16", "f32", "bf16", "i32"])
def test_every_number_is_rounded_as_ml_dtypes_does(source):
    wide = ALL_F16.astype(np.float32)
    with np.errstate(all="ignore"):
        beside = [np.nextafter(wide, np.float32(end)) for end in (np.inf, -np.inf)]   # next to the middle of two numbers
        powers = np.exp2(np.arange(-149, 128)).astype(np.float32)
        between = [powers * np.float32(1.25), powers * np.float32(1.5)]
        numbers = {"f16": ALL_F16, "f32": np.concatenate([wide, *beside, powers, *between, -powers]),
                   "bf16": ALL_F16.view(ml_dtypes.bfloat16), "i32": np.arange(-70000, 70000).astype(np.int32)}[source]
        targets = FLOATS if source != "i32" else TYPES
        results = compiled([source], [(t, 0, source) for t in targets])(numbers)
        for spelling, found in zip(targets, results):
            # the sign of the zero that stands for NaN in types without NaN is ml_dtypes' affair
            kept = ~np.isnan(numbers.astype(np.float32)) if TYPES[spelling] < 8 else slice(None)
            if spelling == "f8E8M0FNU" and not KNOWS_SMALL_POWERS:
                kept = ~((numbers > 2.0**-127) & (numbers < 1.5 * 2.0**-127))
            assert_same(found[kept], numbers.astype(dtype_of(spelling))[kept])


def test_integers_of_few_bits_wrap():
    numbers = np.arange(-127, 128).astype(np.float32) + np.float32(0.75)
    results = compiled(["f32"], [(t, 0, "f32") for t in INTEGERS])(numbers)
    for spelling, found in zip(INTEGERS, results):
        np.testing.assert_array_equal(found, numbers.astype(np.int32).astype(dtype_of(spelling)))


def model(nodes, inputs, outputs, constants=None, opset=25):
    given, made = ([helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
                    for name, dtype, shape in some] for some in (inputs, outputs))
    initializers = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", given, made, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=12)


@pytest.mark.parametrize("spelling", ["f8E4M3FN", "f8E5M2", "f4E2M1FN", "i4", "ui2"])
def test_what_only_moves_elements(spelling, tmp_path):
    """Movement ops, branches, constants in the IR, in the store and as raw data, a saved model and the IR's text."""
    dtype, rng = dtype_of(spelling), np.random.default_rng(0)
    code = helper.np_dtype_to_tensor_dtype(dtype)
    w = rng.integers(0, 1 << TYPES[spelling], (4, 300)).astype(np.uint8).view(dtype)
    w = w.astype(np.float32).astype(dtype)
    x = rng.integers(-2, 2, (6, 4)).astype(np.float32).astype(dtype)
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("Concat", ["t", "w"], ["c"], axis=1),
        helper.make_node("Slice", ["c", "begin", "end", "axes"], ["s"]),
        helper.make_node("Gather", ["s", "picked"], ["g"], axis=0),
        helper.make_node("Reshape", ["g", "shape"], ["r"]),
        helper.make_node("Identity", ["r"], ["i"]),
        helper.make_node("If", ["condition"], ["y"],
                         then_branch=helper.make_graph([helper.make_node("Identity", ["i"], ["a"])], "a", [],
                                                       [helper.make_tensor_value_info("a", code, None)]),
                         else_branch=helper.make_graph([helper.make_node("Gather", ["i", "back"], ["b"], axis=2)], "b", [],
                                                       [helper.make_tensor_value_info("b", code, None)])),
    ]
    proto = model(nodes, [("x", dtype, ["n", 4]), ("condition", bool, [])], [("y", dtype, None)],
                  {"w": w, "begin": np.array([2]), "end": np.array([205]), "axes": np.array([1]), "picked": np.array([3, 1]),
                   "shape": np.array([7, 29, 2]), "back": np.array([1, 0])})
    part = np.concatenate([x.T, w], 1)[:, 2:205][[3, 1]].reshape(7, 29, 2)
    module = legato.from_onnx(proto)
    module.save(tmp_path / "m.mlir")
    exe = legato.compile(module)
    for condition in (True, False):
        expected = part if condition else part[:, :, ::-1]
        for one in (exe, legato.load(exe.save(tmp_path / "m.legato")), legato.compile(legato.Module.load(tmp_path / "m.mlir"))):
            found = one(x, np.array(condition))
            assert found.dtype == dtype
            np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))


def by_reference(proto, *arrays):
    names = [value.name for value in proto.graph.input]
    return ReferenceEvaluator(proto).run(None, dict(zip(names, arrays)))


@pytest.mark.parametrize("saturate", [0, 1])
def test_cast_of_onnx(saturate):
    targets = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
    code = {name: helper.np_dtype_to_tensor_dtype(np.dtype(getattr(ml_dtypes, name))) for name in targets}
    nodes = [helper.make_node("Cast", ["x"], [name], to=code[name], saturate=saturate) for name in targets]
    nodes += [helper.make_node("CastLike", ["x", "like"], ["y"], saturate=saturate)]
    like = np.zeros(1, ml_dtypes.float8_e5m2)
    proto = model(nodes, [("x", np.float16, ["n"]), ("like", like.dtype, [1])],
                  [*((name, getattr(ml_dtypes, name), ["n"]) for name in targets), ("y", like.dtype, ["n"])])
    for found, expected in zip(legato.compile(legato.from_onnx(proto))(ALL_F16, like), by_reference(proto, ALL_F16, like), strict=True):
        assert_same(found, expected)


@pytest.mark.parametrize("rounding", ["up", "down", "nearest"])
def test_cast_to_powers_of_two(rounding):
    powers = ml_dtypes.float8_e8m0fnu
    nodes = [helper.make_node("Cast", ["x"], [name], to=TensorProto.FLOAT8E8M0, round_mode=rounding, saturate=saturate)
             for saturate, name in enumerate(("free", "saturated"))]
    proto = model(nodes, [("x", np.float32, ["n"])], [("free", powers, ["n"]), ("saturated", powers, ["n"])])
    x = np.concatenate([np.abs(ALL_F16).astype(np.float32), np.float32([1e-40, 7e-39, 3e38, 3.4e38, 1.9e38])])
    for found, expected in zip(legato.compile(legato.from_onnx(proto))(x), by_reference(proto, x), strict=True):
        assert_same(found, expected)


@pytest.mark.parametrize("spelling", ["f8E4M3FN", "f8E5M2FNUZ", "f4E2M1FN", "i4", "ui4", "i2"])
@pytest.mark.parametrize("block", [0, 2])
def test_quantize_and_dequantize(spelling, block):
    dtype, rng = dtype_of(spelling), np.random.default_rng(1)
    x = (rng.standard_normal((3, 8, 4)) * 40).astype(np.float32)
    x[0, 0, 0], x[1, 0, 0] = np.inf, -np.inf
    scale = (rng.random((3, 4, 4) if block else 8) + 0.5).astype(np.float32)
    blocks = {"axis": 1, "block_size": block} if block else {"axis": 1}
    code = helper.np_dtype_to_tensor_dtype(dtype)
    nodes = [helper.make_node("QuantizeLinear", ["x", "scale"], ["q"], output_dtype=code, **blocks),
             helper.make_node("DequantizeLinear", ["q", "scale"], ["y"], **blocks)]
    proto = model(nodes, [("x", np.float32, ["n", 8, 4]), ("scale", np.float32, scale.shape)],
                  [("q", dtype, None), ("y", np.float32, None)])
    if spelling in INTEGERS:  # the reference converts infinities to integers of 32 bits first
        x[0, 0, 0], x[1, 0, 0] = 1e6, -1e6
    for found, expected in zip(legato.compile(legato.from_onnx(proto))(x, scale), by_reference(proto, x, scale), strict=True):
        assert_same(found, expected)


@pytest.mark.parametrize(("source", "target"), [("f32", "i32"), ("f16", "ui16"), ("bf16", "f16"), ("f64", "ui64"), ("i8", "f8E4M3FN"),
                                                ("f8E5M2", "ui8"), ("ui4", "i4"), ("f4E2M1FN", "ui4")])
def test_bitcast(source, target):
    old, new = dtype_of(source), dtype_of(target)
    proto = model([helper.make_node("BitCast", ["x"], ["y"], to=helper.np_dtype_to_tensor_dtype(new))], [("x", old, ["n"])],
                  [("y", new, ["n"])], opset=26)
    x = np.random.default_rng(0).integers(0, 1 << TYPES.get(source, 8), 64).astype(np.uint8).view(old)
    found = legato.compile(legato.from_onnx(proto))(x)
    assert found.dtype == new and found.tobytes() == x.tobytes()


def test_the_least_bits_count():
    """Bits above those of a type, which an array of bytes may have, are ignored."""
    exe = compiled(["ui4"], [("i32", 0, "ui4")])
    np.testing.assert_array_equal(exe(np.array([0xF3, 0x0F], np.uint8).view(ml_dtypes.uint4)), [3, 15])


def test_what_is_refused():
    exe = compiled(["i4"], [("f32", 0, "i4")])
    with pytest.raises(TypeError, match=r"argument 0 'arg0' must be int4\[n\], but uint8\[3\] was given"):
        exe(np.zeros(3, np.uint8))
    bytes_only = compiled(["ui8"], [("f32", 0, "ui8")])
    with pytest.raises(TypeError, match=r"must be uint8\[n\], but int4\[3\] was given"):
        bytes_only(np.zeros(3, ml_dtypes.int4))
    with pytest.raises(TypeError, match=r"must be uint8\[n\], but .* was given: the element type differs"):
        bytes_only(np.zeros(3, ml_dtypes.float8_e5m2))
    proto = model([helper.make_node("Add", ["x", "x"], ["y"], name="/sum")], [("x", ml_dtypes.float8_e5m2, [2])], [("y", np.float32, None)])
    with pytest.raises(legato.LegatoError, match=r"/sum \(Add, opset 25\): operand 'a' must have float or int or uint"):
        legato.from_onnx(proto)
    widths = model([helper.make_node("BitCast", ["x"], ["y"], to=TensorProto.INT16)], [("x", np.float32, [2])],
                   [("y", np.int16, None)], opset=26)
    with pytest.raises(legato.LegatoError, match="float32 has 32 bits and int16 16"):
        legato.from_onnx(widths)


def test_scripts():
    @relax.function
    def main(x: relax.Tensor(("n", 4), "float8_e4m3fn")):
        with relax.dataflow():
            y = relax.permute_dims(x, axes=[1, 0])
            relax.output(y)
        return y

    x = np.arange(8).reshape(2, 4).astype(ml_dtypes.float8_e4m3fn)
    np.testing.assert_array_equal(legato.compile(main)(x).view(np.uint8), x.T.view(np.uint8))


def test_files_pack_their_elements():
    """Packed constants of 6, 4 and 2 bits, as raw data and as numbers."""
    for spelling in ("f6E3M2FN", "f4E2M1FN", "i4", "ui2"):
        array = np.resize(codes(spelling), 7)
        packed = numpy_helper.from_array(array, "w")
        as_numbers = onnx.TensorProto()
        as_numbers.CopyFrom(packed)
        if TYPES[spelling] < 6:
            as_numbers.ClearField("raw_data")
            as_numbers.int32_data.extend(packed.raw_data or packed.int32_data)
        for tensor in (packed, as_numbers):
            graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [],
                                      [helper.make_tensor_value_info("y", packed.data_type, [7])], [tensor])
            proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=12)
            found = legato.compile(legato.from_onnx(proto))()
            assert found.dtype == array.dtype and found.tobytes() == array.tobytes()
