"""What a packed function returns is checked, and what it raises arrives at the caller."""
import re

import numpy as np
import pytest
from packed_functions import F, packed, rows

import legato
from legato.script import parse

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
