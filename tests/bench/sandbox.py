"""What a sandbox costs at its start, side by side: medians of interleaved starts, in milliseconds.

Run it: python tests/bench/sandbox.py [STARTS]
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.unit.sandbox.boxes import LADDER, Box, interpreter, launched

SOLVER = "def solve(task, h):\n    return h.ask('writer', '2 + 2').text\n"
WARM_UP = 3


def plain(*command: str) -> Callable[[], object]:
    """The same program without any sandbox."""
    return lambda: subprocess.run(command, env={}, capture_output=True, check=True)


def measured(ways: dict[str, Callable[[], object]], n_starts: int) -> dict[str, list[float]]:
    """Milliseconds of each start, the ways taking turns so that a busy minute hits them all."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(n_starts + WARM_UP):
        for name, start in ways.items():
            began = time.perf_counter()
            start()
            if turn >= WARM_UP:
                times[name].append((time.perf_counter() - began) * 1e3)
    return times


def throughput(box: Box, n_threads: int, n_starts: int) -> float:
    """Finished starts a second."""
    box.sh("true")
    began = time.perf_counter()
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda _: box.run(("/bin/true",)), range(n_starts)))
    return n_starts / (time.perf_counter() - began)


@contextmanager
def answering(box: Box) -> Iterator[None]:
    """A broker that answers every model call at once."""
    path = box.folder / "broker.sock"
    path.unlink()
    body = json.dumps({"choices": [{"message": {"content": "4"}}]}).encode()
    with socket.socket(socket.AF_UNIX) as broker:
        broker.bind(str(path))
        path.chmod(0o666)
        broker.listen()

        def serve() -> None:
            while True:
                wire, _ = broker.accept()
                with wire:
                    if not wire.recv(65536):
                        return
                    wire.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(str(path))
            last.shutdown(socket.SHUT_WR)
            thread.join()


def ways(boxes: dict[str, Box]) -> dict[str, Callable[[], object]]:
    """What is timed, by its line in the table."""
    python = (interpreter(), "-I", "-S", "-B", "-c", "")
    lines = {"plain       /bin/true": plain("/bin/true")}
    lines |= {
        f"{name:12}/bin/true": partial(box.run, ("/bin/true",)) for name, box in boxes.items()
    }
    lines["plain       python -I -S"] = plain(*python)
    lines["plain       python importing json, socket"] = plain(*python[:-1], "import json, socket")
    lines |= {
        f"{name:12}Python trial, one model call": partial(box.solve, SOLVER, broker=True)
        for name, box in boxes.items()
    }
    return lines


def main(n_starts: int) -> None:
    """Print the table."""
    with ExitStack() as stack:
        boxes = {
            name: stack.enter_context(launched(level, ordinary=ordinary))
            for name, (level, ordinary) in LADDER.items()
        }
        for box in boxes.values():
            stack.enter_context(answering(box))
        for box in boxes.values():
            assert json.loads(box.solve(SOLVER, broker=True).result or b"{}")["answer"] == "4"
        for name, times in measured(ways(boxes), n_starts).items():
            slow = statistics.quantiles(times, n=10)[-1]
            line = f"{name:44}{statistics.median(times):6.1f} median{slow:7.1f} p90{min(times):7.1f} min"
            sys.stdout.write(line + "\n")
        for n_threads in (1, 2, 8):
            rate = throughput(boxes["S3"], n_threads, n_starts)
            sys.stdout.write(f"S3 /bin/true, {n_threads} at once{rate:22.0f} starts/s\n")
    sys.stdout.write(f"{os.cpu_count()} cores, {os.uname().release}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
