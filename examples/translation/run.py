#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GShard's demonstration in miniature: many languages into English by models of 0 to 64 experts a layer.

Usage: run.py FOLDER [--steps N] [--round N] [--budget SECONDS] [--ranks N] [--models NAME ...] [--batch N] [--pairs N]
              [--seed N] [--small]
       run.py FOLDER --ci [--steps N]

Prepares FOLDER, trains all models in rounds of so many steps, so that they have equal numbers of them whenever the
budget ends, evaluates each, and writes FOLDER/results: tables and plots. What is done is not done again: the same command
goes on where the last one ended. --small: models and batches a quarter and an eighth as large, for minutes instead of
hours. --ci trains a smaller model of 4 experts on 1, 2 and 4 ranks, 300 steps by default, and fails where their losses
differ or do not fall.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from prepare import Settings, prepare
from tokens import Sizes
from variants import VARIANTS, Width

from shoal.checkpoints import Series

HERE = Path(__file__).resolve().parent
SMALL = Settings(Sizes(1024, 24, 16), Width(64, 256, 4, 128), batch=64, warmup=100)
# Smaller than the demonstration, to end in three minutes on two cores.
# At a tenth of the learning rate: what ranks round otherwise changes a token's choice of expert sooner or later.
# At the whole rate losses differ by 2e-4 after 160 steps, at a quarter by 1e-4 after 240.
CI = Settings(Sizes(1024, 16, 8), Width(64, 256, 4, 64), batch=32, rate=1e-4, longest=16)
CI_STEPS, CI_RANKS, CI_TOLERANCE, CI_LAST = 300, (1, 2, 4), 1e-4, 6.3
STEPS = 2000


def call(script, *arguments, ranks=1):
    """A script of this folder, on so many processes; SystemExit where it fails."""
    job = ["mpirun", "--oversubscribe", "-n", ranks] if ranks > 1 else []
    command = [*job, sys.executable, HERE / script, *arguments]
    ended = subprocess.run([str(part) for part in command])
    if ended.returncode:
        raise SystemExit(f"run.py: {' '.join(map(str, command))} ended with {ended.returncode}")


def steps_done(folder):
    """Of a model's folder, as its checkpoints say."""
    return max(Series(folder / "checkpoints").steps(), default=0)


def losses_of(folder):
    """{step: nll}."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return {line["step"]: line["nll"] for line in lines if "nll" in line}


def train(folder, model, steps, ranks):
    """Up to this step, and notes on how many cores."""
    if steps_done(folder / model) < steps:
        call("train.py", folder, model, "--ranks", ranks, "--steps", steps, ranks=ranks)
        threads = int(os.environ.get("SHOAL_NUM_THREADS") or max((os.cpu_count() or 1) // ranks, 1))
        (folder / model / "cores.json").write_text(str(min(ranks * threads, os.cpu_count() or 1)))


def train_in_rounds(folder, options):
    """All models have as many steps at the end of each round. A round is begun if the last one's time is left."""
    begin = time.monotonic()
    last = 0.0
    for steps in range(options.round, options.steps + options.round, options.round):
        if options.budget is not None and time.monotonic() - begin + last > options.budget:
            print(f"budget: {options.budget} s are over before step {min(steps, options.steps)}", flush=True)
            return
        start = time.monotonic()
        for model in options.models:
            train(folder, model, min(steps, options.steps), options.ranks)
        last = time.monotonic() - start


def demonstrate(folder, options):
    settings = SMALL if options.small else Settings()
    prepare(folder, settings._replace(batch=options.batch or settings.batch, seed=options.seed))
    train_in_rounds(folder, options)
    pairs = [] if options.pairs is None else ["--pairs", options.pairs]
    for model in ("copy", "nearest", *options.models):
        if not is_evaluated(folder / model):
            call("evaluate.py", folder, model, *pairs)
    call("results.py", folder, folder / "results")
    call("plots.py", folder / "results")


def is_evaluated(folder):
    """At the step it has come to."""
    file = folder / "translations.json"
    return file.exists() and json.loads(file.read_text())["steps"] == steps_done(folder)


def check(folder, steps):
    """The --ci form. Of fewer steps the last loss has to be below the first one."""
    prepare(folder, CI)
    losses = {}
    for ranks in CI_RANKS:
        out = f"ranks-{ranks}"
        call("train.py", folder, "e4", "--ranks", ranks, "--steps", steps, "--out", out, ranks=ranks)
        losses[ranks] = losses_of(folder / out)
    first = losses[CI_RANKS[0]]
    apart = max(abs(losses[ranks][step] - nll) / nll for ranks in CI_RANKS for step, nll in first.items())
    begin, last = first[min(first)], first[steps]
    limit = CI_LAST if steps >= CI_STEPS else begin
    print(f"ci: nll {begin:.4f} to {last:.4f} in {steps} steps; ranks {CI_RANKS} differ by {apart:.1e}")
    if apart > CI_TOLERANCE:
        raise SystemExit(f"run.py: losses of ranks {CI_RANKS} differ by {apart:.1e}, more than {CI_TOLERANCE}")
    if last >= limit:
        raise SystemExit(f"run.py: nll {last:.4f} after {steps} steps is not below {limit:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, help=f"{STEPS} by default, {CI_STEPS} for --ci")
    parser.add_argument("--round", type=int, default=500)
    parser.add_argument("--budget", type=float)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--models", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--batch", type=int, help="pairs of a step; 512 by default, 64 for --small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pairs", type=int, help="of which models are evaluated, about; all by default")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--ci", action="store_true")
    options = parser.parse_args()
    if options.ci:
        check(options.folder, options.steps or CI_STEPS)
    else:
        options.steps = options.steps or STEPS
        demonstrate(options.folder, options)


if __name__ == "__main__":
    main()
