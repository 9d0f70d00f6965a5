"""Native functions for test_native.py."""
from typing import Annotated

from legato.codegen.native.language import (
    Inline,
    Int32,
    ModelList,
    Pointer,
    Struct,
    Text,
    Words,
    code_of,
    model,
    model_has,
    snprintf,
    stack,
    use_model,
)

LIMIT = 3


def arithmetic(a: int, b: int) -> int:
    return (a + b) * (a - b) - (-a & b) + (a | 5) + (b >> 1) + (a << 2)


def floor_division(a: int, b: int) -> int:
    return a // b


def short_circuit(a: int, b: int) -> int:
    if (b != 0 and a // b > 1) or not (a < b):
        return 1
    elif a == LIMIT:
        return 2
    return 3


def joins(a: int, b: int) -> int:
    result = a
    other = 0
    if a > b:
        if b < 0:
            result += 1
        else:
            return -1
        other = b
    else:
        result -= b
    return result * 1000 + other


def loops(a: int, b: int) -> int:
    total = 0
    for i in range(a, b):
        for k in reversed(range(LIMIT)):
            total = total * 3 + i - k
            if total > 100000 or total < -100000:
                return total
    n = a
    while n > 0 and n != b:
        n -= 2
        total += n
    return total


def chooses(a: int, b: int) -> int:
    return (a if a > b else b // LIMIT) + int((a if b else -a) == 2)


def booleans(a: int, b: int) -> int:
    same = True
    for i in range(LIMIT):
        same = same & ((a == i) | (b > i))
    return helper(a, same or a < b)


def helper(a: int, yes: bool) -> int:
    return a + 1 if yes and not a == 4 else -a


ON_NUMBERS = (arithmetic, floor_division, short_circuit, joins, loops, chooses, booleans)


class Mixed(Struct):
    small: Int32
    large: int
    pair: Annotated[Words, Inline(2)]
    last: Int32


def sum_of(rows: Mixed, count: int) -> int:
    total = 0
    for i in range(count):
        row = rows[i]
        total += row.small + row.large + row.pair[1] + row.last
        row.small -= 1
    return total


def write(to: Text, n: int) -> int:
    name = Text("even" if n & 1 == 0 else "odd")
    return snprintf(to, 64, f"100%: {n} is '{name}'")


def unknown_statement() -> None:
    raise ValueError


def unknown_name() -> int:
    return missing  # noqa: F821


def unknown_field(pair: Mixed) -> int:
    return pair.third


def two_types(n: int) -> int:
    if n:
        p = Pointer(0)
    else:
        p = n
    return int(p)


def behind_return(n: int) -> int:
    return n
    n = 2


def stack_in_loop(n: int) -> int:
    for _ in range(n):
        stack(Words)[0] = 1
    return 0


def known_in_a_branch(n: int) -> int:
    if n:
        m = 1
    return m  # pyright: ignore[reportPossiblyUnboundVariable]


def breaks(n: int) -> int:
    while n > 0:
        break
    return n


LIST = ModelList()
ROW, ABSENT = LIST.table(Mixed, "test.row"), LIST.table(Mixed, "test.absent")


@LIST.function("test.twice")
def twice(n: int) -> int: ...


def of_its_model(n: int) -> int:
    if model_has(ABSENT):
        return ABSENT.large
    return by_a_callee(n) if model_has(ROW) else -1


def by_a_callee(n: int) -> int:
    return ROW.large + twice(n)


def kept_model(to: Words) -> int:
    to[0] = int(model())
    return int(code_of(by_its_address))


def by_its_address(kept: Words, n: int) -> int:
    use_model(Words(kept[0]))
    return by_a_callee(n)


def address_of_what_needs_it() -> int:
    return int(code_of(by_a_callee))


def two_models(kept: Words) -> int:
    use_model(Words(kept[0]))
    use_model(Words(kept[0]))
    return ROW.large


def no_models_own(n: int) -> int:
    return 1 if model_has(n) else 0
