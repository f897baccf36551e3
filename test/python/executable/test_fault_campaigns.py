# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A few faults of each of fault_campaigns.py."""

import fault_campaigns as campaigns
import numpy as np
import pytest
from shoal_testing import TARGET

if TARGET != "cpu":
    pytest.skip("GPUs have a watchdog of their own: test_cuda.py", allow_module_level=True)


@pytest.mark.alone
def test_a_rank_that_is_killed_is_named():
    campaigns.kills(1, np.random.default_rng(1))


@pytest.mark.alone
def test_a_rank_that_does_something_else_is_named():
    campaigns.divergences(1, np.random.default_rng(1), kinds=["program"])


@pytest.mark.alone
def test_python_that_is_killed_while_a_pool_starts():
    campaigns.starts(2, np.random.default_rng(1))


def test_meshes():
    campaigns.meshes(2, np.random.default_rng(1), trees=3)


def test_training_that_is_cut_off():
    campaigns.resumes(1, np.random.default_rng(1))


def test_disks_that_fail():
    campaigns.disks(4, np.random.default_rng(1))
