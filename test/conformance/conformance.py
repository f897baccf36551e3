#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports, partitions and runs JAX programs on 8 devices, and compares with JAX.

    test/conformance/conformance.py --filter moe
    test/conformance/conformance.py --write-docs     # docs/results/JAX-conformance.md

Numbers are those of JAX on one device, bytes those of XLA's partitioner for the
same mesh. The exit code is 1 where a program failed or is unsupported, or a bar is missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import multiprocessing
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import examine  # noqa: E402

sys.path[1:1] = [str(examine.BIN.parent / "python"), str(examine.ROOT / "python")]


@dataclasses.dataclass(frozen=True)
class Suite:
    """Programs that are run and compared alike; modules are imported by name, in each process.

    programs: a module with `names()`, each FAMILY/NAME, and `find(NAME)`.
    page: a module whose `write` makes the page of outcomes, and whose `missed` has a
      line for each figure of theirs that is too large.
    flags: of shoalc and shoal-run, how programs are to be partitioned.
    """

    text: str
    programs: str
    page: str
    jobs: int = 2
    flags: tuple[str, ...] = ()


# Bytes are what is compared, so they count more than on any CPU, and work that devices repeat
# counts like any other.
BYTES_FIRST = ("--flops-per-byte=1000", "--repeat-margin=1", "--warn-repeated-work=0")
CONFORMANCE = Suite(__doc__, "catalogue", "write_docs", flags=BYTES_FIRST)


def main(words: list[str] | None = None, suite: Suite = CONFORMANCE) -> int:
    arguments = _arguments(words, suite)
    examine.prepare()
    began = time.monotonic()
    outcomes = run_all(arguments, suite)
    _print_summary(outcomes, time.monotonic() - began)
    measured = _with_earlier(outcomes, arguments.json, suite) if arguments.json else outcomes
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([dataclasses.asdict(o) for o in measured]))
    page = importlib.import_module(suite.page)
    if arguments.write_docs:
        page.write(measured)
    missed = page.missed(outcomes)
    for line in missed:
        print(line)
    return 0 if outcomes and not missed and all(o.status == "passed" for o in outcomes) else 1


def _arguments(words: list[str] | None, suite: Suite) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=suite.text.split("\n\n")[0])
    parser.add_argument("--filter", default="", help="a regular expression on FAMILY/NAME")
    parser.add_argument(
        "--json", help="write what was measured to this file; other programs in it stay"
    )
    parser.add_argument(
        "--jobs", type=int, default=suite.jobs, help="processes (default: %(default)s)"
    )
    parser.add_argument(
        "--mpi", type=int, default=10, metavar="N", help="run each N-th program under mpirun, too"
    )
    parser.add_argument("--no-xla", action="store_true", help="do not compile with XLA")
    parser.add_argument("--keep", metavar="FOLDER", help="keep programs and arrays there")
    parser.add_argument("--write-docs", action="store_true", help="write the page of the results")
    return parser.parse_args(words)


def run_all(arguments: argparse.Namespace, suite: Suite) -> list[examine.Outcome]:
    """Outcomes by family and name, printed as they come."""
    names = _names(arguments.filter, suite)
    folder = arguments.keep or tempfile.mkdtemp(prefix="shoal-conformance-")
    tasks = [
        (suite, name, folder, not arguments.no_xla, bool(arguments.mpi) and i % arguments.mpi == 0)
        for i, name in enumerate(names)
    ]
    context = multiprocessing.get_context("spawn")
    outcomes = []
    with context.Pool(arguments.jobs, initializer=_prepare_worker) as pool:
        for outcome in pool.imap_unordered(_examine, tasks):
            outcomes.append(outcome)
            _print_outcome(outcome)
    return sorted(outcomes, key=lambda o: (o.family, o.name))


def _with_earlier(
    outcomes: list[examine.Outcome], file: str, suite: Suite
) -> list[examine.Outcome]:
    """With those of a file of programs that there are and that this run left out."""
    names = {outcome.name for outcome in outcomes}
    left = set(_names("", suite)) - names
    earlier = json.loads(Path(file).read_text()) if Path(file).exists() else []
    kept = [examine.Outcome(**o) for o in earlier if o["name"] in left]
    return sorted([*outcomes, *kept], key=lambda o: (o.family, o.name))


def _names(pattern: str, suite: Suite) -> list[str]:
    names = importlib.import_module(suite.programs).names()
    return sorted(name.split("/")[1] for name in names if re.search(pattern, name))


def _prepare_worker() -> None:
    examine.prepare()


def _examine(task: tuple[Suite, str, str, bool, bool]) -> examine.Outcome:
    import shutil

    suite, name, folder, xla, mpi = task
    place = Path(folder) / name
    program = importlib.import_module(suite.programs).find(name)
    outcome = examine.examine(program, place, suite.flags, xla=xla, mpi=mpi)
    if "shoal-conformance-" in folder:
        shutil.rmtree(place)
    return outcome


def _print_outcome(outcome: examine.Outcome) -> None:
    bytes = f"{outcome.bytes_ours}"
    if outcome.bytes_xla is not None:
        mark = " MORE" if outcome.bytes_ours > outcome.bytes_xla else ""
        bytes += f" / {outcome.bytes_xla}{mark}"
    line = f"{outcome.status:11} {outcome.family}/{outcome.name}"
    if outcome.status == "passed":
        print(f"{line}  {bytes} bytes", flush=True)
    else:
        print(f"{line}\n    " + outcome.why.replace("\n", "\n    "), flush=True)


def _print_summary(outcomes: list[examine.Outcome], seconds: float) -> None:
    count = {status: 0 for status in ("passed", "failed", "unsupported")}
    for outcome in outcomes:
        count[outcome.status] += 1
    mpi = sum(o.ran_under_mpi for o in outcomes)
    print(f"\n{len(outcomes)} programs in {seconds:.0f} s: {count['passed']} passed, ", end="")
    print(f"{count['failed']} failed, {count['unsupported']} unsupported; {mpi} also under mpirun")
    ops = sorted(set(re.findall(r"(\S+(?: @\S+)?) \(.*\) is not supported", _all_reasons(outcomes))))
    print(f"unsupported ops: {', '.join(ops) or 'none'}")
    more = [o for o in outcomes if o.status == "passed" and o.bytes_ours > (o.bytes_xla or 0)]
    measured = [o for o in outcomes if o.status == "passed" and o.bytes_xla is not None]
    if measured:
        names = ", ".join(o.name for o in more if o.bytes_xla is not None)
        print(f"more bytes than XLA: {names or 'none'} (of {len(measured)})")


def _all_reasons(outcomes: list[examine.Outcome]) -> str:
    return "\n".join(o.why for o in outcomes if o.status == "unsupported")


if __name__ == "__main__":
    sys.exit(main())
