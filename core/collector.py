"""Python's collector of cyclic garbage, in work that makes many objects which stay: it would look at all of them again and again."""
import gc
import sys
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


@contextmanager
def importing() -> Iterator[None]:
    """Context of what may import modules: ``seldom_collecting``, and at the end of imports all objects count as old. Nearly all functions
    and classes stay, and the next collection, that of the young, would look at each of them."""
    known = len(sys.modules)
    with seldom_collecting():
        yield
        if len(sys.modules) != known and not gc.get_freeze_count():     # unfreeze would free what someone else has frozen, too
            gc.freeze()
            gc.unfreeze()   # moves what was frozen to the oldest generation, and looks at none of it
