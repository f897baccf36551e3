# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How evenly a run's experts are used, as a page."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.files import replace_file

__all__ = ["BalancePage"]

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
# A page of 64 layers with 256 experts stays below 100 MB.
_MOST_SAMPLES = 400


class BalancePage:
    """A log of `fit` that writes a page with heat maps of layer by expert and expert by step.

    It takes the metrics of `shoal.moe.MoeMetrics`, one row for each layer with experts: counts
    [L, E], kept [L, E] and needed [L]; `shoal.models` has them in its losses' metrics. Values
    without them, as those of an evaluation, are left out. The page is one file that asks for
    no other, written anew at each sample; of long runs it keeps every second sample, every
    fourth, ..., at most 400. A run that goes on takes the place of what the page has from its
    first step on.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._path = Path(path)
        self._samples: list[dict[str, Any]] | None = None
        self._every = 1
        self._seen = 0

    def __call__(self, step: int, values: Mapping[str, Any]) -> None:
        """InputError where the metrics' sizes do not fit each other, or those of the page."""
        if not {"counts", "kept", "needed"} <= values.keys():
            return
        sample = {"step": step} | {name: values[name] for name in ("counts", "kept", "needed")}
        _check(sample)
        if self._samples is None:
            self._samples = [old for old in self._found() if old["step"] < step]
        if self._samples and _sizes(self._samples[-1]) != _sizes(sample):
            raise InputError(
                f"BalancePage: {self._path}: counts of {_sizes(self._samples[-1])} at step "
                f"{self._samples[-1]['step']}, of {_sizes(sample)} at step {step}"
            )
        self._seen += 1
        if self._seen % self._every == 0:
            self._samples.append(sample)
            if len(self._samples) > _MOST_SAMPLES:
                self._samples = self._samples[1::2]
                self._every *= 2
            self._write()

    def _found(self) -> list[dict[str, Any]]:
        """What a page of an earlier run has."""
        try:
            found = _DATA.search(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return []
        if not found:
            raise InputError(f"BalancePage: {self._path} is there and is no page of balance")
        samples: list[dict[str, Any]] = json.loads(found[1])["samples"]
        return samples

    def _write(self) -> None:
        page = files("shoal.train").joinpath("balance.html").read_text("utf-8")
        data = json.dumps({"samples": self._samples}, separators=(",", ":"))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self._path, page.replace("@DATA@", data).encode())


def _sizes(sample: Mapping[str, Any]) -> str:
    return f"{len(sample['counts'])} layers of {len(sample['counts'][0])} experts"


def _check(sample: Mapping[str, Any]) -> None:
    counts, kept, needed = sample["counts"], sample["kept"], sample["needed"]
    rows = isinstance(counts, list) and counts and all(isinstance(row, list) for row in counts)
    if not rows or not counts[0]:
        raise InputError(f"BalancePage: counts: expected a row for each layer, got {counts!r}")
    if [len(row) for row in kept] != [len(row) for row in counts] or len(needed) != len(counts):
        raise InputError("BalancePage: counts, kept and needed are not of the same layers and experts")
