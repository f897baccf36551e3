# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs that go on with other batches and devices, and those that end at what is not finite."""

import ml_dtypes
import numpy as np
import pytest
import train_programs as programs
from checkpoint_cases import devices
from shoal_testing import TARGET

if TARGET != "cpu":
    pytest.skip("pools run programs for CPUs", allow_module_level=True)

import shoal
from shoal import InputError, P, RunError, checkpoints, data, optim, train
from shoal.frontend.annotations import as_sharding
from shoal.mesh_sharding import placement_of


def rows():
    """Examples that say which they are."""
    return programs.examples() | {"row": np.arange(50, dtype=np.int32)}


class Run:
    """Of some devices and a batch size. seen: the rows of each step; losses: its loss."""

    def __init__(self, folder, devices, size):
        self.mesh, self.size = shoal.Mesh(data=devices), size
        optimizer = programs.optimizer()
        start = programs.start(optimizer)
        self.step = programs.jitted(start, optimizer, self.mesh)
        self.series = checkpoints.Series(folder)
        at = train.shardings(start, P(), optim.split_over("data", start.params, self.mesh))
        self.state = self.series.load(start, mesh=self.mesh, sharding=at)
        self.seen, self.losses = [], []

    def until(self, steps):
        batches = data.Batches(rows(), self.size, seed=0, mesh=self.mesh, sharding=P("data"))
        self.state = train.fit(self.watched, self.state, batches, steps, quiet=True, save=self.series)
        assert self.step.moves == 0
        return self

    def watched(self, state, batch):
        self.seen += np.asarray(batch["row"]).tolist()
        state, metrics = self.step(state, batch)
        self.losses.append(float(metrics["loss"]))
        return state, metrics


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """16 steps of 8 samples on 4 devices: two epochs and a half."""
    return Run(tmp_path_factory.mktemp("whole"), 4, 8).until(16)


# Devices, batch size and steps of each part of a run of 128 samples.
PARTS = {
    "other devices": [(4, 8, 5), (2, 8, 5), (1, 8, 6)],
    "smaller batches": [(4, 8, 5), (4, 4, 22)],
    "other batches on other devices": [(4, 8, 7), (2, 6, 4), (1, 48, 1)],
}


@pytest.mark.parametrize("name", PARTS)
def test_the_same_sample_is_next(whole, tmp_path, name):
    seen, losses, steps = [], [], 0
    for devices, size, count in PARTS[name]:
        steps += count
        run = Run(tmp_path, devices, size).until(steps)
        assert int(run.state.step) == steps and int(run.state.samples) == len(seen) + len(run.seen)
        seen += run.seen
        losses += run.losses
    assert seen == whole.seen
    same = 16 if name == "other devices" else PARTS[name][0][2]
    np.testing.assert_allclose(losses[:same], whole.losses[:same], rtol=1e-5)


def test_batches_that_drop_rows_go_on_with_their_size(tmp_path):
    def step(state, batch):
        return state._replace(step=state.step + 1, samples=state.samples + len(batch)), {"loss": 1.0}

    state = train.init(np.ones(3, np.float32), optim.sgd(1.0))
    first = data.Batches(np.arange(10), 4, last="drop")
    state = train.fit(step, state, first, 5, quiet=True)
    assert int(state.samples) == 20
    assert int(train.fit(step, state, first, 6, quiet=True).samples) == 24
    with pytest.raises(InputError, match='20 samples are behind 5 steps, but batches are of 5, and last="drop"'):
        train.fit(step, state, data.Batches(np.arange(10), 5, last="drop"), 6, quiet=True)
    # Without a count each step has taken a batch of this size.
    seen = []
    train.fit(
        lambda state, batch: (seen.append(batch.tolist()), (state._replace(step=6), {}))[1],
        state._replace(samples=None), data.Batches(np.arange(10), 5), 6, quiet=True,
    )  # fmt: skip
    assert seen == [[5, 6, 7, 8, 9]]


