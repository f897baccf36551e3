# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.data: which rows batches have, in which order; sources; reading ahead; placing."""

import gc
import os
import threading
import time

import numpy as np
import pytest
from shoal_testing import TARGET

import shoal
from shoal import InputError, P
from shoal.data import Batches, Mixture
from shoal.data.permutation import permuted


def rows_of(batches):
    """Of batches that are one array each."""
    return np.concatenate([np.atleast_1d(batch) for batch in batches])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 16, 17, 255, 1000])
def test_shuffling_is_a_bijection(count):
    for keys in ((0, 0), (0, 1), (1, 0)):
        assert sorted(permuted(np.arange(count), count, *keys)) == list(range(count))


def test_shuffled_orders_are_evenly_drawn():
    """Of 4 rows all 24 orders come, each about as often; and each of two rows is first half the time."""
    orders, times = np.unique(
        [permuted(np.arange(4), 4, 0, epoch) for epoch in range(4800)], axis=0, return_counts=True
    )
    assert len(orders) == 24
    assert np.sum((times - 200.0) ** 2 / 200) < 60  # chi squared of 23 degrees: 1 in 40,000


def test_neighbours_are_not_neighbours_any_more():
    order = permuted(np.arange(10_000), 10_000, 3, 0)
    assert np.mean(np.abs(np.diff(order)) == 1) < 0.002
    assert abs(np.corrcoef(order, np.arange(10_000))[0, 1]) < 0.05


def test_the_order_stays_the_same_in_all_versions():
    """A run that goes on with another version of Shoal reads on."""
    assert permuted(np.arange(8), 100, 7, 3).tolist() == [97, 79, 93, 82, 14, 20, 26, 43]


def test_epochs_have_each_row_once_in_another_order():
    batches = Batches(np.arange(23), 5, seed=1, epochs=3, last="drop")
    assert (len(batches), batches.per_epoch) == (12, 4)
    epochs = rows_of(batches).reshape(3, 20)
    for rows in epochs:
        assert len(set(rows)) == 20
    assert not np.array_equal(epochs[0], epochs[1])
    assert len(set(epochs.ravel())) == 23  # others are left out in each
    other = rows_of(Batches(np.arange(23), 5, seed=2, epochs=3, last="drop"))
    assert not np.array_equal(other, epochs.ravel())


def test_an_epochs_rest_is_the_next_ones_first_batch():
    """Each row comes once in each epoch, and rows are left out behind the last one alone."""
    batches = Batches(np.arange(23), 5, seed=1, epochs=3)
    assert (len(batches), batches.per_epoch) == (13, 4)
    rows = rows_of(batches)
    for epoch in (rows[:23], rows[23:46]):
        assert sorted(epoch) == list(range(23))
    assert len(set(rows[46:])) == len(rows[46:]) == 19
    assert not np.array_equal(rows[:23], rows[23:46])


def test_without_a_seed_rows_come_as_they_are():
    assert rows_of(Batches(np.arange(10), 4, epochs=2)).tolist() == [*range(10), *range(10)]
    assert rows_of(Batches(np.arange(10), 4, epochs=2, last="drop")).tolist() == [*range(8), *range(8)]


def test_the_last_batch_is_padded_and_masked():
    items = list(Batches(np.arange(10), 4, seed=0, epochs=2, last="pad"))
    assert [mask.tolist() for _, mask in items] == [[True] * 4, [True] * 4, [True] * 2 + [False] * 2] * 2
    for epoch in (items[:3], items[3:]):
        kept = np.concatenate([batch[mask] for batch, mask in epoch])
        assert sorted(kept) == list(range(10))


def test_reading_goes_on_from_any_batch():
    batches = Batches(np.arange(50), 8, seed=4)
    whole = batches.start()
    first = [next(whole) for _ in range(20)]
    for at in (0, 1, 6, 13):
        reader = batches.start(samples=8 * at, ahead=at % 3)
        assert reader.position == 8 * at
        for number in range(at, 20):
            np.testing.assert_array_equal(next(reader), first[number])
            np.testing.assert_array_equal(batches[number], first[number])
        assert reader.position == 160
        reader.close()


