# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX and PyTorch, each in a process of its own that stays and works when it is asked to.

Run as `peers.py jax|torch ranks`: for each line "op repeat" of the standard input it prints
the least seconds of so many calls, or "none" where the library has no such op.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ops import OPS
from rows import LONGEST


def is_there(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


class Peer:
    def __init__(self, process: subprocess.Popen[str]):
        self._process = process

    def least(self, op: str, repeat: int) -> float:
        """Seconds of a call; RuntimeError where the process has died."""
        assert self._process.stdin and self._process.stdout
        print(op, repeat, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{' '.join(map(str, self._process.args))}: ended at op {op}")
        return float(answer)


@contextmanager
def start(library: str, ranks: int) -> Iterator[Peer]:
    """On this process' cores."""
    flags = f"--xla_force_host_platform_device_count={ranks}"
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__)), library, str(ranks)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
    )
    try:
        yield Peer(process)
    finally:
        process.kill()
        process.communicate()


def _jax_call(name: str, ranks: int) -> Callable[[], Any]:
    import jax

    compiled = trace(name, jax.make_mesh((ranks,), ("d",))).lower().compile()
    places = jax.tree.leaves(compiled.input_shardings[0])
    values = [jax.device_put(array, place) for array, place in zip(OPS[name].arrays(), places)]
    return lambda: jax.block_until_ready(compiled(*values))


def trace(name: str, mesh: Any) -> Any:
    """By JAX, the first input's first dimension split over the mesh's axis."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec as P

    op = OPS[name]
    arrays = op.arrays()
    specs = [P("d")] + [P()] * (len(arrays) - 1)
    places = tuple(NamedSharding(mesh, spec) for spec in specs)
    return jax.jit(lambda *values: op.jax(jax, *values), in_shardings=places).trace(*arrays)


def _torch_call(name: str, ranks: int) -> Callable[[], Any]:
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    values = [torch.from_numpy(array) for array in OPS[name].arrays()]
    function = OPS[name].torch
    assert function
    return lambda: function(torch, *values)


def _serve(library: str, ranks: int) -> None:
    make = {"jax": _jax_call, "torch": _torch_call}[library]
    calls: dict[str, Callable[[], Any]] = {}
    for request in sys.stdin:
        name, repeat = request.split()
        if name not in calls:
            calls = {name: make(name, ranks)}
            calls[name]()
        times = []
        for _ in range(int(repeat)):
            begin = time.perf_counter()
            calls[name]()
            times.append(time.perf_counter() - begin)
            if sum(times) > LONGEST:
                break
        print(min(times), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
