# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bars and the page of test/real-models; its programs need libraries that run.sh installs."""

import sys

import pytest
from shoal_testing import ROOT

sys.path[:0] = [str(ROOT / "test/conformance"), str(ROOT / "test/real-models")]

from examine import Outcome  # noqa: E402
from write_page import REQUIREMENTS, _head, _misses, _table, missed  # noqa: E402


def outcome(**figures) -> Outcome:
    well = {
        "flops_ratio": 1.0,
        "flops_ratio_xla": 1.0,
        "ours": {"all_reduce": 8},
        "xla": {"all_reduce": 8},
        "peak": 100,
        "peak_xla": 100,
    }
    return Outcome("lib_net_step", "lib", 8, **{**well, **figures})


@pytest.mark.parametrize(
    "figures, lines",
    [
        ({}, []),
        ({"flops_ratio": 1.1, "flops_ratio_xla": 1.1}, []),
        ({"flops_ratio": 8.0}, ["lib_net_step: flops: 8.00 > 1.1"]),
        ({"ours": {"all_gather": 9}}, ["lib_net_step: bytes: 9 > 8 (1.12)"]),
        # A plan that multiplies less may send more.
        ({"ours": {"all_gather": 9}, "flops_ratio_xla": 8.0}, []),
        ({"peak": 101}, ["lib_net_step: peak: 101 > 100 (1.01)"]),
        # Without products or without XLA nothing is known.
        ({"flops_ratio": None, "flops_ratio_xla": None}, []),
        ({"xla": None, "peak_xla": None, "flops_ratio_xla": None}, []),
    ],
)
def test_bars(figures, lines):
    assert missed([outcome(**figures)]) == lines


def test_page():
    worse = outcome(peak=150)
    failed = outcome(status="failed", why="shoal-run: result 0 of float32: off by 1")
    head, misses, table = (part([worse, failed]) for part in (_head, _misses, _table))
    assert "| values as JAX's on one device | 1 of 2 |" in head
    assert "| peak memory at most XLA's | 0 of 1 |" in head
    assert "* lib_net_step failed: shoal-run: result 0 of float32: off by 1" in misses
    assert "* peak memory at most XLA's: lib_net_step 150 > 100." in misses
    assert "| net_step | 1.00 | 1.00 | 8 | 8 | 1.00 | 150 | 100 | **1.50** |" in table
    assert "| net_step | **failed** |" in table


def test_versions_are_pinned():
    lines = [line for line in REQUIREMENTS.read_text().splitlines() if line and line[0] != "#"]
    assert lines and all(line.count("==") == 1 for line in lines)
