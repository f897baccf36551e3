# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every rank of test_session.py does: `session_ranks.py CASE:FILE:... ...`.

Prints the name of each case that has passed.
"""

import _ctypes
import sys
import threading
from pathlib import Path

import numpy as np
from executable_cases import scaled_inputs, scaled_outputs
from mpi4py import MPI
from rank_errors import raises

import shoal

COMM = MPI.COMM_WORLD
RANK = COMM.rank


def place_of(session, name):
    return next(shard.slices for shard in session.outputs if shard.tensor.name == name)


def expect_shards(session, actual, inputs):
    for name, expected in scaled_outputs(**inputs).items():
        np.testing.assert_array_equal(actual[name], expected[place_of(session, name)])


def whole_and_local(path):
    inputs = scaled_inputs()
    with shoal.load(path).open(COMM) as session:
        assert session.inputs[0].slices == (slice(2 * RANK, 2 * RANK + 2), slice(0, 3))
        local = {"x": inputs["x"][2 * RANK : 2 * RANK + 2], "w": inputs["w"]}
        mixed = inputs if RANK % 2 else local
        strided = {"x": np.asfortranarray(inputs["x"]), "w": np.repeat(inputs["w"], 2)[::2]}
        for given in (inputs, local, mixed, strided, list(local.values())):
            expect_shards(session, session.run(given), inputs)
        # Results are arrays of their own, and inputs are left as they were.
        first = session.run(inputs)
        second = session.run({"x": first["y"], "w": inputs["w"]})
        expect_shards(session, first, inputs)
        expect_shards(session, second, {"x": inputs["x"] * inputs["w"], "w": inputs["w"]})
        np.testing.assert_array_equal(inputs["x"], scaled_inputs()["x"])


def a_donated_input(path):
    """A session's arrays are the caller's: they are left as they were."""
    inputs = scaled_inputs()
    x = inputs["x"][2 * RANK : 2 * RANK + 2].copy()
    x.flags.writeable = False
    with shoal.load(path).open(COMM) as session:
        for _ in range(2):
            expect_shards(session, session.run({"x": x, "w": inputs["w"]}), inputs)


def results_in_place(path):
    inputs = scaled_inputs()
    with shoal.load(path).open(COMM) as session:
        out = {"y": np.empty((2, 3), np.float32), "sum": np.empty(3, np.float32)}
        results = session.run(inputs, out=out)
        assert all(np.shares_memory(results[name], out[name]) for name in out)
        expect_shards(session, out, inputs)
        x = inputs["x"][2 * RANK : 2 * RANK + 2]
        for bad, message in [
            ({**out, "y": out["y"].T}, "expected float32[2, 3] but got float32[3, 2]"),
            ({**out, "y": out["y"].astype(float)}, "but got float64[2, 3]"),
            ({**out, "y": np.asfortranarray(out["y"])}, "expected a contiguous array"),
            ({**out, "y": [1]}, "expected an array but got list"),
            ({**out, "y": x}, "overlaps another array"),
            ({"y": out["y"]}, "outputs missing: sum"),
        ]:
            given = {"x": x, "w": inputs["w"]}
            assert message in raises(shoal.InputError, lambda: session.run(given, out=bad))


def no_copies(path):
    """Parts of whole arrays and shards are read where they lie, others are copied."""
    inputs = scaled_inputs()
    with shoal.load(path).open(COMM) as session:
        place = session._place
        shard = session.inputs[0]
        assert np.shares_memory(place(0, inputs["x"], shard), inputs["x"])
        assert np.shares_memory(place(0, inputs["x"][:2], shard), inputs["x"])
        strided = np.asfortranarray(inputs["x"])
        copy = place(0, strided, shard)
        assert not np.shares_memory(copy, strided)
        assert place(0, strided, shard) is copy


def one_rank_is_wrong(path):
    inputs = scaled_inputs()
    with shoal.load(path).open(COMM) as session:
        for bad, message in [
            ({"x": inputs["x"].astype(np.float64)}, '"x": expected float32 but got float64'),
            ({"x": np.zeros((3, 3), np.float32)}, "[8, 3], or a shard, of [2, 3], but got [3, 3]"),
            ({"z": 1}, "inputs unknown: z"),
        ]:
            given = {**inputs, **bad} if RANK in (2, 3) else inputs
            text = raises(shoal.InputError, lambda: session.run(given))
            assert text.startswith("rank 2: ") and message in text, text
        expect_shards(session, session.run(inputs), inputs)
    session.close()
    assert "the session is closed" in raises(shoal.RunError, lambda: session.run(inputs))


def bad_communicators(path):
    exe = shoal.load(path)
    assert "compiled for 4 devices, but runs on 1" in raises(
        shoal.RunError, lambda: exe.open(MPI.COMM_SELF)
    )
    assert "mpi4py but got int" in raises(shoal.InputError, lambda: exe.open(COMM.py2f()))
    assert "but got COMM_NULL" in raises(shoal.InputError, lambda: exe.open(MPI.COMM_NULL))


def other_programs(path, other):
    mine = shoal.load(other if RANK == 1 else path)
    assert "another program" in raises(shoal.RunError, lambda: mine.open(COMM))


def a_missing_library(path):
    exe = shoal.load(path)
    if RANK == 3:
        exe.library.unlink()
    message = raises(shoal.RunError, lambda: exe.open(COMM))
    assert message.startswith("rank 3: ") and "No such file" in message, message


def several_sessions(path, uneven):
    """Two programs, and one of them twice, on ranks in another order."""
    turned = COMM.Split(0, (RANK + 1) % COMM.size)
    inputs = scaled_inputs()
    exe = shoal.load(path)
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    with exe.open(COMM) as first, exe.open(turned) as second, shoal.load(uneven).open() as third:
        for _ in range(3):
            expect_shards(first, first.run(inputs), inputs)
            expect_shards(second, second.run(inputs), inputs)
            outputs = third.run([x])
            np.testing.assert_array_equal(outputs["y"], 2 * x[place_of(third, "y")])
            np.testing.assert_array_equal(outputs["sum"], 2 * x.sum(0))
            # Shards of the rows that exist, of which the last rank has none.
            doubled = third.run([outputs["y"]])
            np.testing.assert_array_equal(doubled["y"], 2 * outputs["y"])
        assert second.rank == (RANK + 1) % COMM.size


def another_library(path, other):
    """Parts of a file that do not belong together, on one rank."""
    exe, wrong = shoal.load(path), shoal.load(other)
    if RANK == 2:
        exe.library.write_bytes(wrong.library.read_bytes())
    message = raises(shoal.RunError, lambda: exe.open(COMM))
    assert message == "rank 2: program.so is not this program's library: other name", message
    if RANK == 2:
        exe.library.write_bytes(Path(_ctypes.__file__).read_bytes())
    assert "undefined symbol: shoal_program_metadata" in raises(
        shoal.RunError, lambda: exe.open(COMM)
    )


def threads_take_turns(path):
    inputs = scaled_inputs()
    with shoal.load(path).open(COMM) as session:
        failures = []

        def work():
            try:
                for _ in range(50):
                    expect_shards(session, session.run(inputs), inputs)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures


def closing_unloads(path):
    """Neither maps nor open files stay behind."""
    exe = shoal.load(path)
    maps = []
    for _ in range(10):
        with exe.open(COMM) as session:
            session.run(scaled_inputs())
        maps.append(len(Path("/proc/self/maps").read_text().splitlines()))
    assert maps[-1] < maps[1] + 5, maps


def a_step_fails(path):
    """On one rank, while others wait for its part of a sum."""
    with shoal.load(path).open(COMM) as session:
        session.run([np.float32([1, 0, 1, 1])])
    raise AssertionError("the step came back")


def the_host_is_called():
    """By the first rank; all get its answer, and its exception."""
    from executable_cases import CALLING
    from shoal.executable.host_calls import HostFunction

    seen = []

    def answer(x):
        seen.append(x)
        if x[0] > 5:
            raise ValueError("x is too large")
        return (x * 3,)

    exe = shoal.compile_text(CALLING, host_functions={0: HostFunction(answer)})
    x = np.arange(4, dtype=np.float32)
    with exe.open(COMM) as session:
        for _ in range(2):
            assert session.run([x])["y"] == x[RANK] * 3
        message = raises(shoal.RunError, lambda: session.run([x + 6]))
        assert message == "calling.mlir:8:3: \"answer\": ValueError: x is too large", message
        assert session.run([x])["y"] == x[RANK] * 3
    assert len(seen) == (0 if RANK else 4)


def a_host_that_fails_in_a_loop():
    """Which goes on until the host says so: the job does not hang."""
    from executable_cases import CALLING_IN_LOOP
    from shoal.executable.host_calls import HostFunction

    def answer(x):
        raise ValueError("no answer")

    exe = shoal.compile_text(CALLING_IN_LOOP, host_functions={0: HostFunction(answer)})
    with exe.open(COMM) as session:
        session.run([np.float32(0)])
    raise AssertionError("the step came back")


def compiled_once_for_all():
    from executable_cases import SCALED

    exe = COMM.bcast(shoal.compile_text(SCALED) if RANK == 0 else None)
    inputs = scaled_inputs()
    with exe.open() as session:
        expect_shards(session, session.run(inputs), inputs)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        case, *files = argument.split(":")
        globals()[case](*files)
        print(case, flush=True)
