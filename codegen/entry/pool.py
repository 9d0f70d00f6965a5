"""Threads for the parallel loops of kernels: a pool for all instances of a model's code, whose idle threads sleep.

A loop's steps are cut into parts. Each thread begins with parts of its own, at the same place in every loop: what it wrote in the loop
before is in its core's cache. Then it takes those that others have not begun. The thread that calls the model takes parts, too, and waits
only for those that another thread has begun: never for a thread that the system has not let run. Where the pool is taken, by another caller
or by the loop around this one, the caller computes all parts itself. Who waits spins shortly, then sleeps: a core that is left idle is
where the system moves a thread that lost its own.
"""
import platform

from legato.codegen.entry.abi import getpid, pthread_create, pthread_join, pthread_sigmask, sched_yield, syscall
from legato.codegen.entry.layouts import COUNTS, LINE, MOST_THREADS, POOL, Pool
from legato.codegen.entry.profile import clock
from legato.codegen.native.language import (
    Pointer,
    Words,
    add_at,
    address,
    code_of,
    pause,
    run_part,
    stack,
    store_float_mode,
    swap_at,
    use_float_mode,
    value_at,
)

INDEX = (1 << 32) - 1       # of a ticket: the next part, below the end of the parts
PARTS = 8                   # parts of a loop for each thread, where it has so many steps
# nanoseconds that a thread without work spins before it sleeps: longer than from one loop of a model to the next, also over a kernel that
# one thread computes; to wake a sleeping one takes about 50 microseconds on a virtual machine
IDLE = 300_000
STRAGGLER = 15_000          # nanoseconds that the caller spins for the last parts, besides the time that one takes
POLLS = 31                  # of so many polls and one, one yields and looks at the clock; a part that begins meanwhile waits
FUTEX = 202 if platform.machine() in ("x86_64", "AMD64") else 98     # the number of the system call
FUTEX_WAIT, FUTEX_WAKE = 128, 129     # of one process
SIG_BLOCK, SIG_SETMASK = 0, 2


def parallel(code: Pointer, context: Words, steps: int) -> None:
    """Runs ``code(context, first, end)`` on parts of the steps 0 to ``steps``, by the threads of the pool."""
    pool = POOL
    if steps < 2 or COUNTS.threads < 2 or add_at(address(pool.users), 1) != 0:
        if steps >= 2 and COUNTS.threads >= 2:
            add_at(address(pool.users), -1)
        run_part(code, context, 0, steps)
        return
    if pool.process != getpid():      # the first loop, or a process that was forked, which has none of its parent's threads
        start(pool)
    most = COUNTS.threads * PARTS
    grain = (steps + most - 1) // most
    parts = (steps + grain - 1) // grain
    store_float_mode(address(pool.float_mode))
    pool.code = code
    pool.context = context
    pool.steps = steps
    pool.grain = grain
    pool.parts = parts
    pool.done = 0
    team = value_at(address(pool.team))
    next_ = 0
    for i in range(team):       # a thread that ends the loop before may take a part of this one; the caller, which is there, has most
        end = (parts * (i + 1) + team - 1) // team
        swap_at(address(pool.tickets[i * LINE]), (end << 32) + next_)
        next_ = end
    add_at(address(pool.loops), 1)
    if value_at(address(pool.sleeping)) > 0:
        add_at(address(pool.wakeups), 1)
        syscall(FUTEX, address(pool.wakeups), FUTEX_WAKE, parts - 1, 0)
    begin = clock()
    computed = work(pool, 0)
    wait_for(pool, parts, begin, computed)
    add_at(address(pool.users), -1)


def work(pool: Pool, number: int) -> int:
    """Takes parts, and computes them, until all are taken: first those of thread ``number``, of which 0 is the caller. In the
    floating-point mode of the loop's caller, which may have changed since the workers began. They are counted at the end, at once: all are
    of one loop, since the next does not begin before. Returns their number."""
    team = value_at(address(pool.team))
    parts = 0
    computed = 0
    for i in range(team):
        whose = number + i if number + i < team else number + i - team
        ticket = value_at(address(pool.tickets[whose * LINE]))
        if (ticket & INDEX) < (ticket >> 32):
            ticket = add_at(address(pool.tickets[whose * LINE]), 1)
        while (ticket & INDEX) < (ticket >> 32):
            first = (ticket & INDEX) * pool.grain
            end = first + pool.grain
            if end > pool.steps:
                end = pool.steps
            parts = pool.parts
            if number != 0:
                use_float_mode(address(pool.float_mode))
            run_part(pool.code, pool.context, first, end)
            computed += 1
            ticket = add_at(address(pool.tickets[whose * LINE]), 1)
    if computed > 0 and add_at(address(pool.done), computed) + computed == parts and value_at(address(pool.waiting)) != 0:
        syscall(FUTEX, address(pool.done), FUTEX_WAKE, 1, 0)
    return computed


