"""The program of ``make demo``: compiles a trained ONNX model to native code, searches with it, times and checks it."""
import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import onnxruntime

import legato
from legato.examples.minilm import model as minilm
from legato.examples.minilm.tokens import encode, load_tokenizer

QUERY = "How can I grow vegetables without a garden?"
SENTENCES = (
    "The orchestra rehearsed the second movement twice.",
    "Plants in pots dry out quickly: water them every morning.",
    "A compiler turns a program into machine code.",
    "Even a small terrace has room for a few pots of peppers and beans.",
    "Interest rates were left unchanged on Thursday.",
    "Cherry tomatoes do well in containers, with a stake to climb.",
    "The goalkeeper saved a penalty in the last minute.",
    "Slugs can ruin young seedlings overnight.",
)
TIMED_TOKENS = 128


def main() -> None:
    """Runs the demonstration."""
    arguments = _arguments()
    path = minilm.save(arguments.directory / "model.onnx", minilm.build())
    print(f"MiniLM sentence embeddings, {path}, {arguments.threads} thread{'s' if arguments.threads > 1 else ''}\n")

    started = time.perf_counter()
    module = legato.from_onnx(path)
    imported = time.perf_counter() - started
    executable = legato.compile(module, target=f"llvm{{threads={arguments.threads}}}")
    session = _reference(path, arguments.threads)

    tokenizer = load_tokenizer()
    _print_ranking(executable, tokenizer, arguments.query)
    _print_compilation(executable.report, imported)
    _print_comparison(executable, session, tokenizer)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("query", nargs="?", default=QUERY, help="the text to compare the sentences with")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--directory", type=Path, default=Path("build/minilm"), help="where model.onnx and its weights go (%(default)s)")
    return parser.parse_args()


def _reference(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _embed(executable, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The embeddings [batch, 384] of the result of ``encode``; arguments are in the order of the model's inputs."""
    return np.from_dlpack(executable(*inputs.values()))


def _print_ranking(executable, tokenizer, query: str) -> None:
    vectors = _embed(executable, encode(tokenizer, [query, *SENTENCES]))
    similarity = vectors[1:] @ vectors[0]
    print(f"  {query}")
    for number in np.argsort(-similarity):
        print(f"    {similarity[number]:6.3f}  {SENTENCES[number]}")


def _print_compilation(report, imported: float) -> None:
    stages = [("import", imported), *report.stages]
    print(f"\n  Compiled in {sum(seconds for _, seconds in stages):.2f} s to {len(report.kernels)} kernels")
    width = max(len(name) for name, _ in stages)
    for name, seconds in stages:
        print(f"    {name:{width}}  {seconds * 1e3:7.0f} ms")


def _print_comparison(executable, session, tokenizer) -> None:
    inputs = encode(tokenizer, [" ".join(SENTENCES * 3)], TIMED_TOKENS)
    ours, theirs = _embed(executable, inputs), session.run(None, inputs)[0]
    (our_time, their_time) = _medians(lambda: executable(*inputs.values()), lambda: session.run(None, inputs))
    print(f"\n  One text of {TIMED_TOKENS} tokens, median")
    print(f"    legato       {our_time * 1e3:6.2f} ms")
    print(f"    onnxruntime  {their_time * 1e3:6.2f} ms")
    print(f"    greatest difference {np.abs(ours - theirs).max():.1e}, of components up to {np.abs(theirs).max():.2f}")


def _medians(*calls, rounds: int = 30) -> list[float]:
    """The median seconds of each call. Calls alternate, so that other load on the machine affects all of them."""
    times = [[] for _ in calls]
    for turn in range(rounds + 3):
        for call, seconds in zip(calls, times):
            started = time.perf_counter()
            call()
            if turn >= 3:
                seconds.append(time.perf_counter() - started)
    return [statistics.median(seconds) for seconds in times]


if __name__ == "__main__":
    main()
