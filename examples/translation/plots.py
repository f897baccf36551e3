#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the plots of a run out of its CSV files.

Usage: plots.py RESULTS

(a) gain.png: chrF over the dense and the bilingual models, of both sets, and what training took, against parameters
(b) languages.png: chrF over the dense model by language, in order of training pairs
(c) experts.png: which experts the tokens of each script choose
"""

import csv
import sys
from pathlib import Path

import numpy as np

SMOOTH = 15  # languages of a running mean


def read(results, name):
    with open(results / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def steps_of(models):
    """What the figures are of, for titles."""
    trained = [row for row in models if int(row["steps"])]
    steps = sorted({int(row["steps"]) for row in trained})
    said = f"{steps[0]}" if len(steps) == 1 else f"{steps[0]} to {steps[-1]}"
    return f"{said} steps of {trained[0]['batch']} pairs"


def gain(results, pyplot):
    """GShard's Figure 1: quality and cost of larger models, of English strings held out and of those of others."""
    models = {row["model"]: row for row in read(results, "models")}
    figure, both = pyplot.subplots(1, 2, figsize=(13, 5.5), sharey=True)
    for axes, part in zip(both, ("test", "transfer")):
        classes = [row for row in read(results, "classes") if row["set"] == part]
        gain_of(models, classes, axes)
        axes.set(title={"test": "English strings held out", "transfer": "pairs held out"}[part])
    both[0].set(ylabel="ΔchrF, mean over languages, 95 % of the bootstrap")
    cost = core_hours(models, both[1])
    lines = [part for axes in (both[1], cost) for part in zip(*axes.get_legend_handles_labels())]
    figure.legend(*zip(*lines), loc="lower center", ncols=3, fontsize=8)
    figure.suptitle(steps_of(models.values()))
    return figure


def gain_of(models, classes, axes):
    """Over the dense and the bilingual models, against parameters."""
    for what, kind in (("over_dense", "all"), ("over_bilingual", "bilingual")):
        rows = [row for row in classes if row["class"] == kind and row[what] and int(models[row["model"]]["steps"])]
        rows.sort(key=lambda row: int(models[row["model"]]["parameters"]))
        x = [int(models[row["model"]]["parameters"]) / 1e6 for row in rows]
        y, low, high = ([float(row[what + end]) for row in rows] for end in ("", "_low", "_high"))
        errors = np.abs(np.array([low, high]) - y)
        axes.errorbar(x, y, errors, marker="o", capsize=3, label=what.replace("_", " "))
        for place, row in zip(zip(x, y), rows):
            axes.annotate(row["model"], place, textcoords="offset points", xytext=(4, 6), fontsize=8)
    axes.axhline(0, color="grey", linewidth=0.8)
    ticks = sorted({round(int(row["parameters"]) / 1e6, 1) for row in models.values() if int(row["steps"])})
    axes.set(xscale="log", xlabel="parameters, millions")
    axes.set_xticks(ticks, map(str, ticks))
    axes.minorticks_off()


def core_hours(models, axes):
    """A second axis on the right."""
    cost = axes.twinx()
    shared = sorted((row for row in models.values() if int(row["steps"]) and not row["model"].startswith("only-")),
                    key=lambda row: int(row["parameters"]))  # fmt: skip
    cost.plot([int(row["parameters"]) / 1e6 for row in shared], [float(row["core_hours"] or "nan") for row in shared],
              "s--", color="grey", label="core-hours")  # fmt: skip
    cost.set(ylabel="core-hours", ylim=(0, None))
    return cost


def languages(results, pyplot):
    """Where experts help: languages from those with the most training pairs on."""
    rows = [row for row in read(results, "languages") if row["set"] == "test"]
    models = read(results, "models")
    dense = {row["language"]: float(row["chrf"]) for row in rows if row["model"] == "dense"}
    order = sorted({(-int(row["training_pairs"]), row["language"]) for row in rows if row["language"] in dense})
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for model in models:
        if not int(model["experts"]) and model["model"] != "deep":
            continue
        found = {row["language"]: float(row["chrf"]) for row in rows if row["model"] == model["model"]}
        over = np.array([found[language] - dense[language] for _, language in order if language in found])
        if len(over):
            axes.plot(smoothed(over), label=model["model"])
    for count in (5000, 1000, 100):
        axes.axvline(sum(-pairs >= count for pairs, _ in order) - 0.5, color="grey", linewidth=0.8, linestyle=":")
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set(xlabel="languages, most training pairs first; dotted: 5,000, 1,000 and 100 pairs",
             ylabel=f"ΔchrF over dense, mean of {SMOOTH} neighbours")  # fmt: skip
    axes.legend()
    figure.suptitle(f"Held-out English strings; {steps_of(models)}")
    return figure


def smoothed(values, width=SMOOTH):
    """Running means of neighbours, of fewer at the ends."""
    half = width // 2
    return np.array([values[max(i - half, 0) : i + half + 1].mean() for i in range(len(values))])


def experts(results, pyplot, most=16):
    """A row for each script, of the model with the most experts up to `most`."""
    rows, models = read(results, "experts"), read(results, "models")
    counts = {row["model"]: int(row["experts"]) for row in models}
    model = max({row["model"] for row in rows if counts[row["model"]] <= most}, key=counts.get)
    figure, both = pyplot.subplots(1, 2, figsize=(12, 5))
    total = {row["script"]: int(row["tokens"]) for row in rows if (row["model"], row["layer"]) == (model, "encoder")}
    scripts = sorted(total, key=total.get, reverse=True)  # the same rows on both sides
    for axes, layer in zip(both, ("encoder", "decoder")):
        own = [row for row in rows if row["model"] == model and row["layer"] == layer]
        size = {row["script"]: int(row["tokens"]) for row in own}
        share = np.zeros((len(scripts), counts[model]))
        for row in own:
            share[scripts.index(row["script"]), int(row["expert"])] = float(row["share"])
        image = axes.imshow(share, aspect="auto", cmap="viridis", vmin=0)
        axes.set(title=f"{layer}'s experts", xlabel="expert", xticks=range(counts[model]))
        axes.set_yticks(range(len(scripts)), [f"{name.lower()} ({size[name]})" for name in scripts], fontsize=8)
        figure.colorbar(image, ax=axes, label="share of the script's choices")
    figure.suptitle(f"{model}: sources by script (choices); {steps_of(models)}")
    return figure


PLOTS = {"gain": gain, "languages": languages, "experts": experts}


def draw(results):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for name, plot in PLOTS.items():
        figure = plot(results, pyplot)
        figure.tight_layout(rect=(0, 0.05, 1, 1))
        figure.savefig(results / f"{name}.png", dpi=100, metadata={"Software": None})
        pyplot.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
