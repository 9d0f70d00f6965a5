"""Data races of compiled code, by gcc's ThreadSanitizer: ``make test-races``, for a nightly run. See thread_sanitizer.py."""
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
HERE = TESTS / "codegen"
REPORTED = 66       # the exit code of a process with a report
MODELS = "codegen/raced_models.py"

pytestmark = pytest.mark.skipif("LEGATO_TEST_RACES" not in os.environ, reason="takes minutes: LEGATO_TEST_RACES=1, or make test-races")


@cache
def way_to_run() -> tuple[list[str], dict[str, str]]:
    """Words before a command that is to run with libtsan, and its environment; skips the test where there is none, or it does not start."""
    compiler = shutil.which("gcc")
    found = subprocess.run([compiler, "-print-file-name=libtsan.so"], capture_output=True, text=True).stdout.strip() if compiler else ""
    if not os.path.isabs(found):
        pytest.skip("no libtsan.so, which comes with gcc")
    options = f"exitcode={REPORTED} die_after_fork=0 history_size=4 suppressions={HERE / 'inputs' / 'tsan.supp'}"
    environment = {**os.environ, "LD_PRELOAD": os.path.realpath(found), "TSAN_OPTIONS": options, "LEGATO_CACHE": "off",
                   "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(HERE)])}
    ways = ([], ["setarch", "-R"]) if shutil.which("setarch") else ([],)     # addresses at random may be none that libtsan's shadow covers
    refusal = ""
    for words in ways:
        tried = subprocess.run([*words, sys.executable, "-c", "import numpy"], env=environment, capture_output=True, text=True)
        if tried.returncode == 0:
            return words, environment
        refusal = tried.stderr.strip()[-200:]
    pytest.skip(f"libtsan does not start: {refusal}")


def run_with_libtsan(file: str, *words: str) -> subprocess.CompletedProcess[str]:
    before, environment = way_to_run()
    return subprocess.run([*before, sys.executable, "-m", "pytest", "-q", "-s", "-p", "instrumented_models", "-p", "no:cacheprovider",
                           str(TESTS / file), *words], env=environment, cwd=TESTS.parent, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def test_a_race_is_reported():
    ran = run_with_libtsan(MODELS, "-k", "one_element")
    assert ran.returncode == REPORTED and "1 passed" in ran.stdout and "WARNING: ThreadSanitizer: data race" in ran.stdout, ran.stdout


# not the test that counts this process's threads, of which one is libtsan's, nor that of OpenMP's runtime, which libtsan does not see
@pytest.mark.parametrize("file, words", [
    (MODELS, "not one_element"), ("runtime/test_threads.py", "not own and not openmp")])
def test_nothing_else_is_reported(file, words):
    ran = run_with_libtsan(file, "-k", words)
    assert ran.returncode == 0 and "ThreadSanitizer" not in ran.stdout, ran.stdout[-6000:]
