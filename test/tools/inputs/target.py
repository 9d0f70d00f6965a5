"""A user's target, for --load: it has the generic rules, and an option."""
from legato.targets.builtin import GENERIC
from legato.targets.target import Target

ABACUS = Target("abacus", parents=(GENERIC,), options={"beads": 10})
