#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scores what evaluate.py wrote, and puts the figures of a run into four tables.

Usage: results.py FOLDER RESULTS

RESULTS gets models.csv, a row for each model, and, compressed, languages.csv.xz, classes.csv.xz and experts.csv.xz:
all that plots.py reads.
"""

import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tables
from evaluate import BASELINES, SETS, scripts_of
from pairs import CLASSES, Pair, class_of, references, training_counts
from prepare import read_settings, read_split
from scores import best_chrf, bootstrap, language_means
from variants import BILINGUAL, VARIANTS, model_of

_chrf = lru_cache(maxsize=None)(best_chrf)


class Scored(NamedTuple):
    """pairs of a set, and of each its chrF and whether it is right."""

    pairs: list[Pair]
    chrf: np.ndarray
    exact: np.ndarray


def score(pairs, texts, right):
    """right: see `references`."""
    answers = [tuple(sorted(right[pair.language, pair.source])) for pair in pairs]
    made = [_chrf(text, answer) for text, answer in zip(texts, answers)]
    exact = [text in answer for text, answer in zip(texts, answers)]
    return Scored(pairs, np.array(made, float), np.array(exact, float))


class Run:
    """What there is of a run: {model: {set: Scored}}, and of its languages what the training data say."""

    def __init__(self, folder):
        self.folder, self.settings, split = folder, read_settings(folder), read_split(folder)
        right = references(pair for part in split for pair in part)
        self.counts = training_counts([*split.train, *split.transfer])
        self.scripts = scripts_of(split.train)
        self.languages = sorted({pair.language for part in split for pair in part})
        self.scored, self.steps = {}, {}
        for name in (*BASELINES, *VARIANTS):
            file = folder / name / "translations.json"
            if file.exists():
                made = json.loads(file.read_text())
                sets = {part: [Pair(*pair) for pair in made["sets"][part]] for part in SETS}
                self.scored[name] = {part: score(sets[part], made["texts"][part], right) for part in SETS}
                self.steps[name] = made["steps"]

    def numbers(self, pairs):
        """Of each pair those of its language and of its English string."""
        place = {language: number for number, language in enumerate(self.languages)}
        languages = np.array([place[pair.language] for pair in pairs], int)
        return languages, np.unique([pair.english for pair in pairs], return_inverse=True)[1]

    def groups(self):
        """{class: numbers of its languages}, with "all" and those that have a bilingual model."""
        kinds = [class_of(self.counts[language]) for language in self.languages]
        made = {kind: np.flatnonzero([other == kind for other in kinds]) for kind in CLASSES}
        two = np.flatnonzero([language in BILINGUAL for language in self.languages])
        return {**made, "all": np.arange(len(kinds)), "bilingual": two}


def language_rows(run):
    for name, sets in run.scored.items():
        for part, scored in sets.items():
            if not scored.pairs:
                continue
            numbers, _ = run.numbers(scored.pairs)
            means = {what: language_means(numbers, getattr(scored, what), len(run.languages)) for what in ("chrf", "exact")}
            for number in sorted(set(numbers)):
                language = run.languages[number]
                count = run.counts[language]
                yield {
                    "model": name, "set": part, "language": language, "script": run.scripts.get(language, "OTHER"),
                    "training_pairs": count, "class": class_of(count), "pairs": int((numbers == number).sum()),
                    "chrf": _rounded(means["chrf"][number]), "exact": _rounded(means["exact"][number], 4),
                }  # fmt: skip


def class_rows(run):
    for name, sets in run.scored.items():
        for part, scored in sets.items():
            if not scored.pairs or name.startswith("only-"):
                continue
            numbers, strings = run.numbers(scored.pairs)
            groups = run.groups()
            found = {what: bootstrap(numbers, strings, getattr(scored, what), groups) for what in ("chrf", "exact")}
            over = {other: _over(run, name, other, part, groups) for other in ("dense", "bilingual")}
            for kind in groups:
                row = {"model": name, "set": part, "class": kind}
                for what, values in (("chrf", found["chrf"]), ("exact", found["exact"]),
                                     ("over_dense", over["dense"]), ("over_bilingual", over["bilingual"])):  # fmt: skip
                    triple = values.get(kind, (float("nan"),) * 3)
                    row |= {what + end: _rounded(v, 4) for end, v in zip(("", "_low", "_high"), triple)}
                yield row


def _over(run, name, other, part, groups):
    """chrF of a model less that of another on the same pairs: {class: (mean, low, high)}."""
    own, base = run.scored[name][part], _baseline(run, other, part)
    both = [i for i, pair in enumerate(own.pairs) if pair in base]
    if not both:
        return {}
    pairs = [own.pairs[i] for i in both]
    differences = own.chrf[both] - np.array([base[pair] for pair in pairs])
    return bootstrap(*run.numbers(pairs), differences, groups)


def _baseline(run, other, part):
    """{pair: chrF} of the dense model, or of each language's own."""
    names = [f"only-{language}" for language in BILINGUAL] if other == "bilingual" else [other]
    found = [run.scored[name][part] for name in names if name in run.scored]
    return {pair: chrf for scored in found for pair, chrf in zip(scored.pairs, scored.chrf)}


