# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes sentences.tsv from the gettext catalogues of Debian's iso-codes.

Usage: make_sentences.py [--lines N] [--output FILE]

The choice is deterministic: per language its longest translated names,
languages taken in turn, then sorted.
"""

import argparse
import gettext
from collections import defaultdict
from pathlib import Path

LOCALES = Path("/usr/share/locale")
MIN_BYTES, MAX_BYTES = 24, 160


def translations(catalogue):
    """The strings of one .mo file that differ from their English originals."""
    with open(catalogue, "rb") as file:
        entries = gettext.GNUTranslations(file)._catalog
    for original, text in entries.items():
        # The entry "" is the catalogue's header.
        if original and text and text != original:
            yield " ".join(text.split())


def by_language():
    """{language: its strings, longest first}."""
    found = defaultdict(set)
    for catalogue in sorted(LOCALES.glob("*/LC_MESSAGES/iso_*.mo")):
        language = catalogue.parts[-3]
        for text in translations(catalogue):
            if MIN_BYTES <= len(text.encode()) <= MAX_BYTES:
                found[language].add(text)
    return {
        language: sorted(texts, key=lambda text: (-len(text), text))
        for language, texts in sorted(found.items())
    }


def choose(strings, lines):
    """One string per language in turn, until there are enough."""
    chosen, rank = [], 0
    longest = max(len(texts) for texts in strings.values())
    while len(chosen) < lines and rank < longest:
        for language, texts in strings.items():
            if rank < len(texts):
                chosen.append((language, texts[rank]))
        rank += 1
    return sorted(chosen[:lines])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=2000)
    default = Path(__file__).parent / "data" / "sentences.tsv"
    parser.add_argument("--output", type=Path, default=default)
    options = parser.parse_args()
    chosen = choose(by_language(), options.lines)
    with open(options.output, "w", encoding="utf-8") as file:
        file.writelines(f"{language}\t{text}\n" for language, text in chosen)
    languages = len({language for language, _ in chosen})
    print(f"{options.output}: {len(chosen)} lines in {languages} languages")


if __name__ == "__main__":
    main()
