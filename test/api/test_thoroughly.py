"""Which combinations of parameters quick runs take."""
from itertools import combinations, product

import pytest
from thoroughly import pairs, thorough


@pytest.mark.parametrize("factors, most", [([range(2), range(2), range(2)], 4), ([range(3), range(2), range(3)], 9),
                                           ([range(4), range(3)], 12), ([range(2), [*range(3), *thorough([3, 4])], range(2)], 6)])
def test_all_pairs_meet_in_few_combinations(factors, most):
    found = pairs(*factors)
    everything = [[one.values[0] if hasattr(one, "values") else one for one in values] for values in factors]
    assert [one.values for one in found] == list(product(*everything))
    quick = [one.values for one in found if not one.marks]
    met = {pair for values in quick for pair in combinations(enumerate(values), 2)}
    kept = product(*([one for one in values if not hasattr(one, "values")] for values in factors))
    assert met == {pair for values in kept for pair in combinations(enumerate(values), 2)} and len(quick) <= most
