#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the plots of a run out of its tables.

Usage: plots.py RESULTS

(a) gain.png: chrF beside that of the baselines, over the dense model and over models of one language by class of
    language, and what training took, against parameters
(b) languages.png: chrF beside that of the baselines, and over the dense model, by language in order of training pairs
(c) experts.png: which experts the tokens of each script choose, and those of Latin beside those of all others
"""

import sys
from pathlib import Path

import numpy as np
from tables import read

SMOOTH = 15  # languages of a running mean
SETS = {"test": "English strings held out", "transfer": "pairs held out"}
CLASSES = {"high": "C2", "middle": "C4", "low": "C5"}  # in these colours
BASELINES = {"nearest": "--", "copy": ":"}  # by these lines
GAINS = {"over_dense": "over the dense model", "over_bilingual": "over models of one language, these languages"}


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
    has_bilingual = any(row["over_bilingual"] for row in classes)
    rows = 3 if has_bilingual else 2
    figure, axes = pyplot.subplots(rows, 2, figsize=(14, 4.5 * rows), layout="constrained")
    beside_baselines(models, [row for row in classes if row["class"] == "all"], axes[0, 0])
    of_all = [row for row in models.values() if int(row["steps"]) and not row["model"].startswith("only-")]
    draw_row(axes[0, 1], of_all, [(row["core_hours"] or "nan",) * 3 for row in of_all], fmt="o", color="grey")
    axes[0, 1].set(title="training", ylabel="core-hours", ylim=(0, None))
    for (what, title), both in zip(GAINS.items(), axes[1:]):
        for part, own in zip(SETS, both):
            by_class(models, [row for row in classes if row["set"] == part], what, own)
            own.set(title=f"{SETS[part]}: {title}")
        both[0].set(ylabel="ΔchrF, mean of languages; 95 % of the bootstrap")
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, title="training pairs")
    figure.suptitle(steps_of(models.values()))
    return figure


def beside_baselines(models, classes, axes):
    """A series for each set, side by side, and its baselines across."""
    for (part, label), aside, color in zip(SETS.items(), (0.98, 1.02), ("C0", "C1")):
        rows = {row["model"]: row for row in classes if row["set"] == part and row["chrf"]}
        trained = [row for name, row in rows.items() if int(models[name]["steps"])]
        triples = [[row["chrf" + end] for end in ("", "_low", "_high")] for row in trained]
        draw_row(axes, [models[row["model"]] for row in trained], triples, aside, fmt="o", color=color, label=label)
        for name in BASELINES.keys() & rows.keys():
            axes.axhline(float(rows[name]["chrf"]), color=color, linewidth=1, linestyle=BASELINES[name])
            axes.annotate(name, (1, float(rows[name]["chrf"])), xycoords=("axes fraction", "data"), xytext=(3, -3),
                          textcoords="offset points", fontsize=8, color=color, annotation_clip=False)  # fmt: skip
    axes.set(title="all languages", ylabel="chrF, mean of languages; 95 % of the bootstrap", ylim=(0, None))
    axes.legend(loc="lower right")


def by_class(models, classes, what, axes):
    """A series for each class of languages, side by side."""
    for (kind, color), aside in zip(CLASSES.items(), (0.96, 1.0, 1.04)):
        rows = [row for row in classes if row["class"] == kind and row[what] and int(models[row["model"]]["steps"])]
        triples = [[row[what + end] for end in ("", "_low", "_high")] for row in rows]
        draw_row(axes, [models[row["model"]] for row in rows], triples, aside, fmt="o", color=color, label=kind)
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
    figure, axes = pyplot.subplots(2, 2, figsize=(14, 9), sharex="col", sharey="row", layout="constrained")
    larger = [row["model"] for row in models if int(row["experts"]) or row["model"] == "deep"]
    for (part, label), (beside, over) in zip(SETS.items(), axes.T):
        languages_of([row for row in rows if row["set"] == part], larger, beside, over)
        beside.set(title=label)
        over.set(xlabel="languages, most training pairs first")
    axes[0, 0].set(ylabel=f"chrF, mean of {SMOOTH} neighbours of a class")
    axes[1, 0].set(ylabel=f"ΔchrF over dense, mean of {SMOOTH} neighbours of a class")
    drawn = {label: line for own in axes[:, 0] for line, label in zip(*own.get_legend_handles_labels())}
    figure.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=len(drawn))
    figure.suptitle(steps_of(models))
    return figure


def languages_of(rows, larger, beside, over):
    """A line for each model: above the dense one and the baselines, below what the larger ones are over it."""
    pairs = {row["language"]: (int(row["training_pairs"]), row["class"]) for row in rows}
    chrf = {}
    for row in rows:
        chrf.setdefault(row["model"], {})[row["language"]] = float(row["chrf"])
    order = sorted(chrf.get("dense", {}), key=lambda language: (-pairs[language][0], language))
    classes = [pairs[language][1] for language in order]

    def draw(axes, of_language, **style):
        for kind in CLASSES:
            places = [i for i, language in enumerate(order) if classes[i] == kind and language in of_language]
            values = np.array([of_language[order[i]] for i in places])
            if len(places):
                axes.plot(places, smoothed(values), **style)
                style.pop("label", None)  # once

    for name, line in BASELINES.items():
        draw(beside, chrf.get(name, {}), label=name, color="grey", linestyle=line)
    draw(beside, chrf.get("dense", {}), label="dense", color="black")
    for number, name in enumerate(larger):
        found = chrf.get(name, {})
        draw(beside, found, color=f"C{number}", linewidth=0.8)
        difference = {language: found[language] - chrf["dense"][language] for language in order if language in found}
        draw(over, difference, label=name, color=f"C{number}")
    over.axhline(0, color="black", linewidth=0.8)
    for axes in (beside, over):
        for count in (5000, 1000, 100):
            place = sum(pairs[language][0] >= count for language in order) - 0.5
            axes.axvline(place, color="grey", linewidth=0.8, linestyle=":")
            axes.annotate(f"{count:,} pairs", (place, 1), xycoords=("data", "axes fraction"), xytext=(2, -9),
                          textcoords="offset points", fontsize=8)  # fmt: skip


def smoothed(values, width=SMOOTH):
    """Running means of neighbours, of fewer at the ends."""
    half = width // 2
    return np.array([values[max(i - half, 0) : i + half + 1].mean() for i in range(len(values))])


def choices(rows, experts):
    """{script: [experts] shares} and {script: choices} of one layer of a model."""
    shares, counts = {}, {}
    for row in rows:
        shares.setdefault(row["script"], np.zeros(experts))[int(row["expert"])] = float(row["share"])
        counts[row["script"]] = int(row["tokens"])
    return shares, counts


def latin_and_others(rows, experts):
    """[experts] shares of Latin's tokens and of all others'; None where there is but one of the two."""
    shares, counts = choices(rows, experts)
    others = [script for script in shares if script != "LATIN" and counts[script]]
    if "LATIN" not in shares or not others:
        return None
    return shares["LATIN"], np.average([shares[s] for s in others], axis=0, weights=[counts[s] for s in others])


def apart(first, second):
    """By what part of all choices two distributions differ."""
    return np.abs(first - second).sum() / 2


def experts(results, pyplot, most=16):
    """A row for each script, of the model with the most experts up to `most`; None where none has experts."""
    rows, models = read(results, "experts"), read(results, "models")
    if not rows:
        return None
    counts = {row["model"]: int(row["experts"]) for row in models}
    model = max({row["model"] for row in rows if counts[row["model"]] <= most}, key=counts.get)
    figure, axes = pyplot.subplots(2, 2, figsize=(13, 8.5), height_ratios=(1, 2), layout="constrained")
    axes[0, 1].sharey(axes[0, 0])
    own = {layer: [r for r in rows if (r["model"], r["layer"]) == (model, layer)] for layer in ("encoder", "decoder")}
    total = choices(own["encoder"], counts[model])[1]
    scripts = sorted(total, key=total.get, reverse=True)  # the same rows on both sides
    largest = max(float(row["share"]) for layer in own.values() for row in layer)  # the same colours, too
    for layer, (above, below) in zip(own, axes.T):
        both = latin_and_others(own[layer], counts[model])
        if both:
            for values, aside, label in zip(both, (-0.2, 0.2), ("Latin", "all other scripts")):
                above.bar(np.arange(counts[model]) + aside, values, 0.4, label=label)
            above.set(title=f"{layer}: shares differ by {100 * apart(*both):.1f} % of all choices")
            above.set_xticks(range(counts[model]))
            above.legend()
        shares, sizes = choices(own[layer], counts[model])
        table = np.array([shares.get(script, np.zeros(counts[model])) for script in scripts])
        image = below.imshow(table, aspect="auto", cmap="viridis", vmin=0, vmax=largest)
        below.set(title=f"{layer}'s experts", xlabel="expert", xticks=range(counts[model]))
        labels = [f"{name.lower()} ({sizes.get(name, 0)})" for name in scripts]
        below.set_yticks(range(len(scripts)), labels, fontsize=8)
    figure.colorbar(image, ax=axes[1], label="share of the script's choices")
    axes[0, 0].set(ylabel="share of all choices")
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
        figure.savefig(results / f"{name}.png", dpi=80, metadata={"Software": None})
        pyplot.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
