# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kills processes of a pool at random moments: `pool_kills.py [COUNT [SEED]]`.

Each time the step either succeeds or fails by a RunError soon, the next one
succeeds, arrays that were there are as they were, and no process is left.
"""

import os
import random
import signal
import sys
import threading
import time

import numpy as np

import shoal

SOON = 5.0  # seconds, of which a new start takes a part


def processes_of(pool):
    workers = pool._workers
    return [*(connection.process for connection in workers._connections), workers._process.pid]


def kill_at_random(pool, loaded, count, generator):
    """How many calls failed."""
    x = np.arange(4, dtype=np.float32)
    (kept,) = loaded.run([x])
    failed, all_processes = 0, set()
    for _ in range(count):
        loaded.run([kept])
        all_processes.update(processes_of(pool))
        victim = generator.choice(processes_of(pool))
        timer = threading.Timer(generator.random() * 0.02, _kill, [victim])
        timer.start()
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            begin = time.monotonic()
            failed += _has_failed(loaded, kept)
            assert time.monotonic() - begin < SOON
        timer.join()
        failed += _has_failed(loaded, kept)  # it may take this long to end
        np.testing.assert_array_equal(loaded.run([kept])[0], x)
        np.testing.assert_array_equal(kept, x)
    mine = set(processes_of(pool))
    left = [process for process in all_processes - mine if _is_running(process)]
    assert not left, left
    return failed


def _has_failed(loaded, kept):
    try:
        np.testing.assert_array_equal(loaded.run([kept])[0], np.arange(4))
    except shoal.RunError:
        return True
    return False


def _kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def main():
    from executable_cases import identity

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with shoal.launch(2) as pool:
        loaded = pool.load(shoal.compile_text(identity("f32")))
        begin = time.monotonic()
        failed = kill_at_random(pool, loaded, count, random.Random(seed))
        print(f"{count} kills, {failed} calls failed, {pool.starts} starts, ", end="")
        print(f"{time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
