"""Python's collector of cyclic garbage, in work that makes many objects which stay: it would look at all of them again and again."""
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 200_000   # objects made in such work between two collections; a compile of a large model makes about as many that stay
_lock = threading.Lock()
_within = 0       # how many such works are under way
_before = gc.get_threshold()


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Context of such work: the collector runs after many more objects, and as before when the last of them has ended.

    A collector that is off stays off, and one that runs as seldom already is left as it is."""
    global _within, _before
    with _lock:
        _within += 1
        if _within == 1:
            _before = gc.get_threshold()
            if 0 < _before[0] < YOUNG:
                gc.set_threshold(YOUNG, *_before[1:])
    try:
        yield
    finally:
        with _lock:
            _within -= 1
            if _within == 0 and gc.get_threshold()[0] == YOUNG:   # else someone else has said meanwhile how often
                gc.set_threshold(*_before)
