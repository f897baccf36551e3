#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What shoal.train.fit costs over the steps: the loop, batches read ahead and put on the devices,
the call, the answers.

    train_overhead.py [--leaves N] [--steps N] [--most-us US]
    mpirun -n 4 python train_overhead.py             (every rank runs the script)

Parameters are N small arrays with Adam's moments. Prints percentiles over the steps, in
microseconds: of the time of a step of the loop less that of the program on the devices; of the
processor's time that Python takes for it in the loop's thread; and of that where the devices
do nothing, so that nobody else takes the processor and its caches meanwhile. Exits 1 where the
median of the last is more than --most-us.
"""

import argparse
import sys
import time

import numpy as np

import shoal
from shoal import P, data, optim, train
from shoal.devices import Job, devices_of

DEVICES = 4
MESH = shoal.Mesh(data=DEVICES)
PERCENTILES = (1, 50, 90, 99, 100)


class Watch:
    """Times between the begins of steps, less what the program and waiting take of them."""

    def __init__(self, step, state, batch):
        self._step = step
        # The same one that calls of the step run.
        self._loaded = devices_of(DEVICES).load(step.executable_for(state, batch))
        self.walls, self.processors = [], []
        self._last, self._waiting = None, 0.0
        if isinstance(devices_of(DEVICES), Job):
            # The program and what ranks agree by run in this thread, and wait by polling.
            for owner, name in (
                (self._loaded.library, "run_in_place"),
                (self._loaded.library, "agree"),
                (shoal.train.loop, "any_of"),
            ):
                setattr(owner, name, self._waits(getattr(owner, name)))

    def _waits(self, function):
        def timed(*arguments):
            begin = time.thread_time()
            result = function(*arguments)
            self._waiting += time.thread_time() - begin
            return result

        return timed

    def take_the_program_out(self):
        """From now on steps do all but run on the devices, and ranks do not wait."""
        self.walls, self.processors, self._last = [], [], None
        self._loaded._step = lambda places, timeout: 0.0
        if isinstance(devices_of(DEVICES), Job):
            self._loaded.library.agree = lambda text: None
            shoal.train.loop.any_of = lambda job, holds: holds

    def __call__(self, state, batch):
        now = time.perf_counter(), time.thread_time()
        if self._last:
            self.walls.append(now[0] - self._last[0] - self._loaded.seconds)
            self.processors.append(now[1] - self._last[1] - self._waiting)
        self._last, self._waiting = now, 0.0
        return self._step(state, batch)


def jitted(leaves):
    params = {f"w{i:03}": np.ones((8, 8), np.float32) for i in range(leaves)}
    optimizer = optim.adam(1e-3)
    state = train.init(params, optimizer)

    def loss(params, batch):
        sums = [shoal.mean(batch @ leaf) for leaf in params.values()]
        return sum(sums[1:], sums[0])

    at = train.shardings(state)
    step = shoal.jit(
        train.step(loss, optimizer),
        mesh=MESH,
        donate_argnums=0,
        in_shardings=(at, P("data")),
        out_shardings=(at, None),
    )
    return step, state


def show(name, seconds):
    values = np.percentile(np.array(seconds) * 1e6, PERCENTILES)
    print(f"{name:<44}" + "".join(f"{value:>10.0f}" for value in values), flush=True)
    return values[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=30)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--most-us", type=float)
    options = parser.parse_args()

    step, state = jitted(options.leaves)
    rows = np.ones((4096, 8), np.float32)
    batches = data.Batches(rows, 64, seed=0, mesh=MESH, sharding=P("data"))
    state = train.fit(step, state, batches, 20, quiet=True)
    watch = Watch(step, state, batches[0])
    state = train.fit(watch, state, batches, 20 + options.steps, log_every=100, quiet=True)
    walls, processors = watch.walls, watch.processors
    watch.take_the_program_out()
    train.fit(watch, state._replace(step=0, samples=None), batches, options.steps, log_every=100, quiet=True)
    devices = devices_of(DEVICES)
    if getattr(devices, "rank", 0) != 0:
        return
    arrays = f"{options.leaves} parameters, {devices!r}"
    print(f"{arrays:<44}" + "".join(f"{f'{p} %':>10}" for p in PERCENTILES))
    show("a step of the loop over the program", walls)
    show("of that, Python's processor time", processors)
    median = show("the same without the program", watch.processors)
    if options.most_us is not None and median > options.most_us:
        sys.exit(f"error: {median:.0f} us are more than {options.most_us:.0f}")


if __name__ == "__main__":
    main()
