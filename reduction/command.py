"""The interestingness test: a shell command that fails on the original, and has to fail on a candidate in the same way."""
from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from legato.core.errors import LegatoError

PLACE = "{}"
SHELL_SIGNAL = 128   # a shell's exit code for a command that a signal ended, less the signal's number
UNKNOWN_COMMAND = (126, 127)
DEFAULT_TIMEOUT = 300.0


@dataclass(frozen=True)
class CommandOutcome:
    """What a command did. ``code``: its exit code, as a shell gives it (128 + N for signal N); None: it ran past the time limit."""

    code: int | None
    output: str
    seconds: float

    def __str__(self) -> str:
        if self.code is None:
            return f"ran past {self.seconds:.0f} s"
        return f"ended by {signal_name(self.code)}" if signal_name(self.code) else f"exit code {self.code}"


def signal_name(code: int) -> str:
    """The signal that an exit code of a shell stands for; empty for others."""
    return signal.Signals(code - SHELL_SIGNAL).name if code - SHELL_SIGNAL in list(signal.Signals) else ""


@dataclass(frozen=True)
class Command:
    """A shell command. ``{}`` in ``text`` stands for the path of the candidate, which is appended where there is none."""

    text: str

    def run(self, path: Path, timeout: float) -> CommandOutcome:
        """Runs it on the file at ``path``, for ``timeout`` seconds at most; all processes that it started end then. Compiled candidates
        are not cached, unless LEGATO_CACHE says otherwise."""
        quoted = shlex.quote(str(path))
        line = self.text.replace(PLACE, quoted) if PLACE in self.text else f"{self.text} {quoted}"
        begun = time.monotonic()
        process = subprocess.Popen(line, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True, env={"LEGATO_CACHE": "off", **os.environ})
        code: int | None
        try:
            said, _ = process.communicate(timeout=timeout)
            code = process.returncode if process.returncode >= 0 else SHELL_SIGNAL - process.returncode
        except subprocess.TimeoutExpired:
            _kill_group(process.pid)
            said, _ = process.communicate()
            code = None
        except BaseException:
            _kill_group(process.pid)
            process.wait()
            raise
        return CommandOutcome(code, said.decode(errors="replace"), time.monotonic() - begun)


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass   # they have ended meanwhile


@dataclass(frozen=True)
class Failure:
    """How a command has to fail. ``code``: the exit code, or None: by running past the time limit; ``prints``: texts that its output has
    to contain; ``timeout``: seconds, after which a run that should not hang counts as one that does not fail."""

    command: Command
    code: int | None
    prints: tuple[str, ...]
    timeout: float

    def seen_in(self, outcome: CommandOutcome) -> bool:
        """Whether a run failed in this way."""
        return outcome.code == self.code and all(text in outcome.output for text in self.prints)

    def __call__(self, path: Path) -> bool:
        """Whether the command fails so on the file at ``path``."""
        return self.seen_in(self.command.run(path, self.timeout))

    def __str__(self) -> str:
        how = "run past the time limit" if self.code is None else f"end by {name}" if (name := signal_name(self.code)) \
            else f"exit with {self.code}"
        return " and print ".join([how, *map(repr, self.prints)])


def failure_of(command: Command, path: Path, code: int | None = None, prints: tuple[str, ...] = (),
               timeout: float | None = None) -> tuple[Failure, CommandOutcome]:
    """How the command fails on the original at ``path``, and what that run did.

    ``code``, ``prints``: what the user expects; without ``code`` it is the original's. ``timeout``: seconds; an original that runs
    longer fails by hanging. LegatoError if the command does not fail so on the original.
    """
    outcome = command.run(path, timeout or DEFAULT_TIMEOUT)
    if outcome.code is None and timeout is None:
        raise LegatoError(f"the command ran past {DEFAULT_TIMEOUT:.0f} s on {path}: give --timeout SECONDS (timeout=), so that running "
                          "longer than that is the failure")
    if outcome.code in UNKNOWN_COMMAND and code != outcome.code:
        raise LegatoError(f"the shell cannot run the command ({outcome}): {_last(outcome.output)}")
    limit = timeout or max(30.0, outcome.seconds * 10)
    failure = Failure(command, code if code is not None else outcome.code, prints, limit)
    wrong = None
    if outcome.code == 0 and code is None:
        wrong = "it succeeded (exit code 0)"
    elif outcome.code != failure.code:
        wrong = f"its end was another: {outcome}, not {code}"
    elif missing := [text for text in prints if text not in outcome.output]:
        wrong = f"it did not print {missing[0]!r}"
    if wrong:
        raise LegatoError(f"the command does not fail on {path}, as it is, so there is nothing to reduce: {wrong}. It printed: "
                          f"{_last(outcome.output)}")
    return failure, outcome


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return " / ".join(lines[-3:])[:400] or "nothing"
