# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples' commands."""

import os
import sys

from shoal_testing import BIN, ROOT, run


def test_the_moe_layer_example_runs_and_checks_itself(tmp_path):
    script = ROOT / "examples/moe_layer/run.py"
    ended = run(sys.executable, script, "--bin", BIN, "--out", tmp_path, timeout=120)
    output = ended.expect_success().stdout
    assert "byte tokens" in output
    assert "all_to_all" in output
    assert "from NumPy" in output


def test_the_layer_in_python_runs_and_checks_itself(monkeypatch):
    paths = [str(BIN.parent / "python"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    ended = run(sys.executable, ROOT / "examples/python_moe/moe_layer.py", timeout=120)
    output = ended.expect_success().stdout
    assert "byte tokens" in output
    assert "'all_to_all': " in output
    assert "largest relative difference from NumPy" in output
