# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kills processes of a pool at random moments: `pool_kills.py [COUNT [SEED]]`.

Each time the step either succeeds or fails by a RunError soon, the next one
succeeds, arrays that were there are as they were, and no process and no file
is left.
"""

import glob
import os
import random
import signal
import sys
import threading
import time

import numpy as np
from shoal_testing import is_running

import shoal

SOON = 5.0  # seconds, of which a new start takes a part


def processes_of(pool):
    workers = pool._workers
    return [*(connection.process for connection in workers._connections), workers._process.pid]


def files_of(pool):
    """Patterns of those that Open MPI makes for the pool's job."""
    job = pool._workers._leftovers
    return [job._folder, f"/dev/shm/vader_segment.*.{job._job:x}.*"]


def kill_at_random(pool, loaded, count, generator):
    """The seconds that the calls took which failed."""
    x = np.arange(4, dtype=np.float32)
    (kept,) = loaded.run([x])
    failed, all_processes, all_files = [], set(), set()
    for _ in range(count):
        loaded.run([kept])
        all_processes.update(processes_of(pool))
        all_files.update(files_of(pool))
        victim = generator.choice(processes_of(pool))
        timer = threading.Timer(generator.random() * 0.02, _kill, [victim])
        timer.start()
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            failed += _seconds_if_failed(loaded, kept)
        timer.join()
        failed += _seconds_if_failed(loaded, kept)  # it may take this long to end
        np.testing.assert_array_equal(loaded.run([kept])[0], x)
        np.testing.assert_array_equal(kept, x)
    left = [process for process in all_processes - {*processes_of(pool)} if is_running(process)]
    left += [path for path in all_files - {*files_of(pool)} if glob.glob(path)]
    assert not left, left
    return failed


def _seconds_if_failed(loaded, kept):
    """Of a call, in a list, which is empty where it has given what it should."""
    begin, failed = time.monotonic(), False
    try:
        np.testing.assert_array_equal(loaded.run([kept])[0], np.arange(4))
    except shoal.RunError:
        failed = True
    seconds = time.monotonic() - begin
    assert seconds < SOON
    return [seconds] if failed else []


def _kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def main():
    from executable_cases import identity

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with shoal.launch(2) as pool:
        loaded = pool.load(shoal.compile_text(identity("f32")))
        begin = time.monotonic()
        failed = kill_at_random(pool, loaded, count, random.Random(seed))
        print(f"{count} kills, {pool.starts} starts, {time.monotonic() - begin:.0f} s; ", end="")
        print(f"{len(failed)} calls failed, in {max(failed, default=0):.2f} s at most")


if __name__ == "__main__":
    main()
