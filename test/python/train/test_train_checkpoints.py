# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training that is cut off and goes on: from checkpoints, with the same devices and with others."""

import os
import signal
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import pytest
from paths import PATHS, SUPPORT
from resumed_runs import STEPS, leaves, trained
from shoal_testing import TARGET, mpi_environment

if TARGET != "cpu":
    pytest.skip("pools run programs for CPUs", allow_module_level=True)

from shoal import checkpoints


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return leaves(trained(tmp_path_factory.mktemp("whole"), STEPS))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_resumed_is_uninterrupted_bit_by_bit(whole, tmp_path, asynchronous):
    for steps in (3, 11, 17, STEPS):
        state = leaves(trained(tmp_path, steps, asynchronous=asynchronous))
    for name, array in whole.items():
        np.testing.assert_array_equal(state[name], array, err_msg=name)


@pytest.mark.parametrize("devices", [1, 2, 3, 8])
def test_resumed_on_other_devices_is_the_same_but_for_the_order_of_sums(whole, tmp_path, devices):
    trained(tmp_path, 9)
    state = leaves(trained(tmp_path, STEPS, devices))
    for name, array in whole.items():
        np.testing.assert_allclose(state[name], array, rtol=1e-5, atol=1e-6, err_msg=name)


def processes(folder, *launcher):
    """A run of resumed_runs.py, slow enough to be ended."""
    environment = mpi_environment() | {"PYTHONPATH": os.pathsep.join(PATHS)}
    command = [*launcher, sys.executable, str(SUPPORT / "resumed_runs.py"), str(folder), "100000"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_a_run_that_is_killed_goes_on_from_the_last_checkpoint(whole, tmp_path):
    """One rank of four, then the only process is killed, at any moment; then it ends."""
    rng = np.random.default_rng(0)
    for launcher in (("mpirun", "-n", "4"), ()):
        process = processes(tmp_path, *launcher)
        for _ in range(4 * (4 if launcher else 1)):
            rank = int(process.stdout.readline().split()[-1])
        time.sleep(0.03 * rng.random())
        os.kill(rank, signal.SIGKILL)
        process.communicate(timeout=30)
        assert 0 < checkpoints.Series(tmp_path).steps()[-1] < STEPS
    state = leaves(trained(tmp_path, STEPS))
    for name, array in whole.items():
        np.testing.assert_array_equal(state[name], array, err_msg=name)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_save_and_end(tmp_path, number):
    process = processes(tmp_path)
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(number)
    done = 3 + process.communicate(timeout=30)[0].count("step")
    assert process.returncode == 128 + number
    assert checkpoints.Series(tmp_path).steps()[-1] == done


def test_a_disk_that_is_full_ends_the_run_and_leaves_the_last_checkpoint(tmp_path):
    trained(tmp_path, 5)
    with (
        mock.patch("os.pwrite", side_effect=OSError(28, "No space left on device")),
        pytest.raises(OSError, match="No space left on device"),
    ):
        trained(tmp_path, 100)
    assert checkpoints.Series(tmp_path).steps() == [5]
