# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every rank of test_devices.py does: `job_ranks.py DONATED UNEVEN`, saved programs."""

import gc
import re
import sys
from pathlib import Path

import numpy as np
from executable_cases import scaled_inputs, scaled_outputs
from mpi4py import MPI
from rank_errors import raises

import shoal
from shoal.devices import Job, Placement, devices_of

COMM = MPI.COMM_WORLD


def steps(job, path):
    loaded = job.load(shoal.load(path))
    x, w = scaled_inputs().values()
    state, place = x, loaded.inputs[0].slices[COMM.rank]
    for number in range(3):
        expected = scaled_outputs(x * w**number, w)
        # A rank gives the whole, or its rows.
        given = x[place] if number == 0 and COMM.rank % 2 else state
        state, total = loaded.run([given, w])
        np.testing.assert_array_equal(state, expected["y"])
        np.testing.assert_array_equal(total, expected["sum"])
    assert (loaded.moves, loaded.copies) == (0, 0)
    (shard,) = state.shards
    assert shard.device == COMM.rank and shard.slices == place
    np.testing.assert_array_equal(shard.data, expected["y"][place])
    assert "on 4 devices" in str(state) and str(total) == str(expected["sum"])
    return loaded, state


def errors(job, loaded, state):
    x, w = scaled_inputs().values()
    wrong = [x, w.astype(float)] if COMM.rank == 2 else [x, w]
    message = raises(shoal.InputError, lambda: loaded.run(wrong))
    assert message == 'rank 2: input "w": expected float32 but got float64', message
    # The other ranks do not wait for this one to bring an array together.
    columns = [(slice(0, 8), slice(min(i, 3), min(i + 1, 3))) for i in range(4)]
    moved = job.put(x, Placement((8, 3), (8, 1), x.dtype, "columns", columns))
    assert "rank 2" in raises(shoal.InputError, lambda: loaded.run([moved, wrong[1]]))
    np.testing.assert_array_equal(loaded.run([moved, w])[0], x * w)
    assert loaded.moves == 1
    loaded.run([state, w])
    assert state.is_deleted
    message = raises(shoal.InputError, lambda: loaded.run([state, w]))
    assert "rank 0" in message and "was deleted" in message
    message = raises(shoal.InputError, lambda: loaded.run([x, w], timeout=0))
    assert "timeout: expected more than 0 s" in message
    np.testing.assert_array_equal(loaded.run([x, w], timeout=60)[0], x * w)
    assert "no 2 devices" in raises(shoal.RunError, lambda: devices_of(2))
    assert "is one of an MPI job" in raises(shoal.RunError, lambda: shoal.launch(2))


def uneven_rows(job, path):
    loaded = job.load(shoal.load(path))
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    y, total = loaded.run([x])
    np.testing.assert_array_equal(y, 2 * x)
    np.testing.assert_array_equal(total, 2 * x.sum(0))
    assert y.shards[0].data.shape == ((2, 2), (2, 2), (1, 2), (0, 2))[COMM.rank]
    return loaded, x


def garbage(job, path):
    """What is garbage on all ranks is unloaded by the next load; here rank 1 keeps a program."""
    others, kept = len(job._libraries), []
    for number in range(6):
        loaded = job.load(shoal.load(path))
        if number == 2 and COMM.rank == 1:
            kept.append(loaded)
        del loaded
        gc.collect()
        assert len(job._libraries) == others + 1 + (number > 2), number
    kept.clear()
    gc.collect()
    job.load(shoal.load(path))
    assert len(job._libraries) == others + 1
    maps = Path("/proc/self/maps").read_text()
    assert len(set(re.findall(r"/shoal-\w+\.so", maps))) == others + 1


def main():
    job = devices_of(4)
    assert isinstance(job, Job) and devices_of(4) is job
    loaded, state = steps(job, sys.argv[1])
    errors(job, loaded, state)
    other, x = uneven_rows(job, sys.argv[2])
    garbage(job, sys.argv[2])
    job.close()
    assert "closed" in raises(shoal.RunError, lambda: other.run([x]))
    print("passed", flush=True)


main()
