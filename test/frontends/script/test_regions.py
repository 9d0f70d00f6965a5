"""What a block says that it writes is compared with what it does; what cannot be seen is not refused."""
import pytest

import legato
from legato.script import parse

HEAD = '@T.prim_func\ndef k(A: T.Buffer((32, 8), "float32"), B: T.Buffer((32, 8), "float32")):\n'


def block(region, statement, extra=""):
    return (f"{HEAD}    for i, j in T.grid(32, 8):\n        with T.block('B'):\n            vi, vj = T.axis.remap('SS', [i, j])\n{extra}"
            f"            T.reads(A[vi, vj])\n            T.writes({region})\n            {statement}\n")


def tiles(region, shift=0):
    return (f"{HEAD}    for io in range(4):\n        with T.block('B'):\n            vo = T.axis.S(4, io)\n            T.writes({region})\n"
            f"            for ii, j in T.grid(8, 8):\n                B[vo * 8 + ii + {shift}, j] = A[vo * 8 + ii, j]\n")


OUTSIDE = {
    "one place": (block("B[vi, 0]", "B[vi, vj] = A[vi, vj]"), "on axis 1, counted from its begin, from 0 to 7, and it has 1", "B[vi, 0]"),
    "the axes the other way": (block("B[vj, vi]", "B[vi, vj] = A[vi, vj]"), "writes outside of this part of 'B': on axis 0", "B[vj, vi]"),
    "a tile too small": (tiles("B[vo * 8:vo * 8 + 4, 0:8]"), "on axis 0, counted from its begin, from 0 to 7, and it has 4",
                         "B[vo * 8:vo * 8 + 4, 0:8]"),
    "a tile beside": (tiles("B[vo * 8 + 1:vo * 8 + 9, 0:8]"), "on axis 0, counted from its begin, from -1 to 6, and it has 8",
                      "B[vo * 8 + 1:vo * 8 + 9, 0:8]"),
}
INSIDE = {
    "just this": block("B[vi, vj]", "B[vi, vj] = A[vi, vj]"),
    "more than that": block("B[0:32, 0:8]", "B[vi, vj] = A[vi, vj]"),
    "a tile": tiles("B[vo * 8:vo * 8 + 8, 0:8]"),
    "the whole buffer": tiles("B"),
    "one of two parts": block("B[vi, 0], B[vi, vj]", "B[vi, vj] = A[vi, vj]"),
    "under a condition": block("B[vi, 0]", "if vj == 0:\n                B[vi, vj] = A[vi, vj]"),
    "computed": block("B[vi // 2 * 2:vi // 2 * 2 + 2, vj]", "B[vi, vj] = A[vi, vj]"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_write_outside_of_the_region_is_refused(name):
    text, message, under = OUTSIDE[name]
    with pytest.raises(legato.LegatoError) as caught:
        parse(text)
    first, shown, caret = str(caught.value).splitlines()[:3]
    assert message in first
    assert shown[caret.index("^"):].startswith(under)


@pytest.mark.parametrize("name", INSIDE)
def test_a_region_that_may_hold_is_taken(name):
    assert "tir.block" in str(parse(INSIDE[name]).module)
