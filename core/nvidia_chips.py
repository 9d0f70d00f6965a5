"""The chips of NVIDIA's that LLVM knows by name. Any other name it takes for a chip without features, and aborts on shuffles."""
import re

from legato.core.errors import LegatoError

# by number, what a name may end in: "a": for this chip only, "f": for its family
CHIPS = {**dict.fromkeys((30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89), ("",)), 90: ("", "a"),
         **dict.fromkeys((100, 101, 103, 110, 120, 121), ("", "a", "f"))}


def parse_chip(chip: str) -> tuple[int, str]:
    """The number of a chip, 90 of sm_90a, and what its name ends in. LegatoError for an unknown chip."""
    found = re.fullmatch(r"sm_([1-9]\d*)([af]?)", chip)
    if found is None or found[2] not in CHIPS.get(int(found[1]), ()):
        known = ", ".join(f"sm_{number}{suffix}" for number, suffixes in CHIPS.items() for suffix in suffixes)
        raise LegatoError(f"'{chip}' is no chip of NVIDIA's that Legato compiles for: {known}")
    return int(found[1]), found[2]
