"""How long a step of sums in registers takes, in multiply-adds: fitted to measured times of tiles on AVX2 and AVX-512."""

IN_FLIGHT = 9   # multiply-adds that must be independent: latency 4, two per cycle, and one to spare
LOAD = 1.2      # a load: slightly fewer are started per cycle
STEP = 2        # the loop itself, and multiply-adds that start late


def step_time(rows: int, vectors: int, loads: float = 0, step: float = STEP) -> float:
    """A step of a tile: ``rows`` elements, each times ``vectors``. ``loads``: how long the vectors take from an outer cache; ``step``: how
    long it takes beside all that."""
    return max(rows * vectors, LOAD * (rows + vectors), loads, IN_FLIGHT) + step
