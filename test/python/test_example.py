# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples' commands."""

import os
import sys

import numpy as np
import pytest
from conftest import PATHS
from shoal_testing import BIN, ROOT, load_json, run


@pytest.fixture
def shoal_in_processes(monkeypatch):
    """Processes that a test starts find the package."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([PATHS[0], os.environ.get("PYTHONPATH", "")]))


def test_the_moe_layer_example_runs_and_checks_itself(tmp_path):
    script = ROOT / "examples/moe_layer/run.py"
    ended = run(sys.executable, script, "--bin", BIN, "--out", tmp_path, timeout=120)
    output = ended.expect_success().stdout
    assert "byte tokens" in output
    assert "all_to_all" in output
    assert "from NumPy" in output


def test_the_layer_in_python_runs_and_checks_itself(shoal_in_processes):
    ended = run(sys.executable, ROOT / "examples/python_moe/moe_layer.py", timeout=120)
    output = ended.expect_success().stdout
    assert "byte tokens" in output
    assert "'all_to_all': " in output
    assert "largest relative difference from NumPy" in output


def test_a_jax_transformer_trains_as_in_jax(tmp_path, shoal_in_processes):
    script, curves = ROOT / "examples/jax_moe_training/train.py", tmp_path / "losses.json"
    command = [sys.executable, script, "--x64", "--losses", curves]
    run(*command, timeout=300).expect_success()
    losses = load_json(curves)
    ours, expected = losses["devices"], losses["jax"]
    assert len(ours) == 100
    np.testing.assert_allclose(ours, expected, rtol=1e-8)
    assert np.mean(ours[-10:]) < 0.75 * ours[0]


def test_a_transformer_trains_by_its_own_gradients(tmp_path, shoal_in_processes):
    script, curve = ROOT / "examples/moe_training/train.py", tmp_path / "losses.json"
    command = [sys.executable, script, "--steps", "40", "--losses", curve]
    assert "step   39  loss" in run(*command, timeout=300).expect_success().stdout
    losses = load_json(curve)
    assert len(losses) == 40
    assert np.mean(losses[-5:]) < 0.8 * losses[0]
