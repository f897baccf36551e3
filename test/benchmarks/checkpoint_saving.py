#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What saving costs: beside dd with fsync on the same disk, and steps while it goes on.

Usage: mpirun -n 4 python checkpoint_saving.py FOLDER [--gib N] [--repeat N]
       python checkpoint_saving.py FOLDER

Rank 0 prints, of interleaved repeats, the best in GiB/s: of dd with as many processes as there are
ranks, of `checkpoints.save`, of `checkpoints.load`, of a copy of the arrays' own memory to memory
that is there, and of `Series.save` in the background until it returns. Then what steps (a product
on each device and a sum over them) took longer until such a save was on the disk, the median.
"""

import argparse
import shutil
import statistics
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
from shoal.mesh_sharding import placement_of

SIDE = 768  # of a step's product on a device
ALONE = 10  # steps that are timed without a save


class Benchmark:
    """One tree of arrays, saved in each way; times by name, in seconds."""

    def __init__(self, folder, gib):
        self.folder = folder
        self.ranks = ranks_of_job()
        self.devices = self.ranks.size if self.ranks.size > 1 else 4
        self.mesh = shoal.Mesh(x=self.devices)
        shape = (16, int(gib * 2**30) // 64)
        wanted = placement_of(
            as_sharding(P("x"), shape, self.mesh, "x"), self.mesh, shape, np.dtype(np.float32)
        )
        self.tree = {"x": devices_of(self.devices).fill(wanted, fill)}
        self.parts = [self.tree["x"].part(rank) for rank in self.tree["x"].devices.ranks]
        self.kept = [np.zeros_like(part) for part in self.parts]
        self.series = checkpoints.Series(folder / "series", keep_last=1, asynchronous=True)
        self.step, self.inputs = a_step(self.mesh, self.devices)
        self.times = {name: [] for name in ("dd", "save", "load", "copy", "background", "slowed")}
        self.during = []  # how many steps a save lasted

    def timed(self, what, function, between=lambda: None):
        """On the rank that takes longest. between: what follows before ranks wait for each other."""
        self.ranks.all(None)
        begin = time.perf_counter()
        function()
        seconds = time.perf_counter() - begin
        between()
        self.times[what].append(max(self.ranks.all(seconds)))

    def round(self, number):
        file, saved = self.folder / f"dd-{self.ranks.rank}", self.folder / "saved"
        size = sum(part.nbytes for part in self.parts)
        self.timed("dd", lambda: dd(file, size))
        file.unlink()
        self.timed("save", lambda: checkpoints.save(saved, self.tree))
        self.timed("load", lambda: checkpoints.load(saved, self.tree))
        if self.ranks.is_first:
            shutil.rmtree(saved)
        self.timed("copy", self.copy)
        alone = self.seconds_of_steps(ALONE) / ALONE
        save = lambda: self.series.save(number, self.tree)  # noqa: E731
        self.timed("background", save, lambda: self.steps_until_saved(alone))

    def steps_until_saved(self, alone):
        begin, steps = time.perf_counter(), 0
        while steps == 0 or not self.series.poll():
            self.seconds_of_steps(1)
            steps += 1
        self.times["slowed"].append(time.perf_counter() - begin - steps * alone)
        self.during.append(steps)

    def copy(self):
        for kept, part in zip(self.kept, self.parts):
            np.copyto(kept, part)

    def seconds_of_steps(self, count):
        begin = time.perf_counter()
        for _ in range(count):
            float(self.step(*self.inputs))
        return time.perf_counter() - begin

    def report(self, gib):
        best = {name: min(seconds) for name, seconds in self.times.items() if name != "slowed"}
        for name, seconds in best.items():
            print(f"{name:10} {gib / seconds:6.2f} GiB/s  {seconds:7.3f} s")
        slowed = statistics.median(self.times["slowed"])
        print(f"save / dd: {best['dd'] / best['save']:.2f} of its speed")
        print(f"background / copy: {best['background'] / best['copy']:.2f} of its time")
        print(
            f"steps: {slowed:.3f} s longer in all while it went on ({statistics.median(self.during)} "
            f"steps), {slowed / best['copy']:.2f} of the copy's time"
        )


def fill(slices, out):
    out[...] = np.random.default_rng(slices[0].start).random(1)


def a_step(mesh, devices):
    step = shoal.jit(
        lambda x, w: (x @ w).sum(), mesh=mesh, in_shardings=(P("x"), P()), out_shardings=P()
    )
    inputs = (np.ones((devices * SIDE, SIDE), np.float32), np.ones((SIDE, SIDE), np.float32))
    loaded = devices_of(devices).load(step.executable_for(*inputs))
    made = [devices_of(devices).put(value, at) for value, at in zip(inputs, loaded.inputs)]
    float(step(*made))
    return step, made


def ranks_of_job():
    if not is_in_job():
        return Ranks()
    from mpi4py import MPI

    return Ranks(MPI.COMM_WORLD)


def dd(file, size):
    count = size >> 20
    command = ["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={count}", "conv=fsync", "status=none"]
    subprocess.run(command, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    benchmark = Benchmark(options.folder, options.gib)
    for number in range(options.repeat):
        benchmark.round(number)
    if benchmark.ranks.is_first:
        benchmark.report(options.gib)


main()
