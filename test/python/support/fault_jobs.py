# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What jobs of fault_ranks.py print."""

import re

RANKS = 4


def read_until(stdout, step):
    """({rank: process}, the text that was read, the ranks of which none is known to have come in
    front of this step). Ends with the job, or once the last of these is."""
    processes, lines, missing = {}, [], set(range(RANKS))
    while missing and (line := stdout.readline()):
        lines.append(line)
        # Lines of two ranks are one where mpirun has read no more than a part of the first:
        # a later step says as much, but for a rank that stays in front of this one.
        for number, process, rank in re.findall(r"step (\d+) (\d+) (\d+)\n", line):
            processes[int(rank)] = int(process)
            if int(number) >= step:
                missing.discard(int(rank))
    return processes, "".join(lines), missing
