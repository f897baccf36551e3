# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs inside MPI processes, by mpi4py: every case of session_ranks.py."""

import os
import sys
from pathlib import Path

import pytest
from conftest import PATHS
from executable_cases import SCALED, UNEVEN
from shoal_testing import run

import shoal

RANKS = Path(__file__).with_name("session_ranks.py")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("executables")
    shoal.compile_text(SCALED).save(folder / "scaled.shoal")
    shoal.compile_text(UNEVEN).save(folder / "uneven.shoal")
    return {path.stem: path for path in folder.iterdir()}


@pytest.mark.parametrize(
    "case, names",
    [
        ("whole_and_local", ["scaled"]),
        ("results_in_place", ["scaled"]),
        ("no_copies", ["scaled"]),
        ("one_rank_is_wrong", ["scaled"]),
        ("bad_communicators", ["scaled"]),
        ("other_programs", ["scaled", "uneven"]),
        ("a_missing_library", ["scaled"]),
        ("several_sessions", ["scaled", "uneven"]),
        ("compiled_once_for_all", []),
    ],
)
def test_session(files, monkeypatch, case, names):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(PATHS))
    ended = run("mpirun", "-n", 4, sys.executable, RANKS, case, *(files[name] for name in names))
    assert ended.expect_success().stdout.split() == ["passed"] * 4
