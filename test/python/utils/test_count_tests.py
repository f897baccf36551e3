# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""utils/count-tests.py: what counts as passed, and files that take too long."""

import subprocess
import sys

import pytest
from paths import ROOT

SCRIPT = ROOT / "utils/count-tests.py"

PYTEST = """<testsuites><testsuite>
<testcase classname="test.python.moe.test_moe_layers" name="test_a[1]" time="{seconds}"/>
<testcase classname="test.python.moe.test_moe_layers" name="test_b" time="2.5"/>
<testcase classname="python.jax.test_jit.TestClass" name="test_c" time="0.5"><skipped/></testcase>
</testsuite></testsuites>"""
LIT = """<testsuites><testsuite>
<testcase classname="Shoal.Transforms" name="a.mlir" time="0.25"/>
<testcase classname="Shoal.Transforms" name="b.mlir" time="0.5"><failure/></testcase>
</testsuite></testsuites>"""
SKIPPED = '<testsuite><testcase classname="" name="test.python.test_nodes"><skipped/></testcase></testsuite>'


@pytest.fixture
def count(tmp_path, monkeypatch):
    def run(*outcomes, scale=None, **reports):
        for name, text in reports.items():
            (tmp_path / f"{name}.xml").write_text(text)
        monkeypatch.delenv("SHOAL_TIME_SCALE", raising=False)
        if scale:
            monkeypatch.setenv("SHOAL_TIME_SCALE", scale)
        command = [sys.executable, SCRIPT, tmp_path, *outcomes]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not ended.stderr
        return ended.returncode, ended.stdout.splitlines()

    return run


def test_the_sum_comes_last(count):
    code, lines = count("python=0=12", "format=0=3", python=PYTEST.format(seconds=1))
    assert (code, lines[-1]) == (0, "3 passed, 0 failed, 1 skipped")
    assert lines[-3].split() == "python 2 passed 0 failed 1 skipped 12 s".split()
    assert lines[-2].split() == "format 1 passed 0 failed 0 skipped 3 s".split()


def test_files_and_tests_that_took_longest(count):
    _, lines = count("python=0", "lit=1", python=PYTEST.format(seconds=1), lit=LIT)
    begin, end = lines.index("The 4 slowest files, in seconds:"), lines.index("The 5 slowest tests, in seconds:")
    assert [line.split() for line in lines[begin + 1 : begin + 5]] == [
        ["3.5", "test_moe_layers"], ["0.5", "test_jit"], ["0.5", "b.mlir"], ["0.2", "a.mlir"],
    ]  # fmt: skip
    assert lines[end + 1].split() == ["2.5", "test_moe_layers::test_b"]


def test_what_fails(count):
    assert count("lit=1", lit=LIT)[0] == 1
    # A crash or a time-out without a failed test, nothing that ran, and half a report.
    for outcome, text in (
        ("python=3", PYTEST.format(seconds=1)), ("python=0", "<testsuite/>"), ("python=0", "<testsuite>"),
    ):  # fmt: skip
        code, lines = count(outcome, python=text)
        assert code == 1 and "1 failed" in lines[-1], (outcome, text)
    assert count("format=1")[1][-1] == "0 passed, 1 failed, 0 skipped"


def test_files_that_are_all_skipped_do_not_fail(count):
    """pytest then ends as where it found no file."""
    code, lines = count("alone=5", alone=SKIPPED)
    assert (code, lines[-1]) == (0, "0 passed, 0 failed, 1 skipped")


def test_a_file_past_its_budget_fails(count):
    report = PYTEST.format(seconds=299)
    code, lines = count("python=0", python=report)
    assert code == 1 and lines[-1] == "2 passed, 1 failed, 1 skipped"
    assert any("test_moe_layers took 302 s, more than its 300" in line for line in lines)
    assert count("python=0", python=report, scale="2")[0] == 0


def test_budgets_are_of_files_that_exist():
    from scripts import load_script

    names = {path.stem for path in (ROOT / "test/python").rglob("test_*.py")}
    assert load_script(SCRIPT).BUDGETS.keys() <= names
