# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs inside MPI processes, by mpi4py: every case of session_ranks.py."""

import os
import sys
from unittest import mock

import pytest
from executable_cases import DONATED, FAIL_ON_ZERO, FAILING, SCALED, UNEVEN
from paths import PATHS, SUPPORT
from shoal_testing import ROOT, needs_emulation, run

import shoal

RANKS = SUPPORT / "session_ranks.py"


CASES = {
    "whole_and_local": ["scaled"],
    "results_in_place": ["scaled"],
    "no_copies": ["scaled"],
    "a_donated_input": ["donated"],
    "one_rank_is_wrong": ["scaled"],
    "bad_communicators": ["scaled"],
    "other_programs": ["scaled", "uneven"],
    "a_missing_library": ["scaled"],
    "another_library": ["scaled", "uneven"],
    "several_sessions": ["scaled", "uneven"],
    "threads_take_turns": ["scaled"],
    "closing_unloads": ["scaled"],
    "compiled_once_for_all": [],
    "the_host_is_called": [],
}


def run_ranks(*arguments):
    environment = {"PYTHONPATH": os.pathsep.join(PATHS)}
    with mock.patch.dict(os.environ, environment):
        return run("mpirun", "-n", 4, sys.executable, RANKS, *arguments, timeout=120)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """All cases in one job, as starting one takes longer than the cases."""
    folder = tmp_path_factory.mktemp("executables")
    shoal.compile_text(SCALED).save(folder / "scaled")
    shoal.compile_text(UNEVEN).save(folder / "uneven")
    shoal.compile_text(DONATED).save(folder / "donated")
    return run_ranks(
        *(":".join([case, *(str(folder / name) for name in names)]) for case, names in CASES.items())
    )


@pytest.mark.parametrize("case", CASES)
def test_session(job, case):
    # mpirun may put two ranks' lines into one.
    passed = job.stdout.count(case)
    assert passed == 4, f"{passed} ranks passed\n{job.stderr[-4000:]}"


def test_a_step_that_fails_ends_the_job(tmp_path):
    (tmp_path / "fail.c").write_text(FAIL_ON_ZERO)
    run("cc", "-c", "-fPIC", f"-I{ROOT}/include", tmp_path / "fail.c", "-o", tmp_path / "fail.o")
    path = tmp_path / "failing.shoal"
    shoal.compile_text(FAILING, link=tmp_path / "fail.o").save(path)
    ended = run_ranks(f"a_step_fails:{path}")
    assert ended.code != 0 and "ended after" not in ended.stderr
    assert 'custom_call "fail_on_zero"' in ended.stderr and "42" in ended.stderr


def test_a_host_that_fails_in_a_loop_that_waits_for_it():
    ended = run_ranks("a_host_that_fails_in_a_loop")
    assert ended.code != 0 and "ended after" not in ended.stderr
    assert '"answer": ValueError: no answer' in ended.stderr


@needs_emulation
def test_sessions_of_programs_for_cuda(tmp_path):
    """On the emulated device; host arrays are copied there and back."""
    path = tmp_path / "scaled"
    shoal.compile_text(SCALED, "cuda", cuda_arch="emulated").save(path)
    ended = run_ranks(f"whole_and_local:{path}", f"one_rank_is_wrong:{path}").expect_success()
    assert ended.stdout.count("one_rank_is_wrong") == 4
