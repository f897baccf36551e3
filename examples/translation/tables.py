# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of a run as files: models.csv is its summary, the long tables are compressed."""

import csv
import lzma

SUMMARY = "models"


def path_of(results, name):
    return results / (f"{name}.csv" if name == SUMMARY else f"{name}.csv.xz")


def _open(path, mode):
    opened = lzma.open if path.suffix == ".xz" else open
    return opened(path, mode, newline="", encoding="utf-8")


def read(results, name):
    """The rows of a table, each {column: text}."""
    with _open(path_of(results, name), "rt") as file:
        return list(csv.DictReader(file))


def write(results, name, rows):
    with _open(path_of(results, name), "wt") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
