# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints: trees of arrays on disk, whole by name, whatever devices they lie on.
See docs/guide/Checkpoints.md.

In layers, each of which imports those above it:

    regions, dtypes, checksums      boxes of rows, types, CRC32C of blocks
    heads, manifest, durable        what files say, and that they are on the disk
    planning, shards                who writes what, and one shard
    reading, sources, checkpoint    rows of files: of others' and of our own
    ranks, names, snapshot          what processes agree on, what one has of a tree
    layers, roles, matching         which arrays are a tree's, however it was cut or chained
    saving, loading, series         what there is for users
"""

from shoal.checkpoints.loading import load
from shoal.checkpoints.loading import open_source as open
from shoal.checkpoints.saving import save
from shoal.checkpoints.series import Series
from shoal.checkpoints.sources import ArrayInfo, Source

__all__ = ["ArrayInfo", "Series", "Source", "load", "open", "save"]
