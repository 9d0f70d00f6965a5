"""R.call_packed and R.call_dps_packed: what they are given, which calls are merged, what is refused and printed."""
import numpy as np
import pytest
from packed_functions import F, arguments, packed, rank_first, rows

import legato
from legato.script import R, T, parse, print_script


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
    return np.multiply(np.from_dlpack(x), 2)


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
