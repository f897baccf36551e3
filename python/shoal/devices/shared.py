# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The devices that everything in this process shares."""

from __future__ import annotations

import atexit
import os
import threading

from shoal.devices.interface import Devices
from shoal.devices.nodes_pool import NodesPool
from shoal.devices.job import Job
from shoal.devices.pool import Pool
from shoal.devices.workers import end_all
from shoal.errors import RunError
from shoal.executable.arguments import check_count
from shoal.executable.launch import Nodes, nodes_by_default, is_in_job

_turn = threading.Lock()
_pools: dict[int, Pool] = {}
_jobs: list[Job] = []


def launch(count: int, nodes: Nodes | None = None) -> Pool:
    """Starts so many devices: processes, until `close` or the end of `with`.

    nodes: where, as mpirun's --host has it ("a:2,b:2", or a list of such entries), a Path of a
      hostfile, or "allocated" for the nodes of Slurm's allocation. By default what the
      environment's SHOAL_NODES says as such entries; else this machine. See docs/guide/Nodes.md.

    RunError where they do not start, as in a process of an MPI job.
    """
    count = check_count("count", count, 1, 1 << 16)
    nodes = nodes or nodes_by_default()
    return Pool(count) if nodes is None else NodesPool(count, nodes)


def devices_of(count: int) -> Devices:
    """So many devices, the same at each call.

    In a process of an MPI job they are the job's ranks, and RunError is raised
    where those are not so many. In another one they are a pool, which starts with
    the first call, or if it was closed, and ends with this process.
    """
    with _turn:
        if is_in_job():
            return _job(count)
        pool = _pools.get(count)
        if pool is None or pool.is_closed:
            pool = _pools[count] = launch(count)
        return pool


def _job(count: int) -> Job:
    if not _jobs:
        _jobs.append(Job())
    (job,) = _jobs
    if job.count != count:
        hint = "; what has no mesh is for one device" if count == 1 else ""
        raise RunError(
            f"this process is one of an MPI job of {job.count}: there are no {count} devices: "
            f"give a mesh of {job.count}, or start {count} ranks{hint}"
        )
    return job


def _forget() -> None:
    global _turn  # pylint: disable=global-statement
    _turn = threading.Lock()
    _pools.clear()


# A child of os.fork starts devices of its own.
os.register_at_fork(after_in_child=_forget)
atexit.register(end_all)
