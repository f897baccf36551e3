# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training run of which test_faults.py ends, stops or misleads a rank.

Usage: mpirun -n 4 python fault_ranks.py FAULT
Rank 2 meets the fault in front of its 5th step; each rank prints its process in front of each.
"""

import os
import signal
import sys
import time

import train_programs as programs
from mpi4py import MPI

RANK = MPI.COMM_WORLD.rank


def meet(fault):
    if fault == "raise":
        raise ValueError("of rank 2")
    if fault == "exit":
        sys.exit(0)
    if fault == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if fault == "slow":
        time.sleep(3)


def main(fault):
    optimizer = programs.optimizer()
    state = programs.start(optimizer)
    step = programs.jitted(state, optimizer)
    for number, batch in enumerate(programs.batches().start()):
        sys.stdout.write(f"step {number} {os.getpid()}\n")
        sys.stdout.flush()
        if RANK == 2 and number == 5:
            meet(fault)
        state, _ = step(state, batch)
        if number == 8 and fault == "slow":
            break
    if RANK == 0:
        print("done")


main(sys.argv[1])
