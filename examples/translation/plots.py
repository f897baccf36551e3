#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the plots of a run out of its CSV files.

Usage: plots.py RESULTS

(a) gain.png: chrF over the dense and the bilingual models, of both sets, and what training took, against parameters
(b) languages.png: chrF over the dense model by language, in order of training pairs, of both sets
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
    classes = read(results, "classes")
    figure, (over_dense, over_bilingual, cost) = pyplot.subplots(1, 3, figsize=(14, 5.5))
    gain_of(models, [row for row in classes if row["class"] == "all"], "over_dense", over_dense)
    over_dense.set(title="over the dense model, all languages", ylabel="ΔchrF, mean of languages; 95 % of the bootstrap")
    over_bilingual.set(title="over models of one language, these languages")
    of_one = [row for row in classes if row["class"] == "bilingual"]
    if any(row["over_bilingual"] for row in of_one):
        gain_of(models, of_one, "over_bilingual", over_bilingual)
    else:
        over_bilingual.text(0.5, 0.5, "none has been trained", ha="center", transform=over_bilingual.transAxes)
        over_bilingual.set_axis_off()
    of_all = [row for row in models.values() if int(row["steps"]) and not row["model"].startswith("only-")]
    draw_row(cost, of_all, [(row["core_hours"] or "nan",) * 3 for row in of_all], fmt="o", color="grey")
    cost.set(title="training", ylabel="core-hours", ylim=(0, None))
    figure.legend(*over_dense.get_legend_handles_labels(), loc="lower center", ncols=2)
    figure.suptitle(steps_of(models.values()))
    return figure


SETS = {"test": "English strings held out", "transfer": "pairs held out"}


def gain_of(models, classes, what, axes):
    """A series for each set, side by side."""
    for (part, label), aside, color in zip(SETS.items(), (0.98, 1.02), ("C0", "C1")):
        rows = [row for row in classes if row["set"] == part and row[what] and int(models[row["model"]]["steps"])]
        triples = [[row[what + end] for end in ("", "_low", "_high")] for row in rows]
        draw_row(axes, [models[row["model"]] for row in rows], triples, aside, fmt="o", color=color, label=label)
    axes.axhline(0, color="grey", linewidth=0.8)


def draw_row(axes, models, triples, aside=1.0, **style):
    """Of each model (value, low, high) at its parameters, times `aside`; a line joins those that differ by their
    experts alone."""
    order = np.argsort([int(model["parameters"]) for model in models])
    millions = np.array([int(models[i]["parameters"]) for i in order]) / 1e6
    y, low, high = np.array([triples[i] for i in order], float).reshape(-1, 3).T
    axes.errorbar(millions * aside, y, [y - low, high - y], capsize=3, **style)
    alike = np.array([models[i]["model"] != "deep" for i in order], bool)
    axes.plot(millions[alike] * aside, y[alike], color=style["color"], linewidth=1)
    axes.set(xscale="log", xlabel="parameters, millions")
    axes.set_xticks(millions, [f"{models[i]['model']}\n{size:.2g}" for i, size in zip(order, millions)])
    axes.minorticks_off()


def languages(results, pyplot):
    """Where experts help: languages from those with the most training pairs on, of both sets."""
    models, rows = read(results, "models"), read(results, "languages")
    figure, both = pyplot.subplots(1, 2, figsize=(14, 5), sharey=True)
    for axes, (part, label) in zip(both, SETS.items()):
        languages_of(models, [row for row in rows if row["set"] == part], axes)
        axes.set(title=label, xlabel="languages, most training pairs first")
    both[0].set(ylabel=f"ΔchrF over dense, mean of {SMOOTH} neighbours")
    figure.legend(*both[0].get_legend_handles_labels(), loc="lower center", ncols=4)
    figure.suptitle(steps_of(models))
    return figure


def languages_of(models, rows, axes):
    """A line for each model that is larger than the dense one."""
    dense = {row["language"]: float(row["chrf"]) for row in rows if row["model"] == "dense"}
    order = sorted({(-int(row["training_pairs"]), row["language"]) for row in rows if row["language"] in dense})
    for model in models:
        if not int(model["experts"]) and model["model"] != "deep":
            continue
        found = {row["language"]: float(row["chrf"]) for row in rows if row["model"] == model["model"]}
        over = np.array([found[language] - dense[language] for _, language in order if language in found])
        if len(over):
            axes.plot(smoothed(over), label=model["model"])
    for count in (5000, 1000, 100):
        place = sum(-pairs >= count for pairs, _ in order) - 0.5
        axes.axvline(place, color="grey", linewidth=0.8, linestyle=":")
        axes.annotate(f"{count:,} pairs", (place, 1), xycoords=("data", "axes fraction"), xytext=(2, -9),
                      textcoords="offset points", fontsize=8)  # fmt: skip
    axes.axhline(0, color="grey", linewidth=0.8)


def smoothed(values, width=SMOOTH):
    """Running means of neighbours, of fewer at the ends."""
    half = width // 2
    return np.array([values[max(i - half, 0) : i + half + 1].mean() for i in range(len(values))])


def experts(results, pyplot, most=16):
    """A row for each script, of the model with the most experts up to `most`; None where none has experts."""
    rows, models = read(results, "experts"), read(results, "models")
    if not rows:
        return None
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
    figure.suptitle(f"{model}: sources by script, of so many choices; {steps_of(models)}")
    return figure


PLOTS = {"gain": gain, "languages": languages, "experts": experts}


def draw(results):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for name, plot in PLOTS.items():
        figure = plot(results, pyplot)
        if figure is None:
            print(f"plots.py: no {name}.png, as no model with experts has been trained")
            continue
        figure.tight_layout(rect=(0, 0.05, 1, 1))
        figure.savefig(results / f"{name}.png", dpi=100, metadata={"Software": None})
        pyplot.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
