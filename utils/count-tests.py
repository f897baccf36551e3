# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up the tests of several runners, and says where their time goes.

Usage: count-tests.py REPORTS NAME=EXIT_CODE[=SECONDS]...

REPORTS/NAME.xml is the runner's JUnit report; a runner without one counts as a
single test. A runner that exits non-zero without a failed test in its report
(it crashed, or ran out of time) counts as one failure; so does a file of tests
that takes longer than its budget. The last line printed is
`N passed, N failed, N skipped`; the exit status is 1 where one failed.

$SHOAL_TIME_SCALE multiplies budgets, for machines slower than two shared cores.
"""

import collections
import os
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

NOTHING_COLLECTED = 5  # pytest's exit code, also where all files are skipped
SHOWN = 20  # files and tests that took longest

# Seconds that the tests of a file may take together: twice what the slowest do on two shared cores.
BUDGET = 300
# A file's that is allowed more, and why.
BUDGETS = {
    "test_translation": 480,  # trains on 1, 2 and 4 ranks, three compilations of a Transformer's step
}


@dataclass
class Runner:
    """What one stage reported."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: str = ""
    tests: list = field(default_factory=list)  # (seconds, file, test)


def case_outcome(case):
    """passed, failed or skipped, from a <testcase> of ctest, lit or pytest."""
    children = {child.tag for child in case}
    if children & {"failure", "error"}:
        return "failed"
    if "skipped" in children or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def file_of(case):
    """pytest's classname is the file's path with dots; a test of lit or ctest is its own file."""
    name, place = case.get("name", ""), case.get("classname", "")
    module = next((word for word in reversed(place.split(".")) if word.startswith("test_")), None)
    return module or name


def read_report(path, runner):
    """Adds the tests of a report; ParseError where it is none."""
    for case in ET.parse(path).getroot().iter("testcase"):
        outcome = case_outcome(case)
        setattr(runner, outcome, getattr(runner, outcome) + 1)
        runner.tests.append((float(case.get("time") or 0), file_of(case), case.get("name", "")))


def count_runner(name, path, code, seconds=""):
    runner = Runner(name, seconds=seconds)
    if path.exists():
        try:
            read_report(path, runner)
        except ET.ParseError:
            code = code or 1
        if not runner.tests:
            code = code or 1  # a suite that ran nothing has not passed
        elif code == NOTHING_COLLECTED and runner.skipped == len(runner.tests):
            code = 0
    elif code == 0:
        runner.passed = 1
    if code != 0 and runner.failed == 0:
        runner.failed = 1
    return runner


def seconds_by_file(tests):
    """The longest first."""
    sums = collections.Counter()
    for seconds, file, _ in tests:
        sums[file] += seconds
    return sums.most_common()


def over_budget(runners, scale):
    """Lines about the files that took too long, a runner at a time."""
    for runner in runners:
        for file, seconds in seconds_by_file(runner.tests):
            if seconds > (allowed := scale * BUDGETS.get(file, BUDGET)):
                yield f"{runner.name}: {file} took {seconds:.0f} s, more than its {allowed:.0f}: BUDGETS in count-tests.py"


def print_slowest(runners):
    tests = [(seconds, file, f"{file}::{test}" if test != file else test)
             for runner in runners for seconds, file, test in runner.tests]  # fmt: skip
    rows = [("files", seconds_by_file(tests))]
    rows += [("tests", [(name, seconds) for seconds, _, name in sorted(tests, reverse=True)])]
    for title, listed in rows:
        print(f"The {min(SHOWN, len(listed))} slowest {title}, in seconds:")
        for name, seconds in listed[:SHOWN]:
            print(f"{seconds:>8.1f}  {name}")
        print()


def main():
    reports, *outcomes = sys.argv[1:]
    runners = []
    for outcome in outcomes:
        name, code, *seconds = outcome.split("=")
        runners.append(count_runner(name, Path(reports) / f"{name}.xml", int(code), *seconds))
    if any(runner.tests for runner in runners):
        print_slowest(runners)
    late = list(over_budget(runners, float(os.environ.get("SHOAL_TIME_SCALE", 1))))
    print("\n".join([*late, ""]) if late else "", end="")
    total = {kind: sum(getattr(runner, kind) for runner in runners) for kind in ("passed", "failed", "skipped")}
    total["failed"] += len(late)
    for runner in runners:
        cells = "  ".join(f"{getattr(runner, kind):>5} {kind}" for kind in total)
        print(f"{runner.name:<9}{cells}" + (f"  {runner.seconds:>5} s" if runner.seconds else ""))
    print(", ".join(f"{value} {kind}" for kind, value in total.items()))
    sys.exit(1 if total["failed"] else 0)


if __name__ == "__main__":
    main()
