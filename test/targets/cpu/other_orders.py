"""Native functions in place of the pool of threads: a parallel loop's steps in other orders, one at a time, by the caller. They take the
model's list, as those do."""
from legato.codegen.native.language import Pointer, Words, model, run_part


def parallel(code: Pointer, context: Words, steps: int) -> None:
    """The last step first."""
    model()
    for step in reversed(range(steps)):
        run_part(code, context, step, step + 1)


def retain_pool() -> None:
    """No threads are there to be counted."""
    model()


def release_pool() -> None:
    """Likewise."""
    model()
