#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the tables of docs/guide/Configurations.md from `shoal.moe.schemas` and `shoal.moe.megatron`, between comments
that name them. The rest of the page is written by hand.

Usage: generate-config-docs.py     with a build of the package, as tests find it
test/python/docs/test_config_docs.py fails where the page differs.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/guide/Configurations.md"


def _rows(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _default(field, needed):
    if field.default is needed:
        return "needed"
    if field.default is None:
        return "null" if field.null else "none"
    return "none" if field.default == () else json.dumps(field.default)


def _becomes(field):
    if field.idle:
        return f"no effect: {field.idle}"
    return f"{' or '.join(map(json.dumps, field.only))} alone" if field.only else "read"


def _by_families(schemas, of_field):
    """Of each field's texts in the families that have it: one for all, or each with its families."""
    found = {}
    for family, schema in schemas.items():
        for name, field in schema.items():
            found.setdefault(name, {}).setdefault(of_field(field), []).append(family)
    return found


def _with_families(texts, count):
    if len(texts) == 1 and count == sum(map(len, texts.values())):
        return next(iter(texts))
    return "; ".join(f"{text} ({', '.join(families)})" for text, families in texts.items())


def fields_table(schemas):
    """Fields that something is made of, or of which some values are refused."""
    from shoal.moe.schemas import ALIASES, NEEDED

    others = {}
    for alias, name in ALIASES.items():
        others.setdefault(name, []).append(f"`{alias}`")
    laws = _by_families(schemas, lambda field: field.law.what)
    defaults = _by_families(schemas, lambda field: _default(field, NEEDED))
    becomes = _by_families(schemas, _becomes)
    rows = []
    for name in sorted(laws):
        if all(field.idle for schema in schemas.values() for field in [schema.get(name)] if field):
            continue
        own = [family for family, schema in schemas.items() if name in schema]
        where = "all" if len(own) == len(schemas) else ", ".join(own)
        title = ", ".join([f"`{name}`", *others.get(name, [])])
        texts = (_with_families(of_field[name], len(own)) for of_field in (laws, defaults, becomes))
        rows.append([title, where, *texts])
    return _rows(["field", "families", "what it may be", "where it is left out", "what becomes of it"], rows)


def idle_table(schemas):
    """Fields without an effect, by why."""
    whys = {}
    for schema in schemas.values():
        for name, field in schema.items():
            if field.idle:
                whys.setdefault(field.idle, {})[f"`{name}`"] = None
    return _rows(["why", "fields"], [[why, ", ".join(sorted(names))] for why, names in whys.items()])


def options_table(rope):
    """Of `rope_scaling` and `rope_parameters`."""
    return _rows(["option", "what it may be"], [[f"`{name}`", field.law.what] for name, field in sorted(rope.items())])


def flags_table(flags):
    """What each flag becomes, or why it is refused."""
    return _rows(["flag", ""], [[f"`--{name}`", text] for name, text in sorted(flags.items())])


def idle_flags_table(flags):
    """Flags without an effect, by why."""
    whys = {}
    for name, why in flags.items():
        whys.setdefault(why, []).append(f"`--{name}`")
    return _rows(["why", "flags"], [[why, ", ".join(names)] for why, names in whys.items()])


def tables():
    """{name: table} of the page."""
    from shoal.models.megatron import MODEL_FLAGS, REFUSED_MODEL_FLAGS
    from shoal.moe import megatron, megatron_flags, schemas

    refused = {name: why for name, why in REFUSED_MODEL_FLAGS.items() if name not in megatron_flags.REFUSED_LAYERS}

    return {
        "fields": fields_table(schemas.SCHEMAS),
        "idle fields": idle_table(schemas.SCHEMAS),
        "rope options": options_table(schemas.ROPE),
        "layer flags": flags_table(megatron.LAYER_FLAGS),
        "layout flags": flags_table(megatron.LAYOUT_FLAGS),
        "refused layer flags": flags_table(megatron_flags.REFUSED_LAYERS),
        "refused layout flags": flags_table(megatron_flags.REFUSED_LAYOUTS),
        "model flags": flags_table(MODEL_FLAGS),
        "refused model flags": idle_flags_table(refused),
        "idle flags": idle_flags_table(megatron_flags.WITHOUT_EFFECT),
    }


def page_with(text, made):
    """The page's text with these tables in their places."""
    for name, table in made.items():
        marks = f"<!-- table: {name} -->\n", "<!-- end of table -->"
        whole = f"{marks[0]}{table}\n{marks[1]}"
        text, count = re.subn(f"{re.escape(marks[0])}.*?{marks[1]}", lambda _, whole=whole: whole, text, flags=re.S)
        if count != 1:
            raise SystemExit(f"{PAGE}: {count} places for the table {name!r}; expected 1")
    return text


def main():
    sys.path.insert(0, str(ROOT / "test/python/support"))
    from paths import PATHS

    sys.path[:0] = PATHS
    PAGE.write_text(page_with(PAGE.read_text(), tables()))


if __name__ == "__main__":
    main()