SOURCES = {
    "shuffled": (np.arange(50), {"seed": 4}),
    "in order": (np.arange(50), {}),
    "epochs that end": (np.arange(50), {"seed": 4, "epochs": 4}),
    "a mixture": (Mixture([np.arange(50), 100 + np.arange(7)], [2, 1]), {"seed": 4}),
    "iterated over": (list(range(50)), {}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_batches_of_another_size_go_on_at_the_same_sample(name):
    """Of sizes that divide neither each other nor the epoch: the samples are those of one run."""
    source, options = SOURCES[name]
    whole = rows_of(Batches(source, 1, **options)[n] for n in range(170))
    rows, samples = [], 0
    for size, count in ((8, 5), (3, 4), (16, 3), (7, 10)):
        reader = Batches(source, size, **options).start(samples=samples, ahead=0)
        rows += [next(reader) for _ in range(count)]
        samples = reader.position
    assert samples == 40 + 12 + 48 + 70
    np.testing.assert_array_equal(np.concatenate(rows), whole)


@pytest.mark.parametrize("last", ["drop", "pad"])
def test_an_order_that_depends_on_the_size_says_so(last):
    batches = Batches(np.arange(50), 8, last=last)
    assert batches.start(samples=16, ahead=0).position == 16
    with pytest.raises(InputError, match=f'samples: 20 is within a batch of 8, and last="{last}" depends'):
        batches.start(samples=20)


def test_the_last_batch_of_a_run_that_goes_on_is_whole():
    reader = Batches(np.arange(10), 4, epochs=2).start(samples=9)
    assert [batch.tolist() for batch in reader] == [[9, 0, 1, 2], [3, 4, 5, 6]]
    assert list(Batches(np.arange(10), 4, epochs=2).start(samples=20)) == []


def test_trees_of_arrays_and_files_that_are_mapped(tmp_path):
    x = np.arange(60, dtype=np.float32).reshape(20, 3)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    batch = Batches({"x": mapped, "pair": (x[:, 0], np.arange(20, dtype=np.int32))}, 6, seed=0)[2]
    rows = batch["pair"][1]
    assert batch["x"].dtype == np.float32 and type(batch["x"]) is np.ndarray
    np.testing.assert_array_equal(batch["x"], x[rows])
    np.testing.assert_array_equal(batch["pair"][0], x[rows, 0])


def test_examples_are_stacked():
    examples = [{"x": np.full(3, i, np.float32), "label": i} for i in range(9)]
    batch = Batches(examples, 4, seed=3)[1]
    assert batch["x"].shape == (4, 3) and batch["label"].shape == (4,)
    np.testing.assert_array_equal(batch["x"][:, 0], batch["label"])


class Lines:
    """Has a length and can be iterated over, no more."""

    def __init__(self, count, says=None):
        self.count, self.begun = count, 0
        self.says = count if says is None else says

    def __len__(self):
        return self.says

    def __iter__(self):
        self.begun += 1
        return iter(range(self.count))


def test_what_is_iterated_over_is_read_in_order_and_again_in_each_epoch():
    lines = Lines(7)
    batches = Batches(lines, 3, epochs=2)
    assert rows_of(batches.start(ahead=0)).tolist() == [0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4]
    assert lines.begun == 2
    assert batches[3].tolist() == [2, 3, 4]


def test_mixtures_take_of_each_source_what_its_weight_says():
    small, large = np.arange(6), 100 + np.arange(500)
    batches = Batches(Mixture([small, large], [1, 3]), 10, seed=0)
    rows = rows_of(batches[n] for n in range(40))
    mine = rows[rows < 100]
    assert len(mine) == 100
    # Evenly: of any four in a row one.
    assert set(np.convolve(rows < 100, np.ones(4), "valid")) == {1.0}
    # Its own epochs: each row once in six, in other orders.
    epochs = mine[:96].reshape(16, 6)
    assert all(sorted(epoch) == list(range(6)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 8
    assert len(set(rows[rows >= 100])) == 300


def test_weights_need_not_be_whole_numbers():
    parts = [np.full(10, i) for i in range(3)]
    rows = rows_of(Batches(Mixture(parts, [0.5, 0.3, 0.2]), 10)[n] for n in range(100))
    assert [int(np.sum(rows == i)) for i in range(3)] == [500, 300, 200]
    rows = rows_of(Batches(Mixture(parts, [1.0, 1e-9, 2**0.5]), 10)[n] for n in range(100))
    assert 0 < np.sum(rows == 1) < 5  # at least one of a thousand
    assert abs(np.sum(rows == 0) - 1000 / (1 + 2**0.5)) < 3


class Watched:
    """Examples that know which of them were read, by which threads."""

    def __init__(self, count):
        self.read, self.threads, self.count = [], set(), count

    def __len__(self):
        return self.count

    def __getitem__(self, row):
        self.read.append(row)
        self.threads.add(threading.current_thread().name)
        return np.float32(row)


def wait_for(condition):
    for _ in range(500):
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_a_thread_reads_ahead_and_ends_with_its_reader():
    watched = Watched(100)
    reader = Batches(watched, 10).start(ahead=3)
    next(reader)
    # One is given, three wait, the next is in the thread's hands.
    assert wait_for(lambda: len(watched.read) >= 50)
    time.sleep(0.05)
    assert len(watched.read) == 50 and watched.threads == {"shoal.data"}

    def is_running():
        return any(thread.name == "shoal.data" for thread in threading.enumerate())

    assert is_running()
    del reader
    gc.collect()
    assert wait_for(lambda: not is_running())


def test_errors_of_reading_come_where_the_batch_would():
    class Broken(Watched):
        def __getitem__(self, row):
            if row == 25:
                raise OSError("no such row")
            return super().__getitem__(row)

    reader = Batches(Broken(40), 10).start()
    assert [next(reader)[0] for _ in range(2)] == [0, 10]
    for _ in range(2):
        with pytest.raises(OSError, match="no such row"):
            next(reader)


@pytest.mark.skipif(TARGET != "cpu", reason="pools run programs for CPUs")
def test_batches_on_devices_lie_where_the_program_reads_them():
    mesh = shoal.Mesh(data=2, model=2)
    data = {"x": np.arange(120, dtype=np.float32).reshape(20, 6), "row": np.arange(20)}
    spec = {"x": P(("model", "data"), None), "row": P("data")}
    step = shoal.jit(lambda batch: batch["x"].sum(1) + batch["row"], mesh=mesh, in_shardings=(spec,))
    free = shoal.jit(lambda batch: batch["x"].sum(1) + batch["row"])
    batches = Batches(data, 8, seed=0, epochs=1, mesh=mesh, sharding=spec)
    for batch, plain in zip(batches, Batches(data, 8, seed=0, epochs=1), strict=True):
        for function in (step, free):
            made = function(batch)
            np.testing.assert_allclose(made, plain["x"].sum(1) + plain["row"])
    # Also where only the arrays say it, on which mesh and where.
    assert step.moves == free.moves == 0
    assert free.executable_for(batch).inputs[1].sharding == '<@mesh, [{"model", "data"}, {}]>'


@pytest.mark.parametrize("rows", [8, 7, 3])
@pytest.mark.parametrize("spec", [P("a"), P(("b", "a")), P(None, "b"), P("b", "a"), P()])
def test_placements_are_those_of_programs(rows, spec):
    mesh = shoal.Mesh({"a": 2, "b": 3}, device_ids=[5, 0, 3, 1, 4, 2])
    exe = shoal.compile(
        lambda x: x * 2, (shoal.TensorSpec((rows, 5), "float32"),), mesh, in_shardings=(spec,)
    )
    from shoal.frontend.annotations import as_sharding
    from shoal.mesh_sharding import placement_of, recall, shardings_of

    sharding = as_sharding(spec, (rows, 5), mesh, "x")
    placement = placement_of(sharding, mesh, (rows, 5), np.dtype(np.float32))
    (tensor,) = exe.inputs
    assert (placement.local_shape, placement.sharding) == (tensor.local_shape, tensor.sharding)
    (known,) = shardings_of(exe.signature.description, "inputs")
    assert recall(placement) == known


@pytest.mark.parametrize(
    "message, make",
    [
        ("batch_size: expected at least 1", lambda: Batches(np.arange(3), 0)),
        ("batch_size 4: there are 3 rows", lambda: Batches(np.arange(3), 4)),
        ('last: expected "rollover", "drop" or "pad"', lambda: Batches(np.arange(3), 1, last="keep")),
        ("sharding: needs a mesh", lambda: Batches(np.arange(3), 1, sharding=P("x"))),
        (r"arrays of \[2, 3\] rows", lambda: Batches((np.arange(3), np.arange(2)), 1)),
        ("expected arrays with rows, got int", lambda: Batches({"a": 3}, 1)),
        ("or what has a length, got generator", lambda: Batches((i for i in range(3)), 1)),
        ("cannot be shuffled", lambda: Batches(Lines(3), 1, seed=0)),
        ("ends behind 2 of 5 examples", lambda: Batches(Lines(2, says=5), 5)[0]),
        ("start: samples: 9 of 3", lambda: Batches(np.arange(3), 1, epochs=1).start(samples=9)),
        (
            r"example 1 has an array float64\[3\], example 0 has float64\[2\]",
            lambda: Batches([np.zeros(2), np.zeros(3)], 2)[0],
        ),
        (
            "example 1 has the structure .* example 0 has",
            lambda: Batches([{"a": 1}, {"b": 1}], 2)[0],
        ),
        ("2 sources but 1 weights", lambda: Mixture([np.arange(2)] * 2, [1])),
        ("weights above 0", lambda: Mixture([np.arange(2)] * 2, [1, 0])),
        ("no epochs of its own", lambda: Batches(Mixture([np.arange(2)], [1]), 1, epochs=1)),
        (
            "different structures or types",
            lambda: Batches(Mixture([np.zeros(2), np.zeros(2, int)], [1, 1]), 2)[0],
        ),
    ],
)
def test_errors(message, make):
    with pytest.raises(InputError, match=message):
        make()


def test_batches_beyond_the_end():
    batches = Batches(np.arange(6), 2, epochs=1)
    with pytest.raises(IndexError, match="batch 3 of 3"):
        batches[3]
    with pytest.raises(TypeError, match="no length"):
        len(Batches(np.arange(6), 2))


def test_a_mapped_file_that_was_cut_is_named(tmp_path):
    """To read what is not there any more would end the process."""
    path = tmp_path / "tokens.npy"
    np.save(path, np.zeros((4096, 64), np.int32))
    batches = Batches(np.load(path, mmap_mode="r"), 8, seed=0)
    next(iter(batches))
    os.truncate(path, 4096)
    with pytest.raises(shoal.InputError, match=r"data: \S*tokens.npy has 4096 bytes, and the array mapped of it 10\d+: it was cut"):
        next(iter(batches))
