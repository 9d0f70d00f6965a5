"""The pool of threads in all orders of its threads' steps: each step of each loop runs once, and the caller waits for all of them."""
from types import SimpleNamespace

import pytest
from interleavings import Execution, Thread, WrongOrderError, explore, generators
from thoroughly import thorough

from legato.codegen.entry import pool


def functions(threads: int, parts: int = 1, **replaced: str):
    """``parts``: of a loop for each thread."""
    seeded = {one.partition("->")[0]: one.partition("->")[2] for one in replaced.values()}
    return generators(pool, seeded, COUNTS=SimpleNamespace(threads=threads), POOL=0, PARTS=parts, POLLS=0)


def client(made, loops: list[int], at_once: bool = False):
    """One caller of some loops one after the other, which ends the pool; ``at_once``: another caller runs a loop meanwhile."""
    def run(execution: Execution) -> Thread:
        yield from made["retain_pool"]()
        for number, steps in enumerate(loops):
            execution.modes[0] = number
            yield from made["parallel"](number, 0, steps)
            ran = sorted(step for code, first, end in execution.parts if code == number for step in range(first, end))
            if ran != list(range(steps)):
                raise WrongOrderError(f"loop {number} of {steps} steps ran the steps {ran}")
            for step in range(steps):
                yield ("read", f"step {step} of loop {number}")
        yield from made["release_pool"]()

    return run


@pytest.mark.parametrize("threads, loops, preemptions, least, parts", [
    (2, [3], 2, 500, 1), (3, [3], 1, 100, 1), *thorough([(2, [4], 2, 500, 2), (2, [2, 2], 2, 1000, 1), (2, [4, 3], 1, 30, 2)], 5)])
def test_each_step_runs_once_in_every_order(threads, loops, preemptions, least, parts):
    made = functions(threads, parts)
    assert least <= explore(made, client(made, loops), preemptions, most=10_000) < 10_000      # all orders with so few preemptions


def test_threads_begin_with_parts_of_their_own():
    """Of two parts the worker takes the second one. It may be late in the loop before, and find the caller's part of the next one first."""
    made, taken = functions(2), []

    def run(execution: Execution) -> Thread:
        yield from client(made, [2, 2])(execution)
        taken.extend(first for (_, first, _), thread in zip(execution.parts, execution.workers, strict=True) if thread == 1)

    explore(made, run, 2, most=10_000)
    assert taken.count(1) > 2 * taken.count(0) > 0


FIELDS = "    pool.steps = steps\n    pool.grain = grain\n    pool.parts = parts\n    pool.done = 0"
TICKETS = """    team = value_at(address(pool.team))
    next_ = 0
    for i in range(team):       # a thread that ends the loop before may take a part of this one; the caller, which is there, has most
        end = (parts * (i + 1) + team - 1) // team
        swap_at(address(pool.tickets[i * LINE]), (end << 32) + next_)
        next_ = end"""
RUN = "            run_part(pool.code, pool.context, first, end)"
SEEDED = {
    "waits for fewer parts": ("wait_for(pool, parts, begin->wait_for(pool, parts - 1, begin", "ran the steps|at once|threads wait"),
    "tickets before the loop": (f"{FIELDS}\n{TICKETS}->{TICKETS}\n{FIELDS}", "at once|ran the steps"),
    "done at the beginning": (f"{RUN}->            add_at(address(pool.done), 1)\n{RUN}\n            computed -= 1",
                              "at once|ran the steps"),
    "counted twice": ("            computed += 1->            computed += 2", "at once|ran the steps|wait for ever"),
    "the mode of the loop before": ("    store_float_mode(address(pool.float_mode))->    pause()", "floating-point mode"),
    "nobody is woken": ("syscall(FUTEX, address(pool.done), FUTEX_WAKE, 1, 0)->pause()", "wait for ever"),
}

@pytest.mark.parametrize("name", SEEDED)
def test_a_seeded_fault_is_found(name):
    change, message = SEEDED[name]
    made = functions(2, change=change)
    with pytest.raises(WrongOrderError, match=message):
        explore(made, client(made, [2, 2]), 2, most=6000)


@pytest.mark.parametrize(("name", "arguments", "place"), [("worker", [0], "loops"), ("wait_for", [0, 2, 0, 1], "done")])
def test_one_of_32_polls_yields_and_looks_at_the_clock(name, arguments, place):
    """Others look at memory only, so that a part that begins is seen after a pause."""
    thread = generators(pool, COUNTS=SimpleNamespace(threads=2), POOL=0)[name](*arguments)
    rounds: list[list[str]] = [[]]
    operation = next(thread)
    while len(rounds) < 4:
        kind, *operands = operation
        if kind == "clock":
            rounds.append([])
        else:
            rounds[-1].append(operands[0] if kind == "load" else kind)
        operation = thread.send(0)
    for one in rounds[:-1]:
        assert (one.count(place), one.count("pause")) == (32, 32 + 1)     # the last is the yield
        assert "futex" not in one
