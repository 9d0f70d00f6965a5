"""R.call_packed and R.call_dps_packed: what comes back, what is given, sizes that depend on data."""
import re

import numpy as np
import pytest
import tvm_ffi

import legato
from legato.script import I, R, T, parse, print_script

F = "float32"


def packed(name):
    return lambda function: tvm_ffi.register_global_func(f"legato.test.{name}", function, override=True)


@packed("positive_rows")
def positive_rows(x):
    x = np.from_dlpack(x)
    return x[x[:, 0] > 0]


def rows(n=7):
    return np.random.default_rng(n).standard_normal((n, 4)).astype(F)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@I.ir_module
class Everything:
    @T.prim_func
    def scale(x: T.handle, y: T.handle):
        m = T.int64()
        X = T.match_buffer(x, (m, 4), F)
        Y = T.match_buffer(y, (m, 4), F)
        for i, j in T.grid(m, 4):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", 4), F)):
        m = T.int64()
        y = R.call_packed("legato.test.positive_rows", x, sinfo_args=R.Tensor((m, 4), F))
        z = R.nn.softmax(y + 1.0)
        w = R.concat([z, z], axis=0)
        flat = R.reshape(w, (m * 8,))
        scaled = R.call_tir(Everything.scale, (y,), R.Tensor((m, 4), F))
        total = R.sum(flat)
        filled = R.full(R.shape([m, 2]), R.const(3, F), F)
        return flat, scaled, total, filled


@pytest.fixture(scope="module")
def everything():
    return legato.compile(Everything)


@pytest.mark.parametrize("n", [1, 7, 300])
def test_all_that_follows_may_use_a_size_that_depends_on_data(everything, n):
    x = rows(n)
    y = x[x[:, 0] > 0]
    z = softmax(y + 1)
    for found, expected in zip(everything(x), (np.concatenate([z, z]).reshape(-1), 2 * y, 2 * len(y), np.full((len(y), 2), 3))):
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_no_row_at_all(everything):
    flat, scaled, total, filled = everything(-np.abs(rows()))
    assert (flat.shape, scaled.shape, filled.shape, total) == ((0,), (0, 4), (0, 2), 0)


@packed("arguments")
def arguments(x, *others):
    arguments.given = others
    return x


@R.function
def passes_constants(x: R.Tensor(("n", 4), F)):
    n = T.int64()
    a = R.call_packed("legato.test.arguments", x, 3, 2.5, "a \"text\" \\ ü", True, R.shape([n * 2, 4]), R.prim_value(n + 1), n // 2,
                      sinfo_args=R.Tensor((n, 4), F))
    return R.add(a, x)


def test_constants_shapes_and_sizes_as_arguments():
    x = rows(5)
    np.testing.assert_array_equal(legato.compile(passes_constants)(x), x + x)
    *plain, shape, more, half = arguments.given
    assert plain == [3, 2.5, "a \"text\" \\ ü", True] and type(plain[3]) is bool
    assert tuple(shape) == (10, 4) and (more, half) == (6, 2)


@packed("scaled_into")
def scaled_into(x, factor, name, out):
    assert name == "by"
    np.from_dlpack(out)[:] = np.from_dlpack(x) * factor


@R.function
def dps_with_constants(x: R.Tensor(("n", 4), F)):
    return R.call_dps_packed("legato.test.scaled_into", (x, 2.5, "by"), out_sinfo=R.Tensor(("n", 4), F))


def test_constants_in_destination_passing_style():
    x = rows()
    np.testing.assert_array_equal(legato.compile(dps_with_constants)(x), x * np.float32(2.5))


@packed("split")
def split(x, at):
    x = np.from_dlpack(x)
    return x[:at], np.arange(len(x), dtype="int64"), x[at:].T


@R.function
def several(x: R.Tensor(("n", 4), F)):
    a, i, b = R.call_packed("legato.test.split", x, 2, ty_args=R.Tuple(
        R.Tensor((2, 4), F), R.Tensor(("n",), "int64"), R.Tensor((4, "k"), F)))
    return a, i, R.exp(b)


def test_several_results_which_are_views_of_an_argument_and_not_contiguous():
    x = rows()
    a, i, b = legato.compile(several)(x)
    np.testing.assert_array_equal(a, x[:2])
    np.testing.assert_array_equal(i, np.arange(7))
    np.testing.assert_allclose(b, np.exp(x[2:].T), rtol=1e-6)


