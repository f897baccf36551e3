# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.checkpoints.Series beside a run that goes on, and removes what it does not keep."""

import os
import threading
import warnings
from unittest import mock

import numpy as np
import pytest

from shoal import CheckpointError, CheckpointWarning, checkpoints
from shoal.checkpoints import checkpoint as reader
from shoal.checkpoints import series as module

LIKE = {"x": np.full(3, -1.0)}


def state(step):
    return {"x": np.full(3, float(step))}


@pytest.fixture
def run(tmp_path):
    """The series of the other run; it has saved step 1."""
    made = checkpoints.Series(tmp_path, keep_last=1)
    made.save(1, state(1))
    return made


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def save(run, step):
    # Another process, whose calls are not these.
    thread = threading.Thread(target=run.save, args=(step, state(step)))
    thread.start()
    thread.join()


@pytest.mark.parametrize("kept", (None, 1))
def test_all_that_was_listed_has_gone_before_it_is_looked_at(run, kept):
    """Not the state that is given because there is none, and not one from long ago."""
    if kept:
        run = checkpoints.Series(run.root, keep_last=1, keep_every=1000)
        run.save(1000, state(1000))
        run.save(1001, state(1001))
    base = 1001 if kept else 1
    original = os.listdir
    steps = iter((base + 1, base + 2, base + 3))
    is_mine = threading.get_ident()

    def listdir(path="."):
        names = original(path)
        if threading.get_ident() == is_mine and (step := next(steps, None)):
            save(run, step)
        return names

    with mock.patch("os.listdir", listdir):
        assert checkpoints.Series(run.root).load(LIKE)["x"][0] == base + 3


@pytest.mark.parametrize("moment", ("before it is opened", "before its shard is opened"))
def test_what_is_listed_goes_before_it_is_read(run, moment):
    original = (module.load, reader.TensorFile)[moment != "before it is opened"]
    steps = iter((2, 3, 4))

    def read(*arguments, **keywords):
        if step := next(steps, None):
            save(run, step)
        return original(*arguments, **keywords)

    place = (module, "load") if original is module.load else (reader, "TensorFile")
    with mock.patch.object(*place, read):
        assert checkpoints.Series(run.root).load(LIKE)["x"][0] == 4


def test_a_step_that_is_saved_again_while_it_is_read(run):
    original = reader.TensorFile
    values = iter((7, 8))

    def read(path):
        if value := next(values, None):
            thread = threading.Thread(target=run.save, args=(1, state(value)))
            thread.start()
            thread.join()
        return original(path)

    with mock.patch.object(reader, "TensorFile", read):
        assert checkpoints.Series(run.root).load(LIKE)["x"][0] == 8


def test_what_is_damaged_and_stays_is_an_error(run):
    (shard,) = run.folder(1).glob("*.safetensors")
    shard.unlink()
    with pytest.raises(CheckpointError, match="is missing"):
        run.load(LIKE)
    checkpoints.Series(run.root).save(0, state(0))
    with pytest.warns(CheckpointWarning, match="is missing.*step 0 is taken"):
        assert run.load(LIKE)["x"][0] == 0


def test_a_folder_that_was_never_whole_is_none(tmp_path):
    (tmp_path / "step-00000009").mkdir()
    assert checkpoints.Series(tmp_path).load(LIKE) is LIKE


def test_beside_a_run_that_saves_as_fast_as_it_can(run):
    done = threading.Event()

    def go_on():
        step = 1
        while not done.is_set():
            step += 1
            run.save(step, state(step))

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        found = [checkpoints.Series(run.root).load(LIKE)["x"][0] for _ in range(100)]
    finally:
        done.set()
        thread.join()
    assert found == sorted(found) and found[0] >= 1
