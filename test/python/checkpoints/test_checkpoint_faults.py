# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of processes that were killed, on disks that are full, with damaged bytes."""

import errno
import os
import signal
import sys
import warnings
from unittest import mock

import numpy as np
import pytest
from checkpoint_cases import MESHES, devices, placed, same_bits
from checkpoint_faults import each_call, kill_savers, tree_of

from shoal import CheckpointError, CheckpointWarning, checkpoints


def killed_at(number, function):
    """Whether a child that does this is killed in front of, or in the middle of, this call."""
    child = os.fork()
    if child == 0:
        try:
            def act(count, name, call, arguments):
                if count == number:
                    if name == "pwrite":  # a part of it came to the disk
                        descriptor, data, offset = arguments
                        call(descriptor, memoryview(data)[: len(data) // 2], offset)
                    os.kill(os.getpid(), signal.SIGKILL)

            with each_call(act):
                function()
            os._exit(0)
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status != 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("again", [False, True], ids=["the next step", "the same step"])
def test_a_kill_between_any_two_calls_of_the_system(tmp_path, again):
    """The checkpoint before is whole, or the new one is; the next save removes what was left."""
    series = checkpoints.Series(tmp_path, keep_last=1)
    series.save(1, tree_of(1))
    step = 1 if again else 2
    number = 0
    is_new = False
    while True:
        number += 1
        ended = not killed_at(number, lambda: series.save(step, tree_of(2)))
        found = series.load(tree_of(0))
        newest = int(found["step"])
        is_new = newest == 2
        for name, array in tree_of(newest).items():
            same_bits(found[name], array)
        if is_new:  # from the rename on
            if ended:
                break
            for step_ in series.steps():
                if step_ != 1:
                    checkpoints.saving.remove(series.folder(step_))
            series.save(1, tree_of(1))
    assert number > 15
    assert len(list(tmp_path.iterdir())) == 1 and len(list(series.folder(step).iterdir())) == 2


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_call_that_fails_is_one_error_and_nothing_is_lost(tmp_path, code):
    series = checkpoints.Series(tmp_path, keep_last=1)
    series.save(1, tree_of(1))
    failed = 0
    for number in range(1, 100):
        def act(count, name, call, arguments, number=number):
            # A full disk lets files be removed.
            if count >= number and name not in ("unlink", "rmdir"):
                raise OSError(code, os.strerror(code))

        try:
            with each_call(act):
                series.save(2, tree_of(2))
        except OSError as error:
            failed += 1
            assert error.errno == code and str(tmp_path) in str(error)
        else:
            break
        newest = series.load(tree_of(0))
        same_bits(newest["a"], tree_of(int(newest["step"]))["a"])
        if series.steps()[-1] == 2:  # what failed is behind the rename
            checkpoints.saving.remove(series.folder(2))
            series.save(1, tree_of(1))
        assert series.steps() == [1] and len(list(series.folder(1).iterdir())) == 2
        assert not series.folder(2).exists() or not list(series.folder(2).iterdir())
    assert failed > 10 and series.steps() == [2]


@pytest.mark.parametrize("seed", range(4))
def test_damage_is_found_and_named_and_the_one_before_is_taken(tmp_path, seed):
    """50 flipped bits or cut files a seed, anywhere in the newest checkpoint."""
    rng = np.random.default_rng(seed)
    series = checkpoints.Series(tmp_path)
    mesh = MESHES[5 + seed]
    for step in (1, 2):
        series.save(step, placed(rng, tree_of(step), mesh, devices(mesh.size)))
    files = sorted(series.folder(2).iterdir())
    for _ in range(50):
        file = files[rng.integers(len(files))]
        whole = file.read_bytes()
        damaged = bytearray(whole)
        place = rng.integers(len(whole))
        if rng.random() < 0.7:
            damaged[place] ^= 1 << int(rng.integers(8))
        else:
            del damaged[place:]
        file.write_bytes(damaged)
        with pytest.warns(CheckpointWarning) as caught:
            found = series.load(tree_of(0))
        (warning,) = caught
        assert file.name in str(warning.message) and "step 1 is taken" in str(warning.message)
        if file.name.startswith("shard"):
            assert f"written by rank {int(file.name[6:11])}" in str(warning.message)
        same_bits(found["a"], tree_of(1)["a"])
        with pytest.raises(CheckpointError), checkpoints.open(series.folder(2)) as source:
            source.verify()
        file.write_bytes(whole)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same_bits(series.load(tree_of(0))["a"], tree_of(2)["a"])


def test_where_all_are_damaged_the_newest_is_named(tmp_path):
    series = checkpoints.Series(tmp_path)
    for step in (1, 2):
        series.save(step, tree_of(step))
        (shard,) = series.folder(step).glob("shard-*")
        shard.unlink()
    with pytest.raises(CheckpointError, match=r"step-00000002/shard-.*: is missing \(a, b, step; written by"):
        series.load(tree_of(0))


def test_a_disk_that_has_lost_a_block(tmp_path):
    series = checkpoints.Series(tmp_path)
    for step in (1, 2):
        series.save(step, tree_of(step))
    (shard,) = series.folder(2).glob("shard-*")

    def preadv(descriptor, buffers, offset, call=os.preadv):
        if os.readlink(f"/proc/self/fd/{descriptor}") == str(shard) and offset > 20_000:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return call(descriptor, buffers, offset)

    message = r"shard-00000-of-00001-\w+.safetensors: cannot be read from byte \d+ on: .*; step 1 is taken"
    with mock.patch("os.preadv", preadv), pytest.warns(CheckpointWarning, match=message):
        same_bits(series.load(tree_of(0))["a"], tree_of(1)["a"])


def test_two_runs_that_save_to_one_folder(tmp_path):
    """What one of them takes for leftovers the other one misses before it says that it is whole."""
    slow = checkpoints.saving.Save(tmp_path, tree_of(1), None)
    slow.write()
    checkpoints.save(tmp_path, tree_of(2))
    slow.gather()
    with pytest.raises(CheckpointError, match="was removed before the checkpoint was complete: does another run"):
        slow.commit()
    same_bits(checkpoints.load(tmp_path, tree_of(0))["a"], tree_of(2)["a"])
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.alone
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kills_at_random_moments(tmp_path):
    assert kill_savers(tmp_path, 12) > 3