@R.function
def rank_first(x: R.Tensor(("n", 4), F)):
    m = T.int64()
    y = R.call_packed("legato.test.positive_rows", x, sinfo_args=R.Tensor(dtype=F, ndim=2))
    z = R.match_cast(y, R.Tensor((m, 4), F))
    return R.call_packed("legato.test.arguments", R.exp(z), R.shape([m]), sinfo_args=(R.Tensor((m, 4), F),))


def test_match_cast_gives_the_size_its_name():
    x = rows()
    y = x[x[:, 0] > 0]
    np.testing.assert_allclose(legato.compile(rank_first)(x), np.exp(y), rtol=1e-6)
    assert tuple(arguments.given[0]) == (len(y),)


@R.function
def keeps_positive(x: R.Tensor(("n", 4), F)):
    m = T.int64()
    return R.call_packed("legato.test.positive_rows", x, sinfo_args=R.Tensor((m, 4), F))


@R.function
def calls_twice(x: R.Tensor(("n", 4), F), y: R.Tensor(("k", 4), F)):
    return R.concat([keeps_positive(x), keeps_positive(y)], axis=0), keeps_positive(keeps_positive(x))


def test_a_function_called_twice_has_sizes_of_its_own():
    x, y = rows(7), rows(20)
    both, once = legato.compile(calls_twice)(x, y)
    np.testing.assert_array_equal(both, np.concatenate([x[x[:, 0] > 0], y[y[:, 0] > 0]]))
    np.testing.assert_array_equal(once, x[x[:, 0] > 0])


calls = []


@packed("effect")
def effect(x, name):
    calls.append((name, np.from_dlpack(x).copy()))


@R.function
def with_effects(x: R.Tensor((3,), F)):
    R.call_packed("legato.test.effect", x, "first", sinfo_args=R.Tuple())
    y = R.exp(x)
    R.call_packed("legato.test.effect", y, "second", sinfo_args=(R.Object(),))
    R.call_packed("legato.test.effect", y, "second", sinfo_args=(R.Object(),))
    return y


def test_calls_for_their_effects_are_neither_merged_nor_removed():
    x = np.arange(3, dtype=F)
    legato.compile(with_effects)(x)
    assert [name for name, _ in calls] == ["first", "second", "second"]
    np.testing.assert_allclose(calls[1][1], np.exp(x), rtol=1e-6)


COUNT = []


@packed("counted")
def counted(x):
    COUNT.append(1)
    return np.from_dlpack(x) * 2


@pytest.mark.parametrize(("word", "expected"), [("call_packed", 3), ("call_pure_packed", 1)])
def test_only_pure_functions_are_merged_and_removed(word, expected):
    module = parse(f'''
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    n = T.int64()
    a = R.{word}("legato.test.counted", x, sinfo_args=R.Tensor((n, 4), "float32"))
    b = R.{word}("legato.test.counted", x, sinfo_args=R.Tensor((n, 4), "float32"))
    c = R.{word}("legato.test.counted", b, sinfo_args=R.Tensor((n, 4), "float32"))
    return R.add(a, b)
''')
    x = rows()
    COUNT.clear()
    np.testing.assert_array_equal(legato.compile(module)(x), 4 * x)
    assert len(COUNT) == expected


MATCHES = '''
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("k",), "float32")):
    n, k, m, j = T.int64(), T.int64(), T.int64(), T.int64()
    p = R.call_packed("legato.test.positive_rows", x, sinfo_args=R.Tensor((m, 4), "float32"))
    {}
'''


def run(text, *arrays):
    return legato.compile(parse(MATCHES.format(text)))(*arrays)


def test_a_match_that_calls_check():
    x, found = rows(), int((rows()[:, 0] > 0).sum())
    text = 'z = R.match_cast(R.reshape(R.concat([p, p]), (m * 8,)), R.Tensor((k,), "float32"))\n    return R.add(z, y)'
    np.testing.assert_allclose(run(text, x, np.ones(found * 8, F)), np.concatenate([x[x[:, 0] > 0]] * 2).reshape(-1) + 1, rtol=1e-6)
    with pytest.raises(ValueError, match=rf"'legato.test.positive_rows' must return .* but float32\[{found}, 4\] came back|match_cast"):
        run(text, x, np.ones(found * 8 + 8, F))


def test_a_match_of_sizes_that_two_inputs_give():
    text = 'q = R.match_cast(x, R.Tensor((k * 2, 4), "float32"))\n    return q, y'
    run(text, rows(6), np.ones(3, F))
    with pytest.raises(ValueError, match=r"argument 1 'y' must be|argument 0 'x' must be"):
        run(text, rows(7), np.ones(3, F))


