# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One run of a program on other nodes, which need not have it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.devices.nodes_pool import NodesPool
from shoal.errors import RunError
from shoal.executable.files import RunOptions
from shoal.executable.launch import Nodes
from shoal.executable.native import native
from shoal.executable.program import Program


def run_on_nodes(
    program: Program, arrays: Sequence[np.ndarray | None], nodes: Nodes, options: RunOptions
) -> list[np.ndarray]:
    """The whole results, by a pool that is there for this run alone; InputError, RunError."""
    begin = time.monotonic()
    threads = options.threads
    environment = {} if threads is None else {"SHOAL_NUM_THREADS": str(threads)}
    with NodesPool(program.devices, nodes, environment) as pool:
        loaded = pool.load(program)
        # Sent once, for all steps.
        values = [
            pool.put(_random(program, number, options.seed) if array is None else array, place)
            for number, (array, place) in enumerate(zip(arrays, loaded.inputs))
        ]
        seconds = []
        for _ in range(options.warmup + options.repeat):
            left = _time_left(begin, options.timeout)
            results = loaded.run(values, donate=False, timeout=left)
            seconds.append(loaded.seconds)
        if options.stats is not None:
            options.stats.update(_times(program, seconds[options.warmup :]))
        return [result.numpy() for result in results]


def _time_left(begin: float, timeout: float | None) -> float | None:
    if timeout is None:
        return None
    left = begin + timeout - time.monotonic()
    if left <= 0:
        raise RunError(f"did not end in {timeout:g} s")
    return left


def _random(program: Program, number: int, seed: int | None) -> np.ndarray:
    """What the executable's --random-inputs stands for."""
    tensor, entry = program.signature.inputs[number], program.signature.description["inputs"][number]
    content = native().random_input(seed, tensor.name, entry["dtype"], entry["shape"])
    return np.frombuffer(content, tensor.dtype).reshape(tensor.shape)


def _times(program: Program, seconds: Sequence[float]) -> dict[str, Any]:
    times = {"min": min(seconds), "median": statistics.median(seconds), "max": max(seconds)}
    return {"devices": program.devices, "target": "cpu", "step_seconds": times}
