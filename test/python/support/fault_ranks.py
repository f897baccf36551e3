# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training run of which test_faults.py and fault_campaigns.py end, stop or mislead a rank.

Usage: mpirun -n 4 python fault_ranks.py FAULT [RANK STEP]
The rank, 2, meets the fault in front of its step 5, or as it starts; each rank prints its process
in front of each step. Without a fault of its own ("none") it goes on until it is ended.
"""

import os
import signal
import sys
import time

import numpy as np
import shoal
import train_programs as programs
from mpi4py import MPI
from shoal import train

RANK = MPI.COMM_WORLD.rank


def meet(fault):
    """What happens once the run is on its way."""
    if fault == "raise":
        raise ValueError(f"of rank {RANK}")
    if fault == "exit":
        sys.exit(0)
    if fault == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if fault == "slow":
        time.sleep(3)
    if fault == "fork":
        if os.fork() == 0:
            sys.exit(3)
        print("child ended with", os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
    if fault == "fork-raise":
        if os.fork() == 0:
            raise ValueError("of a child")
        print("child ended with", os.waitstatus_to_exitcode(os.wait()[1]), flush=True)


def other_loss(params, batch):
    return 2.0 * programs.loss(params, batch)


def cut(batch):
    """Fewer rows: another program, which the others do not ask for."""
    return {name: np.asarray(array)[:4] for name, array in batch.items()}


def main(fault, rank=2, at=5):
    is_meant = RANK == rank
    if is_meant and fault.startswith("first-"):
        meet(fault.removeprefix("first-"))
    optimizer = programs.optimizer()
    state = programs.start(optimizer)
    options = {}
    if is_meant and fault == "program":
        options["loss"] = other_loss
    if is_meant and fault == "flag":
        options["micro_batches"] = 2
    step = programs.jitted(state, optimizer, **options)
    for number, batch in enumerate(programs.batches().start()):
        sys.stdout.write(f"step {number} {os.getpid()} {RANK}\n")
        sys.stdout.flush()
        if is_meant and number == at:
            meet(fault)
            if fault == "shape":
                batch = cut(batch)
            if fault == "saves":  # the others do not
                train.save("/dev/null/none", state)
        state, _ = step(state, batch)
        if number == 8 and fault in ("slow", "fork", "fork-raise"):
            break
    if RANK == 0:
        print("done")


main(sys.argv[1], *map(int, sys.argv[2:]))
