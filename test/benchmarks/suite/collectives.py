# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives of Shoal's programs beside the same calls of plain MPI.

Run as `mpirun -n N python collectives.py NAME BYTES REPEAT` it makes the plain calls and
prints the least seconds of one, on the rank that takes longest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


@dataclass(frozen=True)
class Collective:
    """A program whose only work is the collective, and the plain call.

    inputs, outputs: how the array f32[ranks, words] or the result is split, as text.
    body: makes %y of %x; {x} and {y} are their types.
    result: the result's shape of ranks and words.
    call: the plain call, on the communicator, words to send and room for what comes.
    """

    inputs: str
    outputs: str
    body: str
    result: Callable[[int, int], tuple[int, ...]]
    call: Callable[[Any, np.ndarray, np.ndarray], Any]

    def program(self, ranks: int, words: int) -> str:
        x = f"tensor<{ranks}x{words}xf32>"
        y = f"tensor<{'x'.join(map(str, self.result(ranks, words)))}xf32>"
        return f"""
shoal.mesh @mesh = <["d" = {ranks}]>
func.func @main(%x: {x} {{shoal.sharding = #shoal.sharding<@mesh, {self.inputs}>}})
    -> ({y} {{shoal.sharding = #shoal.sharding<@mesh, {self.outputs}>}}) {{
  {self.body.format(x=x, y=y)}
  return %y : {y}
}}
"""


def _sum(comm: Any, sent: np.ndarray, room: np.ndarray) -> None:
    comm.Allreduce(sent, room[: sent.size])


def _scatter(comm: Any, sent: np.ndarray, room: np.ndarray) -> None:
    comm.Reduce_scatter_block(sent, room[: sent.size // comm.size])


def _gather(comm: Any, sent: np.ndarray, room: np.ndarray) -> None:
    comm.Allgather(sent, room[: sent.size * comm.size])


def _swap(comm: Any, sent: np.ndarray, room: np.ndarray) -> None:
    comm.Alltoall(sent, room[: sent.size])


def _shift(comm: Any, sent: np.ndarray, room: np.ndarray) -> None:
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.Sendrecv(sent, to, recvbuf=room[: sent.size], source=source)


_SUM = "%y = shoal.reduce sum %x dims = [0] : {x} -> {y}"
_ROWS, _COLUMNS = '[{"d"}, {}]', '[{}, {"d"}]'
COLLECTIVES = {
    "all_reduce": Collective(_ROWS, "[{}]", _SUM, lambda n, words: (words,), _sum),
    "reduce_scatter": Collective(_ROWS, '[{"d"}]', _SUM, lambda n, words: (words,), _scatter),
    # The copy is where the result's memory is not the argument's.
    "all_gather": Collective(
        _ROWS, "[{}, {}]", "%y = arith.negf %x : {x}", lambda n, words: (n, words), _gather
    ),
    "all_to_all": Collective(
        _ROWS, _COLUMNS, "%y = arith.negf %x : {x}", lambda n, words: (n, words), _swap
    ),
    "collective_permute": Collective(
        _ROWS,
        _ROWS,
        "%y = shoal.roll %x dim = 0 shift = 1 : {x}",
        lambda n, words: (n, words),
        _shift,
    ),
}


def plain(name: str, ranks: int, size: int, repeat: int) -> float:
    """Seconds of the plain call; the processes end behind it, as waiting ranks take time."""
    command = ["mpirun", "-n", str(ranks), sys.executable, str(Path(__file__))]
    command += [name, str(size), str(repeat)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ | MPI)
    return float(done.stdout)


def plain_way(name: str, ranks: int, size: int) -> Callable[[int], float]:
    return partial(plain, name, ranks, size)


def _main(name: str, size: int, repeat: int) -> None:
    from mpi4py import MPI as mpi

    comm = mpi.COMM_WORLD
    sent = np.ones(size // 4, np.float32)
    room = np.empty(sent.size * comm.size, np.float32)
    times = []
    for _ in range(repeat + 1):
        comm.Barrier()
        begin = time.perf_counter()
        COLLECTIVES[name].call(comm, sent, room)
        times.append(comm.allreduce(time.perf_counter() - begin, mpi.MAX))
    if comm.rank == 0:
        print(min(times[1:]))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
