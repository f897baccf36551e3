# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The baseline that memorises: the English of the training source that is nearest by edit distance."""

import numpy as np

_BUCKETS = 64


def edit_distance(first, second):
    """Levenshtein's, by the bits of one column of the table at a time (Myers 1999; Hyyrö 2003)."""
    if not first:
        return len(second)
    places = {}
    for place, letter in enumerate(first):
        places[letter] = places.get(letter, 0) | 1 << place
    mask, top = (1 << len(first)) - 1, 1 << len(first) - 1
    rises, falls, distance = mask, 0, len(first)
    for letter in second:
        equal = places.get(letter, 0)
        diagonal = (((equal & rises) + rises) ^ rises) | equal | falls
        up, down = falls | ~(diagonal | rises) & mask, rises & diagonal
        distance += bool(up & top) - bool(down & top)
        up, down = (up << 1 | 1) & mask, down << 1 & mask
        rises, falls = down | ~(diagonal | up) & mask, up & diagonal
    return distance


class Nearest:
    """Finds the nearest of texts, the first of equal ones.

    Two texts differ by at least as many edits as their letters do, whatever their order: candidates come by this
    bound, and most are never compared.
    """

    def __init__(self, texts):
        self.texts = texts
        self._counts = np.array([_letters(text) for text in texts], np.int16).reshape(-1, _BUCKETS)
        self._lengths = np.array([len(text) for text in texts])

    def find(self, text):
        """Its number among the texts."""
        apart = np.abs(self._counts - np.array(_letters(text), np.int16)).sum(1)
        least = (apart + np.abs(self._lengths - len(text))) // 2
        best, found = None, None
        for number in np.argsort(least, kind="stable"):
            if best is not None and least[number] > best:
                break
            distance = edit_distance(text, self.texts[number])
            if best is None or (distance, number) < (best, found):
                best, found = distance, number
        return int(found)


def _letters(text):
    """How many letters of the text are in each bucket. Letters that share one can only lower the bound."""
    counts = [0] * _BUCKETS
    for letter in text:
        counts[ord(letter) % _BUCKETS] += 1
    return counts