def wait_for(pool: Pool, parts: int, begin: int, computed: int) -> None:
    """Returns when so many parts are computed. Since ``begin`` the caller has computed ``computed`` of them: another thread, if it runs,
    takes as long for the one that it has begun. To be woken takes longer than that, mostly."""
    until = 0
    polls = 0
    done = value_at(address(pool.done))
    while done != parts:
        pause()
        polls += 1
        if polls & POLLS == 0:
            sched_yield()       # to a thread of ours that waits for this core
            now = clock()
            if until == 0:
                until = now + STRAGGLER + (now - begin) // (computed + 1)
            if now > until:
                add_at(address(pool.waiting), 1)
                done = value_at(address(pool.done))
                if done != parts:
                    syscall(FUTEX, address(pool.done), FUTEX_WAIT, done, 0)
                add_at(address(pool.waiting), -1)
        done = value_at(address(pool.done))


def worker(pool: Pool) -> Words:
    """What a thread of the pool does until the pool stops."""
    number = add_at(address(pool.numbers), 1) + 1
    begun = 0
    until = 0
    polls = 0
    while value_at(address(pool.stopping)) == 0:
        loops = value_at(address(pool.loops))
        if loops != begun:
            begun = loops
            work(pool, number)
            until = 0
        pause()
        polls += 1
        if polls & POLLS == 0:
            sched_yield()
            now = clock()
            if until == 0:
                until = now + IDLE
            if now > until:
                add_at(address(pool.sleeping), 1)
                seen = value_at(address(pool.wakeups))
                if value_at(address(pool.loops)) == begun and value_at(address(pool.stopping)) == 0:
                    syscall(FUTEX, address(pool.wakeups), FUTEX_WAIT, seen & INDEX, 0)
                add_at(address(pool.sleeping), -1)
                until = 0
    return Words(0)


def start(pool: Pool) -> None:
    """Creates the threads, which take no signals. With fewer than wanted, or none, loops are computed by those there are."""
    pool.process = getpid()
    pool.sleeping = 0
    pool.waiting = 0
    pool.stopping = 0
    pool.loops = 0
    pool.numbers = 0
    pool.threads = 0
    wanted = COUNTS.threads - 1
    if wanted > MOST_THREADS:
        wanted = MOST_THREADS
    every = stack(Words, 16)
    before = stack(Words, 16)
    for i in range(16):
        every[i] = -1
    pthread_sigmask(SIG_BLOCK, every, before)
    for i in range(wanted):
        if pool.threads == i and pthread_create(address(pool.handles[i]), Words(0), code_of(worker), pool) == 0:
            pool.threads = i + 1
    swap_at(address(pool.team), pool.threads + 1)
    pthread_sigmask(SIG_SETMASK, before, Words(0))


def retain_pool() -> None:
    """Counts a new instance."""
    add_at(address(POOL.instances), 1)


def release_pool() -> None:
    """Counts an instance that goes. With the last one the threads end, since the code that they run may be unloaded."""
    pool = POOL
    if add_at(address(pool.instances), -1) != 1:
        return
    while add_at(address(pool.users), 1) != 0:     # no loop runs; one that begins meanwhile is computed by its caller
        add_at(address(pool.users), -1)
        pause()
    if pool.process == getpid():
        add_at(address(pool.stopping), 1)
        add_at(address(pool.wakeups), 1)
        syscall(FUTEX, address(pool.wakeups), FUTEX_WAKE, MOST_THREADS, 0)
        for i in range(pool.threads):
            pthread_join(pool.handles[i], Words(0))
    pool.process = 0
    add_at(address(pool.users), -1)
