#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many faults at random moments; test_fault_campaigns.py has a few of each.

Usage: fault_campaigns.py KIND COUNT [SEED]

  kills        a rank of four that trains is ended by SIGKILL: the job ends within 5 s, the rank is
               named, no process is left
  freezes      one is stopped: so within the time-out + 2 s
  divergences  one has another program, option or shape of a batch, or saves alone: within the
               time-out + 2 s
  meshes       20 trees of arrays saved on one mesh and loaded on another, for COUNT pairs: the same
               bits, and each rank reads its shards and the rest of blocks
  resumes      training that is cut off at a random step and goes on: the bits of one that was not;
               on 2, 3 and 8 devices within 1e-6
  disks        a disk is full, or fails, at a random call of the system: the checkpoint before is
               whole, nothing of the new one is left
  starts       Python is ended by SIGKILL while a pool of four starts: no process is left
  saves        a process that saves is ended by SIGKILL: what is found has the bits that were saved

Prints what was found and the longest time; an assertion fails where it is not so.
"""

import contextlib
import errno
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np
from fault_jobs import RANKS, read_until
from paths import PATHS, SUPPORT
from shoal_testing import is_running, mpi_environment

TIMEOUT = 2


class Job:
    """fault_ranks.py on four ranks, all of which are in front of step 5 when it is made."""

    def __init__(self, *arguments, until=5):
        environment = {
            "PYTHONPATH": os.pathsep.join(PATHS),
            "SHOAL_COLLECTIVE_TIMEOUT": str(TIMEOUT),
            "SHOAL_CACHE": os.environ.get("SHOAL_CACHE", "off"),
        }
        command = ["mpirun", "-n", RANKS, sys.executable, SUPPORT / "fault_ranks.py", *arguments]
        self.process = subprocess.Popen(
            [str(word) for word in command],
            env=mpi_environment() | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.error = ""
        self.processes, _, _ = read_until(self.process.stdout, until)

    def end(self):
        """Seconds until it has ended, with all of its processes."""
        begin = time.monotonic()
        _, self.error = self.process.communicate(timeout=60)
        seconds = time.monotonic() - begin
        while any(map(is_running, self.processes.values())):
            assert time.monotonic() - begin < seconds + 2, "a process is left"
            time.sleep(0.02)
        assert self.process.returncode != 0
        return seconds


def signalled(rng, number):
    """A job of which a rank gets a signal at some moment, and the rank."""
    job = Job("none")
    rank = int(rng.integers(RANKS))
    time.sleep(0.2 * rng.random())
    os.kill(job.processes[rank], number)
    return job, rank


def kills(count, rng):
    def kill():
        job, rank = signalled(rng, signal.SIGKILL)
        seconds = job.end()
        assert seconds < 5, (seconds, job.error)
        assert re.search(rf"rank {rank} .*signal 9 \(Killed\)", job.error) or (
            f"rank {rank} (process {job.processes[rank]})" in job.error
        ), job.error
        return seconds

    return repeat(count, kill)


def freezes(count, rng):
    def freeze():
        job, rank = signalled(rng, signal.SIGSTOP)
        seconds = job.end()
        assert seconds < TIMEOUT + 2, (seconds, job.error)
        assert re.search(rf"^error: rank {rank} \(process {job.processes[rank]}\) has not run", job.error, re.M), job.error
        return seconds

    return repeat(count, freeze)


NAMED = {
    "program": r"rank {rank} has another program than rank 0: .* instead of ",
    "flag": r"rank {rank} has another program than rank 0: .* instead of ",
    "shape": r"error: ranks wait for each other.*rank {rank}: step \d+, in a call of mpi4py since",
    "saves": r"error: ranks wait for each other.*rank {rank}: step \d+, in a call of mpi4py since",
}


def divergences(count, rng, kinds=tuple(NAMED)):
    numbers = iter(range(count))

    def diverge():
        kind = kinds[next(numbers) % len(kinds)]
        rank, step = int(rng.integers(1, RANKS)), int(rng.integers(1, 9))
        job = Job(kind, rank, step, until=step if kind in ("shape", "saves") else 5)
        seconds = job.end()
        assert seconds < TIMEOUT + 2, (kind, seconds, job.error)
        assert re.search(NAMED[kind].format(rank=rank), job.error, re.DOTALL), (kind, job.error)
        return seconds

    return repeat(count, diverge)


def repeat(count, fault):
    times = [fault() for _ in range(count)]
    return f"{count} jobs, ended within {max(times):.2f} s, named, no process left"


def meshes(count, rng, trees=20):
    from checkpoint_cases import MESHES, devices, placed, random_tree, same_bits

    from shoal import checkpoints
    from shoal.checkpoints.checksums import BLOCK

    most = 0
    with tempfile.TemporaryDirectory() as folder, mock.patch("os.fsync"):
        for _ in range(count):
            source, target = (MESHES[i] for i in rng.integers(len(MESHES), size=2))
            for _ in range(trees):
                tree = random_tree(rng)
                checkpoints.save(folder, placed(rng, tree, source, devices(source.size)))
                like = placed(rng, tree, target, devices(target.size))
                loaded = checkpoints.load(folder, like)
                for name, array in tree.items():
                    same_bits(loaded[name], array)
                rank = int(rng.integers(target.size))
                most = max(most, excess(folder, loaded, rank, target, BLOCK))
    return f"{count} pairs of meshes, {count * trees} trees: the same bits; a rank read at most {most:.1f} blocks a piece more"


def excess(folder, loaded, rank, mesh, block):
    """How many blocks a piece of an array the rank has read beyond its own shards and the heads."""
    from checkpoint_cases import devices

    from shoal import checkpoints
    from shoal.devices import Array

    like = {
        name: devices(mesh.size, rank).put(np.asarray(array), array.placement)
        for name, array in loaded.items()
        if isinstance(array, Array)
    }
    if not like:
        return 0
    with checkpoints.open(folder) as source:
        checkpoints.load(source, like, partial=True)
        read = source.bytes_read
    text = (Path(folder) / "manifest.json").read_text()
    manifest = json.loads(text)
    heads = len(text) + sum(shard["head_bytes"] for shard in manifest["shards"] if shard)
    pieces = sum(len(manifest["arrays"][name]["shards"]) for name in like)
    own = sum(shard.data.nbytes for array in like.values() for shard in array.shards)
    assert read <= own + heads + 2 * pieces * block, (read, own, heads, pieces)
    return (read - own - heads) / block / pieces


def resumes(count, rng):
    import resumed_runs as runs

    with tempfile.TemporaryDirectory() as folder:
        whole = runs.leaves(runs.trained(Path(folder) / "whole", runs.STEPS))
        worst = 0.0
        for number in range(count):
            at = Path(folder) / str(number)
            runs.trained(at, int(rng.integers(1, runs.STEPS)), every=int(rng.integers(1, 6)))
            devices = (4, 2, 4, 3, 4, 8)[number % 6]
            state = runs.leaves(runs.trained(at, runs.STEPS, devices))
            for name, array in whole.items():
                if devices == 4:
                    np.testing.assert_array_equal(state[name], array, err_msg=name)
                else:
                    np.testing.assert_allclose(state[name], array, rtol=1e-5, atol=1e-6, err_msg=name)
                    worst = max(worst, float(np.max(np.abs(np.float64(state[name]) - array), initial=0)))
    return f"{count} runs cut off and resumed, bit by bit on 4 devices, within {worst:.1e} on 2, 3 and 8"


def disks(count, rng):
    from checkpoint_cases import same_bits
    from checkpoint_faults import each_call, tree_of

    from shoal import checkpoints

    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            series = checkpoints.Series(Path(folder), keep_last=1)
            for step in series.steps():
                checkpoints.saving.remove(series.folder(step))
            series.save(1, tree_of(1))
            number, code = int(rng.integers(1, 17)), int(rng.choice([errno.ENOSPC, errno.EROFS, errno.EIO]))

            def act(at, name, call, arguments, number=number, code=code):
                if at >= number and name not in ("unlink", "rmdir"):
                    raise OSError(code, os.strerror(code))

            try:
                with each_call(act):
                    series.save(2, tree_of(2))
            except OSError as error:
                failed += 1
                assert error.errno == code
            found = series.load(tree_of(0))
            for name, array in tree_of(int(found["step"])).items():
                same_bits(found[name], array)
    assert failed > count // 2
    return f"{count} disks that were full or failed, {failed} saves of which did; the checkpoint before was whole"


STARTING = "import shoal; print('begun', flush=True); shoal.launch(4); print('started', flush=True); input()"


class Start:
    """A process that starts a pool. All that come of it have a word of its own in their environment."""

    def __init__(self):
        self.word = f"SHOAL_CAMPAIGN={secrets.token_hex(8)}"
        name, value = self.word.split("=")
        environment = {**mpi_environment(), "PYTHONPATH": os.pathsep.join(PATHS), name: value}
        self.process = subprocess.Popen(
            [sys.executable, "-c", STARTING], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout.readline() == "begun\n"

    def members(self):
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and self.word.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return found

    def kill(self):
        """Ends Python; seconds until nothing of it is left, and how many processes there were."""
        members = self.members()
        self.process.kill()
        self.process.wait()
        begin = time.monotonic()
        while left := self.members():
            assert time.monotonic() - begin < 10, (left, "are left")
            time.sleep(0.02)
        return time.monotonic() - begin, len(members)


def starts(count, rng):
    whole = Start()
    begin = time.monotonic()
    assert whole.process.stdout.readline() == "started\n"
    needed = time.monotonic() - begin
    whole.kill()
    most, processes = 0.0, []
    for _ in range(count):
        start = Start()
        time.sleep(1.2 * needed * rng.random())
        seconds, members = start.kill()
        most = max(most, seconds)
        processes.append(members)
    return (
        f"{count} processes killed while a pool of four started, with {min(processes)} to {max(processes)} processes by"
        f" then: none was left after {most:.1f} s"
    )


def saves(count, rng):
    from checkpoint_faults import kill_savers

    with tempfile.TemporaryDirectory() as folder:
        reached = kill_savers(Path(folder), count)
    return f"{count} processes killed while they saved, {reached} checkpoints"


KINDS = {f.__name__: f for f in (kills, freezes, divergences, meshes, resumes, disks, starts, saves)}

if __name__ == "__main__":
    os.environ["SHOAL_CACHE"] = "off"
    sys.path[:0] = PATHS
    print(KINDS[sys.argv[1]](int(sys.argv[2]), np.random.default_rng(int((sys.argv[3:] or [0])[0]))))