def test_a_match_of_products():
    text = 'z = R.match_cast(y, R.Tensor((n * m,), "float32"))\n    return R.reshape(z, (n, m))'
    x, found = rows(), int((rows()[:, 0] > 0).sum())
    assert run(text, x, np.ones(7 * found, F)).shape == (7, found)
    message = rf"match_cast of 'y' .*needs dimension 0, k, to be m \* n \(expected {7 * found}, found {7 * found + 1}\)"
    with pytest.raises(ValueError, match=message):
        run(text, x, np.ones(7 * found + 1, F))


def test_a_match_of_a_shape():
    text = 's = R.match_cast(R.shape_of(p), R.Shape([j, 4]))\n    return R.full(R.shape([j, 2]), R.const(1, "float32"), "float32")'
    assert run(text, rows(), np.ones(1, F)).shape == ((rows()[:, 0] > 0).sum(), 2)
    with pytest.raises(legato.LegatoError, match="size 1 is 4, never 5"):
        run(text.replace("[j, 4]", "[j, 5]"), rows(), np.ones(1, F))


WRONG = {   # what comes back, the error's type, and its text
    "no tensor": (lambda x: 3, TypeError, r"'legato.test.wrong' must return float32\[m, 4\], but an int came back"),
    "nothing": (lambda x: None, TypeError, "but None came back"),
    "dtype": (lambda x: np.zeros((2, 4)), TypeError, r"but float64\[2, 4\] came back: the element type differs"),
    "rank": (lambda x: np.zeros((2, 4, 1), F), ValueError, "the number of dimensions differs"),
    "size": (lambda x: np.zeros((2, 5), F), ValueError, "dimension 1 is 5, not 4"),
    "tuple": (lambda x: (x, x), TypeError, "must return 1 tensor, but 2 came back"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_comes_back_is_checked(case):
    function, kind, message = WRONG[case]
    packed("wrong")(function)
    exe = legato.compile(parse('''
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    return R.exp(R.call_packed("legato.test.wrong", x, sinfo_args=R.Tensor(("m", 4), "float32")))
'''))
    with pytest.raises(kind, match=message):
        exe(rows())


@pytest.mark.parametrize(("size", "message"), [
    ("n", "dimension 0 is 3, but 'n' is 7 in 'x'"), ("n * 2 + 1", "dimension 0 is 3, but 'n' is 7 in 'x'"),
    ("n // 3", "dimension 0 is 3, not 2, which 'n // 3' is"), ("m * 2", "dimension 0 is 3, which no value of 'm' gives")])
def test_sizes_that_are_known_must_agree(size, message):
    packed("wrong")(lambda x: np.zeros((3, 4), F))
    exe = legato.compile(parse(f'''
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    return R.call_packed("legato.test.wrong", x, sinfo_args=R.Tensor(("{size}", 4), "float32"))
'''))
    wanted = f"the packed function 'legato.test.wrong' must return float32[{size}, 4], but float32[3, 4] came back: {message}"
    with pytest.raises(ValueError, match=re.escape(wanted)):
        exe(rows())


def test_one_name_for_two_results_is_one_size():
    packed("wrong")(lambda x: (np.zeros((3, 4), F), np.zeros((2,), F)))
    exe = legato.compile(parse('''
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    return R.call_packed("legato.test.wrong", x, sinfo_args=R.Tuple(R.Tensor(("m", 4), "float32"), R.Tensor(("m",), "float32")))
'''))
    message = r"must return float32\[m\] as result 1, but float32\[2\] came back: dimension 0 is 2, but 'm' is 3 in"
    with pytest.raises(ValueError, match=message):
        exe(rows())


class Own(Exception):
    pass


def test_an_error_of_the_function_arrives_as_it_is():
    def fails(x):
        raise KeyError("its own")

    packed("wrong")(fails)
    exe = legato.compile(parse('''
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    y = R.call_packed("legato.test.positive_rows", x, sinfo_args=R.Tensor(("m", 4), "float32"))
    return R.call_packed("legato.test.wrong", y, sinfo_args=R.Tensor(("m", 4), "float32"))
'''))
    for _ in range(3):
        with pytest.raises(KeyError, match="its own"):
            exe(rows())


REFUSED = {
    "no types": ('R.call_packed("f", x)', "R.call_packed"),
    "no name": ("R.call_packed(x, x, sinfo_args=R.Tensor((4,), \"float32\"))", "calls a packed function by its name"),
    "a list": ('R.call_packed("f", x, (x, x), sinfo_args=R.Tensor((4,), "float32"))', "takes tensors, numbers, texts"),
    "no rank": ('R.call_packed("f", x, sinfo_args=R.Tensor(dtype="float32"))', "the rank has to be known"),
    "no dtype": ('R.call_packed("f", x, sinfo_args=R.Tensor((4,)))', "type of the elements is missing"),
    "text with a zero": ('R.call_packed("f", x, "a\\0b", sinfo_args=R.Tensor((4,), "float32"))', "texts end there"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_the_script(case):
    text, message = REFUSED[case]
    with pytest.raises(legato.LegatoError, match=message):
        parse(f'@R.function\ndef main(x: R.Tensor((4,), "float32")):\n    return {text}\n')


def test_a_missing_function_is_named_with_its_caller():
    module = parse('''
@R.function
def main(x: R.Tensor((4,), "float32")):
    found = R.call_packed("legato.test.positive_row", x, sinfo_args=R.Tensor((4,), "float32"))
    return R.exp(found)
''')
    message = (r"calls the packed function 'legato.test.positive_row', which is not there; did you mean legato.test.positive_rows.*"
               r"It is called for 'found'. Register it before .*tvm_ffi.register_global_func")
    with pytest.raises(legato.LegatoError, match=message):
        legato.compile(module)


PRINTED = {
    "constants": passes_constants, "in destination-passing style": dps_with_constants, "several results": several, "rank first": rank_first,
    "effects": with_effects}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_calls_parse_to_the_same(name):
    module = PRINTED[name].module()
    assert str(parse(print_script(module))) == str(module)


def test_a_printed_match_checks_again():
    text = print_script(parse(MATCHES.format('z = R.match_cast(y, R.Tensor((n * m,), "float32"))\n    return R.reshape(z, (n, m))')))
    assert 'R.match_cast(y, R.Tensor(("m * n",), "float32"))' in text
    exe, x, found = legato.compile(parse(text)), rows(), int((rows()[:, 0] > 0).sum())
    assert exe(x, np.ones(7 * found, F)).shape == (7, found)
    with pytest.raises(ValueError, match="needs dimension 0"):
        exe(x, np.ones(7 * found + 1, F))


@R.function
def picks(x: R.Tensor(("n", 4), F), y: R.Tensor(("k", 3), F)):
    k, m = T.int64(), T.int64()
    places = R.nonzero(R.greater(R.sum(x, axis=[1]), R.const(0, F)))
    rows = R.match_cast(R.reshape(places, (R.shape_of(places)[1],)), R.Tensor((m,), "int64"))
    picked = R.take(x, rows, axis=0)
    both = R.match_cast(picked, R.Tensor((k, 4), F))
    return R.matmul(both, R.full((4, m), R.const(1, F), F)), R.concat([both, y], axis=1)


def test_the_size_that_an_op_counts_can_be_matched():
    x = rows(9)
    kept = x[x.sum(1) > 0]
    y = np.ones((len(kept), 3), F)
    product, both = legato.compile(picks)(x, y)
    np.testing.assert_allclose(product, kept @ np.ones((4, len(kept)), F), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(both, np.concatenate([kept, y], 1))
    with pytest.raises(ValueError, match=r"the match_cast of 'picked' \(test_packed.py:\d+\) needs dimension 0, nonzero, to be k"):
        legato.compile(picks)(x, np.ones((len(kept) + 1, 3), F))


def test_distinct_elements():
    module = parse('''
@R.function
def main(x: R.Tensor((3, 4), "int32")):
    values, inverse, counts = R.unique(x, return_inverse=True, return_counts=True)
    return values, inverse, R.multiply(R.astype(values, "int64"), counts)
''')
    x = np.array([[5, 1, 1, -2], [5, 5, 0, 1], [1, 1, 1, 7]], np.int32)
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    for found, expected in zip(legato.compile(module)(x), (values, inverse.reshape(-1), values * counts), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_constants_of_all_types_as_operands():
    module = parse('''
@R.function
def main(x: R.Tensor((2,), "bool"), y: R.Tensor((2,), "uint8")):
    return R.concat([R.const([True, False], "bool"), x], axis=0), R.concat([R.const([200, 3], "uint8"), y], axis=0)
''')
    found = legato.compile(module)(np.array([False, True]), np.array([1, 255], np.uint8))
    assert [f.tolist() for f in found] == [[True, False, False, True], [200, 3, 1, 255]]
