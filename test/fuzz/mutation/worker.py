"""A process that runs cases of one subject: ``python -m mutation.worker SUBJECT FOLDER SEED...``.

Before each case it prints its seed, and each finding as JSON. A case that takes too long ends the process with SIGPROF or SIGALRM, since no
exception reaches C++ code; the process around it goes on with the next case.
"""
import dataclasses
import faulthandler
import json
import os
import resource
import signal
import sys
from functools import partial
from importlib import import_module

from mutation.case import exception

SUBJECTS = {"onnx": "onnx_models:OnnxModels", "text": "ir_text:IrText", "valid": "valid_ir:ValidIr", "pipeline": "pipelines:Pipelines",
            "saved": "saved_files:SavedFiles", "options": "options:Options"}
SECONDS = 60     # of processor time
PATIENCE = 300   # seconds, where others use the processors
MEMORY = 6 << 30


def subject(name: str):
    """The subject of that name."""
    module, class_name = SUBJECTS[name].split(":")
    return getattr(import_module(f"mutation.{module}"), class_name)()


def main(name: str, seeds: list[int]) -> None:
    """Runs the cases of these seeds."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    said = os.fdopen(os.dup(1), "w")   # what tools print goes elsewhere
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def say(word: str, seed: int, text: str = "") -> None:
        said.write(f"{word} {seed} {text}\n")
        said.flush()

    runs = subject(name)
    for seed in seeds:
        say("CASE", seed)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(PATIENCE)
        faulthandler.dump_traceback_later(PATIENCE - 2)
        try:
            found = runs.run(seed, partial(say, "OTHER", seed))
        except Exception as error:
            found = exception(error)
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if found is not None:
            say("FINDING", seed, json.dumps(dataclasses.asdict(found)))
    say("END", 0)


if __name__ == "__main__":
    main(sys.argv[1], [int(seed) for seed in sys.argv[2:]])
