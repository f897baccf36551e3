#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What saving costs: beside dd with fsync on the same disk, and in the background.

Usage: mpirun -n 4 python checkpoint_saving.py FOLDER [--gib N] [--repeat N]
       python checkpoint_saving.py FOLDER

Rank 0 prints the best of interleaved repeats, in GiB/s: of dd with as many processes as there are
ranks, of `checkpoints.save`, of `checkpoints.load`; then what `Series.save` takes in the background
beside a copy of the same bytes.
"""

import argparse
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np

import shoal
from shoal import P, checkpoints
from shoal.checkpoints.ranks import Ranks
from shoal.devices import devices_of
from shoal.executable.launch import is_in_job
from shoal.frontend.annotations import as_sharding
from shoal.places import placement_of


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    ranks = ranks_of_job()
    devices = ranks.size if ranks.size > 1 else 4
    mesh = shoal.Mesh(x=devices)
    shape = (16, int(options.gib * 2**30) // 64)
    wanted = placement_of(as_sharding(P("x"), shape, mesh, "x"), mesh, shape, np.dtype(np.float32))

    def fill(slices, out):
        out[...] = np.random.default_rng(slices[0].start).random(1)

    tree = {"x": devices_of(devices).fill(wanted, fill)}
    share = int(options.gib * 2**30) // ranks.size
    times = {"dd": [], "save": [], "load": [], "copy": [], "background": []}

    def timed(what, function):
        ranks.all(None)
        begin = time.perf_counter()
        function()
        ranks.all(None)
        times[what].append(time.perf_counter() - begin)

    file = options.folder / f"dd-{ranks.rank}"
    series = checkpoints.Series(options.folder / "series", keep_last=1, asynchronous=True)
    source = np.ones(share, np.uint8)
    target = np.zeros(share, np.uint8)
    for number in range(options.repeat):
        timed("dd", lambda: dd(file, share))
        file.unlink()
        timed("save", lambda: checkpoints.save(options.folder / "saved", tree))
        timed("load", lambda: checkpoints.load(options.folder / "saved", tree))
        if ranks.is_first:
            shutil.rmtree(options.folder / "saved")
        timed("copy", lambda: np.copyto(target, source))
        timed("background", lambda number=number: series.save(number, tree))
        series.wait()
    if ranks.is_first:
        best = {name: min(seconds) for name, seconds in times.items()}
        for name, seconds in best.items():
            print(f"{name:10} {options.gib / seconds:6.2f} GiB/s  {seconds:7.3f} s")
        print(f"save / dd: {best['dd'] / best['save']:.2f} of its speed")
        print(f"background / copy: {best['background'] / best['copy']:.2f} of its time")


def ranks_of_job():
    if not is_in_job():
        return Ranks()
    from mpi4py import MPI

    return Ranks(MPI.COMM_WORLD)


def dd(file, size):
    count = size >> 20
    command = ["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={count}", "conv=fsync", "status=none"]
    subprocess.run(command, check=True)


main()
