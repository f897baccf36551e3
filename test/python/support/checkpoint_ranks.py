#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every rank of test_checkpoints.py does: `mpirun -n 4 python checkpoint_ranks.py FOLDER`."""

import os
import sys
from pathlib import Path
from unittest import mock

import numpy as np
from mpi4py import MPI

import shoal
from shoal import CheckpointError, P, checkpoints
from shoal.checkpoints.checksums import BLOCK
from shoal.devices import devices_of
from shoal.frontend.annotations import as_sharding
from shoal.mesh_sharding import placement_of

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])
MESH = shoal.Mesh(a=2, b=2)
X = np.arange(7 * 300, dtype=np.float32).reshape(7, 300)


def state():
    wanted = as_sharding(P("a", "b"), X.shape, MESH, "x")
    made = devices_of(4).put(X, placement_of(wanted, MESH, X.shape, X.dtype))
    return {"x": made, "y": np.zeros(5, np.int32)}


def ranks_write_and_read_their_rows():
    checkpoints.save(FOLDER / "job", state())
    COMM.Barrier()
    assert len(list((FOLDER / "job").glob("shard-*"))) == 4
    with checkpoints.open(FOLDER / "job") as source:
        loaded = checkpoints.load(source, state(), mesh=MESH, sharding={"x": P(None, "b"), "y": P()})
        assert source.bytes_read < X.nbytes // 2 + 4 * BLOCK
    np.testing.assert_array_equal(loaded["x"], X)
    assert loaded["x"].shards[0].data.shape == (7, 150)


def an_error_of_one_rank_is_one_of_all():
    """The checkpoint before stays, and nothing of the new one."""
    before = sorted((FOLDER / "job").iterdir())
    COMM.Barrier()
    full = OSError(28, "No space left on device")
    with mock.patch("os.pwrite", side_effect=full) if COMM.rank == 2 else mock.patch("os.link"):
        try:
            checkpoints.save(FOLDER / "job", state())
        except OSError as error:
            assert "No space left on device (rank 2)" in str(error), error
            assert len(set(COMM.allgather(str(error)))) == 1
        else:
            raise AssertionError("saved")
    COMM.Barrier()
    assert sorted((FOLDER / "job").iterdir()) == before


def damage_that_one_rank_meets_is_an_error_of_all():
    if COMM.rank == 0:
        checkpoints_ = sorted((FOLDER / "job").glob("shard-00003-*"))
        data = bytearray(checkpoints_[0].read_bytes())
        (FOLDER / "kept").write_bytes(data)
        data[-1] ^= 4
        checkpoints_[0].write_bytes(data)
    COMM.Barrier()
    try:
        checkpoints.load(FOLDER / "job", state())
    except CheckpointError as error:
        assert "shard-00003-of-00004" in str(error) and "x[4:7,150:300]; written by rank 3" in str(error)
    else:
        raise AssertionError("loaded")
    COMM.Barrier()
    if COMM.rank == 0:
        os.replace(FOLDER / "kept", checkpoints_[0])


def a_save_in_the_background_ends_by_polling():
    series = checkpoints.Series(FOLDER / "run", keep_last=1, asynchronous=True)
    for step in (1, 2):
        series.save(step, state())
        while not series.poll():
            pass
    series.close()
    COMM.Barrier()
    assert series.steps() == [2]
    np.testing.assert_array_equal(series.load(state())["x"], X)


for case in (
    ranks_write_and_read_their_rows,
    an_error_of_one_rank_is_one_of_all,
    damage_that_one_rank_meets_is_an_error_of_all,
    a_save_in_the_background_ends_by_polling,
):
    case()
    COMM.Barrier()
    if COMM.rank == 0:
        print(f"{case.__name__}: passed", flush=True)
