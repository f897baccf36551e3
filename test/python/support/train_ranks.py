#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every rank of test_train.py does: `mpirun -n 4 python train_ranks.py FOLDER`."""

import sys
from pathlib import Path

import numpy as np
import train_programs as programs
from mpi4py import MPI

from shoal import P, data, train
from shoal.devices import devices_of

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])


class Rows:
    """Examples that know which of them were read."""

    def __init__(self, arrays):
        self.arrays, self.read = arrays, set()

    def __len__(self):
        return len(self.arrays["x"])

    def __getitem__(self, row):
        self.read.add(row)
        return {name: array[row] for name, array in self.arrays.items()}


def each_rank_reads_its_rows():
    rows = Rows(programs.examples())
    numbered = programs.batches(data_=rows).start()
    batch = next(numbered)
    numbered.close()
    (shard,) = batch["x"].shards
    assert shard.data.shape == (2, 8)
    expected = data.Batches(programs.examples(), 8, seed=0)[0]
    np.testing.assert_array_equal(shard.data, expected["x"][2 * COMM.rank : 2 * COMM.rank + 2])
    np.testing.assert_array_equal(batch["x"], expected["x"])
    # Of at most four batches two rows each, and the row that types were asked of.
    assert len(rows.read) <= 9, rows.read


def the_run_is_that_of_one_process():
    state, step = programs.run(FOLDER, 24)
    assert int(state.step) == 24 and step.moves == 0 and step.cache_size() == 1
    COMM.Barrier()
    restored = train.load(FOLDER / "state.npz", state)
    np.testing.assert_array_equal(restored.params["wi"], state.params["wi"])


def a_failing_save_is_an_error_on_every_rank():
    made = devices_of(4).put(np.zeros(8, np.float32), data_placement())
    try:
        train.save(FOLDER / "missing" / "state.npz", {"x": made})
    except FileNotFoundError as error:
        assert len(set(COMM.allgather(str(error)))) == 1
    else:
        raise AssertionError("saved")


def data_placement():
    batch = data.Batches(np.zeros(8, np.float32), 8, mesh=programs.MESH, sharding=P("data"))[0]
    return batch.placement


for case in (
    each_rank_reads_its_rows,
    the_run_is_that_of_one_process,
    a_failing_save_is_an_error_on_every_rank,
):
    case()
    COMM.Barrier()
    if COMM.rank == 0:
        print(f"{case.__name__}: passed", flush=True)
