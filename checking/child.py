"""A forked process that answers requests, so that code which crashes or does not end is a failed check and not the end of this process."""
from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable
from typing import Any, BinaryIO, NoReturn

from legato.checking.errors import Misbehaved, NotEvaluated
from legato.core.errors import LegatoError

LIMIT = 300.0   # seconds for one answer
WATCH = 2.0     # seconds after which an idle child looks whether its parent is alive
CAN_FORK = sys.platform != "win32"


class ChildDied(Misbehaved):
    """The process ended by a signal, or took too long. The text says which, and what LLVM or the C library printed."""


class ForkedChild:
    """Answers requests by ``answer`` in a copy of this process as it is now. Requests and answers are pickled.

    Where processes cannot be forked, ``answer`` is called in this one. The child is killed with the object.
    """

    def __init__(self, answer: Callable[[Any], Any], limit: float = LIMIT):
        self.answer, self.limit = answer, limit
        if CAN_FORK:
            self._start()

    def _start(self) -> None:
        requests, request_end = os.pipe()
        replies, reply_end = os.pipe()
        self.said = tempfile.TemporaryFile()
        parent = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)   # of forking beside other threads: the child uses none of them
            self.pid = os.fork()
        if not self.pid:
            os.close(request_end)
            os.close(replies)
            os.dup2(self.said.fileno(), 2)
            _serve(self.answer, parent, os.fdopen(requests, "rb"), os.fdopen(reply_end, "wb"))
        os.close(requests)
        os.close(reply_end)
        self._requests, self._replies = os.fdopen(request_end, "wb"), os.fdopen(replies, "rb")
        self._end = weakref.finalize(self, _end, self.pid, self._requests, self._replies, self.said, parent)

    def __call__(self, request: Any) -> Any:
        """The answer. Raises the LegatoError that ``answer`` raised, or ChildDied; no request may follow that one."""
        if not CAN_FORK:
            return self.answer(request)
        try:
            pickle.dump(request, self._requests, pickle.HIGHEST_PROTOCOL)
            self._requests.flush()
            if not select.select([self._replies], [], [], self.limit)[0]:
                raise ChildDied(f"it has not ended after {self.limit:g} s")
            good, reply = pickle.load(self._replies)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            raise ChildDied(self._how_it_ended()) from None
        if not good:
            raise reply
        return reply

    def _how_it_ended(self) -> str:
        """What became of the child, and the last line that it printed on standard error."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self._end.detach()
        ended = f"it ends the process by {signal.Signals(-status).name}" if status < 0 else f"it ends the process with exit code {status}"
        self.said.seek(0)
        lines = [line for line in self.said.read().decode(errors="replace").splitlines() if "LLVM ERROR" in line or "ssertion" in line]
        return f"{ended}: {lines[-1]}" if lines else ended

    def close(self) -> None:
        """Ends the child."""
        if CAN_FORK:
            self._end()


def _serve(answer: Callable[[Any], Any], parent: int, requests: BinaryIO, replies: BinaryIO) -> NoReturn:
    """The child's loop, until the parent closes the pipe or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    faulthandler.disable()
    code = 1
    try:
        while True:
            while not select.select([requests], [], [], WATCH)[0]:
                if os.getppid() != parent:
                    os._exit(0)
            try:
                request = pickle.load(requests)
            except EOFError:
                break
            try:
                reply = True, answer(request)
            except LegatoError as error:
                reply = False, portable(error)
            pickle.dump(reply, replies, pickle.HIGHEST_PROTOCOL)
            replies.flush()
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)
    raise AssertionError


def portable(error: LegatoError) -> LegatoError:
    """The error as one that can be pickled."""
    kind = next((one for one in (Misbehaved, NotEvaluated) if isinstance(error, one)), LegatoError)
    return kind(str(error))


def _end(pid: int, requests: BinaryIO, replies: BinaryIO, said: Any, parent: int) -> None:
    if os.getpid() != parent:   # in a copy of the parent: the child is not its own
        return
    for file in (requests, replies, said):
        file.close()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
