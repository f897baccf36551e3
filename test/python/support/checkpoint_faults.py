# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Savers that are killed, and calls of the system that fail beneath them."""

import os
import signal
import time
from contextlib import ExitStack
from unittest import mock

import numpy as np
from checkpoint_cases import same_bits

from shoal import checkpoints

# All by which a save changes the disk.
CALLS = ("open", "pwrite", "fsync", "rename", "unlink", "rmdir", "mkdir")


def tree_of(number, rows=200):
    """Of several blocks."""
    rng = np.random.default_rng(number)
    return {
        "a": rng.standard_normal((rows, 50)).astype(np.float32),
        "b": rng.integers(0, 99, 3000),
        "step": np.int32(number),
    }


def each_call(act):
    """Patches of CALLS: `act` is called with (number of the call, its name, function, arguments)."""
    count = 0

    def patched(name, function):
        def call(*arguments, **options):
            nonlocal count
            count += 1
            act(count, name, function, arguments)
            return function(*arguments, **options)

        return mock.patch.object(os, name, call)

    stack = ExitStack()
    for name in CALLS:
        stack.enter_context(patched(name, getattr(os, name)))
    return stack


def kill_savers(tmp_path, kills, seconds=0.3):
    """Of a process that does nothing but save, past the system's cache, ended by SIGKILL; the
    checkpoint that was reached."""
    rng = np.random.default_rng(1)
    series = checkpoints.Series(tmp_path, keep_last=2, asynchronous=True)
    reached = 0
    for _ in range(kills):
        child = os.fork()
        if child == 0:
            step = reached
            while True:
                step += 1
                series.save(step, tree_of(step, rows=6_000))
        time.sleep(0.01 + seconds * rng.random())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = series.load({"a": np.zeros((6_000, 50), np.float32)} | {
            name: array for name, array in tree_of(0).items() if name != "a"
        })
        newest = int(found["step"])
        assert newest >= reached
        if newest:
            for name, array in tree_of(newest, rows=6_000).items():
                same_bits(found[name], array)
        reached = newest
    return reached
