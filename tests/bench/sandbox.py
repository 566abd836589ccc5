"""What a sandbox costs at its start, side by side: medians of interleaved starts, in milliseconds.

Run it: python tests/bench/sandbox.py [STARTS]
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.unit.sandbox.boxes import Box, interpreter, launched

SOLVER = "def solve(task, h):\n    return task['input']\n"
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
    """Finished Python trials a second."""
    box.solve(SOLVER)
    began = time.perf_counter()
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda _: box.run(("/bin/true",)), range(n_starts)))
    return n_starts / (time.perf_counter() - began)


def main(n_starts: int) -> None:
    """Print the table."""
    python = (interpreter(), "-I", "-S", "-B", "-c", "")
    with launched("S3") as s3, launched("S0") as s0:
        ways = {
            "plain /bin/true": plain("/bin/true"),
            "S3    /bin/true": lambda: s3.run(("/bin/true",)),
            "plain python -I -S": plain(*python),
            "S3    python -I -S": lambda: s3.run(python),
            "plain python importing json, socket": plain(*python[:-1], "import json, socket"),
            "S3    Python trial through the sdk": lambda: s3.solve(SOLVER),
            "S0    Python trial through the sdk": lambda: s0.solve(SOLVER),
        }
        for name, times in measured(ways, n_starts).items():
            slow = statistics.quantiles(times, n=10)[-1]
            line = f"{name:38}{statistics.median(times):6.1f} median{slow:7.1f} p90{min(times):7.1f} min"
            sys.stdout.write(line + "\n")
        for n_threads in (1, 2, 8):
            rate = throughput(s3, n_threads, n_starts)
            sys.stdout.write(f"S3 /bin/true, {n_threads} at once{rate:22.0f} starts/s\n")
    sys.stdout.write(f"{os.cpu_count()} cores, {os.uname().release}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
