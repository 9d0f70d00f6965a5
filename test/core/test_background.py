"""Work in the background: it overlaps, its results and exceptions arrive, and a process that is idle or forks has none of its threads."""
import os
import threading
import time

import pytest

from legato.core import background
from legato.core.background import Background


def test_work_runs_beside_its_caller_and_beside_other_work():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor")
    both = threading.Barrier(3)
    made = [background.begin(lambda: both.wait(20)) for _ in range(2)]
    both.wait(20)
    assert sorted(one.result(20) for one in made) != [0, 0]


def test_all_work_is_done_where_there_is_more_than_threads():
    done: list[int] = []
    made = [background.begin(lambda n=n: done.append(n)) for n in range(100)]
    for one in made:
        one.result(20)
    assert sorted(done) == list(range(100))


def test_an_exception_goes_to_who_asks_for_the_result():
    def fail():
        raise ValueError("no")

    failed = background.begin(fail)
    assert background.begin(lambda: 5).result(20) == 5
    with pytest.raises(ValueError, match="no"):
        failed.result(20)


def test_no_threads_stay():
    own = Background()
    gate = threading.Event()
    made = own.begin(gate.wait)
    assert any(t.name == "legato background" for t in threading.enumerate())
    gate.set()
    made.result(20)
    own.wait()
    assert not own._threads


def test_work_that_follows_soon_starts_no_thread():
    own = Background()
    threads = {own.begin(threading.current_thread).result(20) for _ in range(20)}
    assert len(threads) < 20 or len(os.sched_getaffinity(0)) == 1
    start = time.monotonic()
    own.wait()
    assert not own._threads and time.monotonic() - start < 5


def test_a_fork_waits_and_the_child_can_begin_work():
    slow = threading.Event()
    begun = background.begin(lambda: slow.wait(0.2))
    child = os.fork()
    if child == 0:
        os._exit(0 if begun.done() and background.begin(lambda: 7).result(20) == 7 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_without_threads_the_caller_works(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    own = Background()
    assert own.begin(lambda: threading.current_thread()).result(0) is threading.current_thread()
    assert own.begin(lambda: 3).result(0) == 3


def test_waiting_takes_steps_until_all_is_done():
    taken, go = [], threading.Event()

    def steps():
        yield lambda: taken.append(1)
        yield lambda: (taken.append(2), go.set(), made.result())
        yield lambda: taken.append(3)

    with background.meanwhile(steps()):
        made = background.begin(go.wait)
        background.wait([made])
        assert taken == [1, 2] and made.done()
        background.wait([made])
        assert taken == [1, 2]
    others = background.begin(lambda: time.sleep(0.05))
    background.wait([others])       # without a context
    assert taken == [1, 2] and others.done()


def test_waiting_goes_on_where_steps_end():
    with background.meanwhile(iter([lambda: None])):
        made = background.begin(lambda: time.sleep(0.05))
        background.wait([made])
        assert made.done()