def model_rows(run):
    for name in run.scored:
        if name in BASELINES:
            yield {"model": name, "experts": 0, "layers": 0, "parameters": 0, "steps": 0, "batch": 0,
                   "seed": 0, "nll": "", "core_hours": 0, **_means(run, name)}  # fmt: skip
            continue
        variant, settings = VARIANTS[name], run.settings
        nll, hours = _training(run.folder / name)
        yield {
            "model": name, "experts": variant.experts, "layers": variant.layers,
            "parameters": _parameters(model_of(variant, settings.sizes, settings.width).shapes()),
            "steps": run.steps[name], "batch": settings.batch, "seed": settings.seed,
            "nll": _rounded(nll, 4), "core_hours": _rounded(hours, 4), **_means(run, name),
        }  # fmt: skip


def _means(run, name):
    """Of both sets chrF and exact answers: means over the languages that the model is evaluated on."""
    means = {}
    for part, scored in run.scored[name].items():
        numbers, _ = run.numbers(scored.pairs)
        for what in ("chrf", "exact"):
            values = language_means(numbers, getattr(scored, what), len(run.languages))
            there = values[~np.isnan(values)]
            means[f"{part}_{what}"] = _rounded(there.mean() if len(there) else np.nan, 4)
    return means


def _training(folder):
    """The mean loss of the last fifth of the steps that were logged, and core-hours: steps times their time times
    cores, without compilation, evaluation and saving. Their time is that which a tenth of them stay below: what else
    a machine has to do is not the model's."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    cores = json.loads((folder / "cores.json").read_text())
    losses = [line["nll"] for line in lines]
    times = [line["step_ms"] for line in lines if "step_ms" in line]
    hours = lines[-1]["step"] * float(np.quantile(times, 0.1)) / 3.6e6 * cores
    return float(np.mean(losses[-max(len(losses) // 5, 1) :])), hours


def _parameters(shapes):
    if isinstance(shapes, tuple):
        return int(np.prod(shapes))
    return sum(map(_parameters, shapes.values() if isinstance(shapes, dict) else shapes))


def expert_rows(run):
    for name, variant in VARIANTS.items():
        file = run.folder / name / "experts.json"
        if variant.experts and file.exists():
            for script, layers in json.loads(file.read_text()).items():
                for layer, counts in zip(("encoder", "decoder"), layers):
                    for expert, count in enumerate(counts):
                        share = count / sum(counts) if sum(counts) else 0.0
                        yield {"model": name, "layer": layer, "script": script, "tokens": int(sum(counts)),
                               "expert": expert, "share": _rounded(share, 5)}  # fmt: skip


def _rounded(value, digits=3):
    return "" if np.isnan(value) else round(float(value), digits)


TABLES = {"models": model_rows, "languages": language_rows, "classes": class_rows, "experts": expert_rows}


def collect(folder, results):
    run = Run(folder)
    results.mkdir(parents=True, exist_ok=True)
    for name, rows in TABLES.items():
        tables.write(results, name, list(rows(run)))


if __name__ == "__main__":
    collect(Path(sys.argv[1]), Path(sys.argv[2]))