def test_a_step_that_does_not_count_is_refused():
    state = train.init(np.ones(3, np.float32), optim.sgd(1.0))
    with pytest.raises(InputError, match="4 samples are behind it, but its state says 0: count the rows"):
        train.fit(
            lambda state, batch: (state._replace(step=state.step + 1), {}),
            state, data.Batches(np.arange(10), 4), 6, quiet=True,
        )  # fmt: skip


def linear(params, batch):
    return shoal.sum(params["w"] * batch.astype(params["w"].dtype))


def state_of(optimizer, dtype=np.float32):
    return train.init({"w": np.ones(4, dtype)}, optimizer)


# The optimiser, the type of parameters, gradients but one and that one, and what is not finite behind it.
ADAM = "optimizer/0"
BAD = {
    "a batch with NaN": (optim.adamw(1e-2), np.float32, 1.0, np.nan, f"params/w, {ADAM}/mu/w, {ADAM}/nu/w"),
    "an update beyond float32": (optim.sgd(1e10), np.float32, 1e-12, 1e30, "params/w"),
    "an update beyond bfloat16": (optim.sgd(1e10), ml_dtypes.bfloat16, 1e-12, 1e30, "params/w"),
    "a moment beyond float32": (optim.adamw(1e-2), np.float32, 1.0, 1e25, f"{ADAM}/nu/w"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_state_that_is_not_finite_is_not_saved(tmp_path, name):
    """Step 7 of 12 makes it, whether its loss is finite or not. The last good ones stay."""
    optimizer, dtype, usual, bad, arrays = BAD[name]
    step = shoal.jit(train.step(linear, optimizer))
    batches = [np.full(4, bad if i == 6 else usual, np.float32) for i in range(12)]
    series, logged = checkpoints.Series(tmp_path, keep_last=2, asynchronous=True), []
    with pytest.raises(RunError, match=f"^the state behind step 8 is not finite, and is not saved: {arrays}$"):
        train.fit(
            step, state_of(optimizer, dtype), batches, 12, quiet=True, save=series, save_every=2,
            log=[lambda step, values: logged.append(step)], log_every=4, finite=(),
        )  # fmt: skip
    assert series.steps() == [4, 6] and logged == [4, 8]
    loaded = series.load(state_of(optimizer, dtype))
    assert int(loaded.step) == 6 and np.isfinite(np.asarray(loaded.params["w"], np.float32)).all()


def test_steps_that_are_left_out_are_saved(tmp_path):
    """A batch with NaN ends no run whose optimiser leaves it out."""
    optimizer = optim.apply_if_finite(optim.adamw(1e-2))
    batches = [np.full(4, np.nan if i == 1 else 1.0, np.float32) for i in range(3)]
    series = checkpoints.Series(tmp_path)
    step = shoal.jit(train.step(linear, optimizer))
    train.fit(step, state_of(optimizer), batches, 3, quiet=True, save=series, save_every=1)
    assert series.steps() == [1, 2, 3] and int(series.load(state_of(optimizer)).optimizer.skipped) == 1


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn]
)
def test_a_state_is_read_where_it_lies(dtype):
    """Of arrays on devices each process reads its rows; integers are finite."""
    array = np.ones((8, 3), dtype)
    mesh = shoal.Mesh(x=4)
    placement = placement_of(as_sharding(P("x"), array.shape, mesh, "a"), mesh, array.shape, array.dtype)
    state = {"a": devices(4).put(array, placement), "n": np.int32(1), "b": array}
    train.check_finite(state)
    array[5, 1] = np.nan
    with pytest.raises(RunError, match="^the state is not finite, and is not saved: a$"):
        train.check_finite({"a": devices(4).put(array, placement), "n": np.int32(1)})
    with pytest.raises(RunError, match="saved: b$"):
        train.check_finite({"b": array})
    last = np.zeros(200_001, dtype)  # behind whole chunks, and not in rows that lie one behind the other
    last[-1] = -np.inf
    with pytest.raises(RunError, match="saved: c$"):
        train.check_finite({"c": last[None].T, "d": last[:-1]})
