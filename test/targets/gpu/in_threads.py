"""Work of many threads at once."""
import threading


def in_threads(work, count):
    """Calls ``work(seed)`` for each seed below ``count`` on a thread of its own. The first thing that it raises is raised here."""
    failed = []

    def guarded(seed):
        try:
            work(seed)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(seed,)) for seed in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
