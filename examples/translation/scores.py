# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How good translations are: chrF and exact matches, means over languages, and how sure they are."""

from collections import Counter

import numpy as np

LONGEST, BETA = 6, 2.0


def chrf(text, reference):
    """chrF of one sentence, 0 to 100 (Popović 2015): of precision and recall, means over n-grams of characters of
    1 to LONGEST, the F score that weighs recall BETA times.

    Spaces do not count; n for which either text has no n-gram are left out of the means.
    """
    text, reference = ("".join(part.split()) for part in (text, reference))
    precisions, recalls = [], []
    for n in range(1, min(LONGEST, len(text), len(reference)) + 1):
        made, wanted = (_ngrams(part, n) for part in (text, reference))
        common = sum((made & wanted).values())
        precisions.append(common / sum(made.values()))
        recalls.append(common / sum(wanted.values()))
    precision, recall = (sum(part) / len(part) if part else 0.0 for part in (precisions, recalls))
    if precision + recall == 0:
        return 0.0
    return 100 * (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def _ngrams(text, n):
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def best_chrf(text, references):
    """Against the best of several right answers."""
    return max(chrf(text, reference) for reference in references)


def language_means(languages, values, count, weights=None):
    """[count] of each language its mean: languages [N] of numbers, values [N]; NaN where a language has no weight."""
    weights = np.ones(len(values)) if weights is None else weights
    totals = np.bincount(languages, values * weights, count)
    sizes = np.bincount(languages, weights, count)
    return np.divide(totals, sizes, out=np.full(count, np.nan), where=sizes > 0)


def bootstrap(languages, strings, values, groups, draws=1000, seed=0):
    """The mean over a group's languages of the mean over each one's pairs, and its 95 % interval.

    languages, strings [N]: numbers of each pair's language and English string. groups: {name: numbers of
    languages}. English strings are drawn, not pairs: the pairs of one stand or fall together.
    Returns {name: (mean, low, high)}; NaN for a group of which there is no pair.
    """
    rng = np.random.default_rng(seed)
    count = strings.max() + 1
    sizes = 1 + max(languages.max(), *(members.max(initial=0) for members in groups.values()))
    drawn = {name: [] for name in groups}
    for _ in range(draws):
        weights = np.bincount(rng.integers(count, size=count), minlength=count)[strings]
        means = language_means(languages, values, sizes, weights)
        for name, members in groups.items():
            drawn[name].append(_mean(means[members]))
    whole = language_means(languages, values, sizes)
    return {name: (_mean(whole[groups[name]]), *_interval(found)) for name, found in drawn.items()}


def _mean(values):
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else float("nan")


def _interval(values):
    there = np.array(values)[~np.isnan(values)]
    return tuple(map(float, np.percentile(there, [2.5, 97.5]))) if len(there) else (float("nan"),) * 2
