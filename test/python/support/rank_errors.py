# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors that all ranks of an MPI program must raise alike."""

from mpi4py import MPI


def raises(kind, call):
    """The message, which all ranks have in common."""
    try:
        call()
    except kind as error:
        messages = MPI.COMM_WORLD.allgather(str(error))
        assert len(set(messages)) == 1, messages
        return messages[0]
    raise AssertionError(f"rank {MPI.COMM_WORLD.rank}: no {kind.__name__}")
