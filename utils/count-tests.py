# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up the tests of several runners.

Usage: count-tests.py REPORTS NAME=EXIT_CODE...

REPORTS/NAME.xml is the runner's JUnit report; a runner without one counts as a
single test. A runner that exits non-zero without a failed test in its report
(it crashed, or ran out of time) counts as one failure. The last line printed is
`N passed, N failed, N skipped`; the exit status is 1 where one failed.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def case_outcome(case):
    """passed, failed or skipped, from a <testcase> of ctest, lit or pytest."""
    children = {child.tag for child in case}
    if children & {"failure", "error"}:
        return "failed"
    if "skipped" in children or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def count_report(path):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in ET.parse(path).getroot().iter("testcase"):
        counts[case_outcome(case)] += 1
    return counts


def count_runner(path, code):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    if path.exists():
        try:
            counts = count_report(path)
        except ET.ParseError:
            code = code or 1
        if sum(counts.values()) == 0:
            code = code or 1  # a suite that ran nothing has not passed
    elif code == 0:
        counts["passed"] = 1
    if code != 0 and counts["failed"] == 0:
        counts["failed"] = 1
    return counts


def main():
    reports, *outcomes = sys.argv[1:]
    total = {"passed": 0, "failed": 0, "skipped": 0}
    for outcome in outcomes:
        name, code = outcome.rsplit("=", 1)
        counts = count_runner(Path(reports) / f"{name}.xml", int(code))
        cells = "  ".join(f"{value:>5} {key}" for key, value in counts.items())
        print(f"{name:<8}{cells}")
        for key, value in counts.items():
            total[key] += value
    print(", ".join(f"{value} {key}" for key, value in total.items()))
    sys.exit(1 if total["failed"] else 0)


if __name__ == "__main__":
    main()
