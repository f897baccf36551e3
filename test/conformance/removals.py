#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether what `shoalc --removals` says of collectives is so: programs with what it says changed are compiled, too.

    test/conformance/removals.py moe jax --every 5
    test/real-models/run.sh installs what `real` needs; run this with its Python

Of each program all collectives are listed with what is said to do away with them. Each annotation that is named is put
in, or left out, in the text of the imported program; what that sends is compared with what was said, byte by byte. The
exit code is 1 where a figure is not so, or a collective has no line, no reason, or neither a removal nor a sentence why
there is none. Programs are partitioned; nothing is run.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import itertools
import sys
import tempfile
import time
from pathlib import Path

from certificates import TITLES, imported

sys.path.append(str(Path(__file__).resolve().parents[1] / "python/support"))

from removal_texts import NONE, SAID, Text, is_so, removals_of, statistics_of  # noqa: E402

@dataclasses.dataclass
class Outcome:
    """Of a program. wrong: a line for each removal that is not so; silent: for each collective of which something is
    not said."""

    name: str
    collectives: int = 0
    removals: int = 0
    none: int = 0
    wrong: list[str] = dataclasses.field(default_factory=list)
    silent: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0
    seconds_without: float = 0


def examine(job: tuple[str, Path]) -> Outcome:
    name, source = job
    outcome = Outcome(name)
    text = Text(source)
    path, changed = source.with_suffix(".imported.mlir"), source.with_suffix(".changed.mlir")
    path.write_text("\n".join(text.lines))
    begin = time.perf_counter()
    statistics_of(path)
    middle = time.perf_counter()
    collectives = statistics_of(path, "--removals")["collective_list"]
    outcome.seconds_without = middle - begin
    outcome.seconds = time.perf_counter() - middle
    outcome.collectives = len(collectives)
    removals = set()
    for collective in collectives:
        reason = collective["reason"]
        removals |= set(removals_of(reason))
        outcome.none += bool(NONE.search(reason))
        said = SAID.search(reason) or NONE.search(reason)
        if not (collective["loc"] and reason and said):
            outcome.silent.append(f"{collective['kind']} at {collective['loc']}: {reason}")
    outcome.removals = len(removals)
    wrong = (is_so(text, removal, changed) for removal in sorted(removals, key=dataclasses.astuple))
    outcome.wrong = [line for line in wrong if line]
    return outcome


def line_of(kind: str, rows: list[Outcome]) -> str:
    total = lambda field: sum(getattr(row, field) for row in rows)  # noqa: E731
    wrong, silent = (sum(len(getattr(row, field)) for row in rows) for field in ("wrong", "silent"))
    times = [f"{total('seconds'):.1f}", f"{total('seconds_without'):.1f}"]
    cells = [TITLES[kind], len(rows), total("collectives"), total("removals"), wrong, total("none"), silent, *times]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=TITLES)
    parser.add_argument("--every", type=int, default=1, help="one program of so many")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    print("| programs | number | collectives | removals | not so | without one | nothing said | s | s without |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    details = []
    for kind in arguments.kinds:
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            jobs = itertools.islice(imported(kind, Path(folder)), 0, None, arguments.every)
            rows = list(pool.map(examine, jobs))
        print(line_of(kind, rows), flush=True)
        details += [f"- {row.name}: {line}" for row in rows for line in [*row.wrong, *row.silent]]
    print()
    print("\n".join(details))
    return 1 if details else 0


if __name__ == "__main__":
    sys.exit(main())
