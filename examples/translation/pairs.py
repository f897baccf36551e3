# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translations into English out of Debian's iso-codes: names of languages, countries, regions, scripts, currencies.

A pair is a text in a language and its English. The split is by English string, so that no answer of the
test stands in training under another language.
"""

import gettext
import hashlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

LOCALES = Path("/usr/share/locale")
PARTS = 20  # of which one is the test, one the development set
HIGH, MIDDLE = 5000, 1000  # training pairs of a language from which on it is of that class
CLASSES = ("high", "middle", "low")


class Pair(NamedTuple):
    language: str
    source: str
    english: str


class Split(NamedTuple):
    """train, dev, test: of different English strings. transfer: a part of what was train, taken out of it,
    whose English strings train has in other languages."""

    train: list[Pair]
    dev: list[Pair]
    test: list[Pair]
    transfer: list[Pair]


def read_pairs(locales=LOCALES):
    """The distinct pairs of all catalogues, sorted; links, which are other names of the same data, are left
    out, and translations that are the English itself. FileNotFoundError where there are no catalogues."""
    files = [file for file in sorted(locales.glob("*/LC_MESSAGES/iso_*.mo")) if not file.is_symlink()]
    if not files:
        raise FileNotFoundError(f"{locales}: no catalogues of iso-codes; Debian's package iso-codes has them")
    return sorted({pair for file in files for pair in _catalogue(file) if pair.source != pair.english})


def _catalogue(file):
    language = file.parts[-3]
    with open(file, "rb") as opened:
        entries = gettext.GNUTranslations(opened)._catalog
    for english, text in entries.items():
        if english and text:  # the entry "" is the catalogue's head
            yield Pair(language, text, english)


def part_of(text):
    """0 ... PARTS - 1, of the first four bytes of its sha256."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % PARTS


def split(pairs):
    """By sha256 of the English string, and what is for transfer by that of language and English string."""
    parts = defaultdict(list)
    for pair in pairs:
        parts[{0: "test", 1: "dev"}.get(part_of(pair.english), "train")].append(pair)
    taken = {pair for pair in parts["train"] if part_of(f"{pair.language}\t{pair.english}") == 0}
    shown = {pair.english for pair in parts["train"] if pair not in taken}
    transfer = [pair for pair in parts["train"] if pair in taken and pair.english in shown]
    taken = set(transfer)
    train = [pair for pair in parts["train"] if pair not in taken]
    return Split(train, parts["dev"], parts["test"], transfer)


def references(pairs):
    """Of each (language, source) all its English strings: what is translated may be any of them."""
    found = defaultdict(set)
    for pair in pairs:
        found[pair.language, pair.source].add(pair.english)
    return found


def training_counts(train):
    """Pairs of each language."""
    return Counter(pair.language for pair in train)


def class_of(count):
    """Of a language with so many training pairs."""
    return CLASSES[0] if count >= HIGH else CLASSES[1] if count >= MIDDLE else CLASSES[2]


def some(pairs, count, salt=""):
    """About so many of the pairs, all of each English string: the strings in the order of a hash."""
    by_english = defaultdict(list)
    for pair in pairs:
        by_english[pair.english].append(pair)
    chosen = []
    for english in sorted(by_english, key=lambda text: hashlib.sha256((salt + text).encode()).hexdigest()):
        if len(chosen) >= count:
            break
        chosen += by_english[english]
    return sorted(chosen)
