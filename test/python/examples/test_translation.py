# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The demonstration of examples/translation: its data, scores and plots, and its --ci form."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from paths import PATHS
from shoal_testing import LONG, ROOT, TARGET, run

FOLDER = ROOT / "examples/translation"
MODULES = (
    "pairs", "tokens", "variants", "scores", "nearest", "prepare", "evaluate", "results", "tables", "plots", "run", "train",
)  # fmt: skip


@pytest.fixture(autouse=True)
def example(monkeypatch):
    """The example's modules by their own names, which other examples have, too."""
    monkeypatch.syspath_prepend(FOLDER)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def all_pairs():
    sys.path.insert(0, str(FOLDER))
    try:
        import pairs

        if not list(pairs.LOCALES.glob("fr/LC_MESSAGES/iso_*.mo")):
            pytest.skip("Debian's iso-codes is not installed")
        return pairs.read_pairs()
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("pairs", None)


def version_of_iso_codes():
    command = ["dpkg-query", "-W", "-f=${Version}", "iso-codes"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def test_held_out_english_strings_in_training_are_none(all_pairs):
    import pairs

    parts = pairs.split([pairs.Pair(*pair) for pair in all_pairs])
    english = {name: {pair.english for pair in getattr(parts, name)} for name in parts._fields}
    assert len(english["test"] & english["train"]) == 0
    assert len(english["dev"] & english["train"]) == 0
    assert len(english["dev"] & english["test"]) == 0
    assert english["transfer"] <= english["train"]
    trained = {(pair.language, pair.english) for pair in parts.train}
    assert not trained & {(pair.language, pair.english) for pair in parts.transfer}
    assert sum(map(len, parts)) == len(all_pairs) == len(set(all_pairs))
    assert not any(pair.source == pair.english for pair in all_pairs)


def test_counts_of_pairs(all_pairs):
    import pairs

    if not version_of_iso_codes().startswith("4.15"):
        pytest.skip("the counts are of iso-codes 4.15")
    parts = pairs.split([pairs.Pair(*pair) for pair in all_pairs])
    assert len(all_pairs) == 190_025
    assert (len(parts.train) + len(parts.transfer), len(parts.dev), len(parts.test)) == (171_576, 9_284, 9_165)
    counts = pairs.training_counts([*parts.train, *parts.transfer])
    classes = [pairs.class_of(count) for count in counts.values()]
    assert [classes.count(name) for name in pairs.CLASSES] == [6, 42, 109]
    assert len({pair.english for pair in parts.test}) == 731
    assert len({pair.english for pair in parts.train}) == 13_635


def test_some_pairs_are_all_of_some_strings():
    from pairs import Pair, some

    pairs = [Pair(language, f"{english} in {language}", english) for english in "abcdef" for language in ("fr", "uk")]
    chosen = some(pairs, 5)
    assert len(chosen) == 6 and len({pair.english for pair in chosen}) == 3
    assert chosen == sorted(chosen) == some(pairs[::-1], 5)


def test_rows_and_texts():
    pytest.importorskip("tokenizers")
    from pairs import Pair
    from tokens import END, PAD, Sizes, source_rows, target_rows, texts_of, train_tokenizer

    made = train_tokenizer([Pair("fr", "Allemagne du Sud", "South Germany"), Pair("uk", "Німеччина", "Germany")], 300)
    sizes = Sizes(300, 8, 30)
    rows = target_rows(made, ["South Germany", "Ünü"], sizes)
    assert rows.shape == (2, 30) and rows.dtype == np.int32
    assert [list(row).count(END) for row in rows] == [1, 1]
    assert texts_of(made, rows) == ["South Germany", "Ünü"]
    source = source_rows(made, ["Німеччина", "Allemagne du Sud" * 9, ""], sizes)
    assert END not in source and (source[2] == PAD).all() and (source[1] != PAD).all()
    assert texts_of(made, np.full((1, 30), PAD)) == [""]


def test_chrf():
    from scores import best_chrf, chrf

    assert chrf("Germany", "Germany") == 100 and chrf("xyz", "abc") == 0
    assert chrf("", "abc") == chrf("abc", "") == chrf("", "") == 0
    # n = 1: 2 of 3 and 2 of 2; n = 2: 1 of 2 and 1 of 1; means 7/12 and 1: 5 P R / (4 P + R).
    assert chrf("abc", "ab") == pytest.approx(100 * 5 * (7 / 12) / (4 * 7 / 12 + 1))
    # Repeated letters count as often as both have them; spaces do not count.
    assert chrf("a a", "a") == pytest.approx(100 * 5 * 0.5 / (4 * 0.5 + 1))
    assert best_chrf("abc", ["xyz", "abc"]) == 100
    # What is missing costs more than what is too much.
    assert chrf("abcdef", "abcdefgh") < chrf("abcdefgh", "abcdef")


def table_distance(first, second):
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def test_the_nearest_text_is_that_of_all_comparisons():
    from nearest import Nearest, edit_distance

    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcdé"), rng.integers(0, 9))) for _ in range(300)]
    texts.append("a" * 150)  # longer than a machine word
    for text in texts[:40] + texts[-1:]:
        distances = [table_distance(text, other) for other in texts]
        assert [edit_distance(text, other) for other in texts] == distances
    found = Nearest(texts)
    for text in ("".join(rng.choice(list("abcdé"), 6)) for _ in range(60)):
        distances = [table_distance(text, other) for other in texts]
        assert found.find(text) == distances.index(min(distances))


def test_the_bootstrap_draws_english_strings():
    from scores import bootstrap

    languages, strings = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1])
    values = np.array([0.0, 30.0, 60.0, 10.0, 50.0])
    groups = {"both": np.array([0, 1]), "first": np.array([0]), "none": np.array([], int)}
    found = bootstrap(languages, strings, values, groups)
    assert found["both"][0] == pytest.approx(30) and found["first"][0] == pytest.approx(30)
    assert found["first"][1] < 10 and found["first"][2] > 50  # three strings say little
    assert np.isnan(found["none"]).all()
    # Pairs of one string are not evidence of their own: as wide for a hundred copies of each.
    many = bootstrap(*(np.repeat(array, 100) for array in (languages, strings, values)), groups)
    for name, expected in found.items():
        assert many[name] == pytest.approx(expected, nan_ok=True)


TABLES = ("models", "languages", "classes", "experts")


@pytest.fixture
def figures(tmp_path):
    """The tables of a run of five languages, whose translations are made up: the more experts the better."""
    import json

    import results
    from pairs import Pair, Split
    from prepare import Settings

    names = [f"place {word}" for word in ("north", "south", "east", "west", "old", "new")]
    languages = {"uk": "місце", "fr": "lieu", "da": "sted", "cy": "lle", "yo": "ibi"}
    pairs = {name: [Pair(l, f"{t} {name[6:]}", name) for l, t in languages.items()] for name in names}
    train = [pair for name in names[:4] for pair in pairs[name]]
    split = Split(train, [], pairs[names[4]] + pairs[names[5]], [])
    Settings().write(tmp_path)
    (tmp_path / "pairs.json").write_text(json.dumps(split._asdict()))
    right = {"copy": 0, "dense": 1, "e4": 2, "e16": 3, "only-uk": 1}  # of the test's pairs of a language
    for model, good in right.items():
        folder = tmp_path / model
        folder.mkdir()
        sets = {"test": [p for p in split.test if model != "only-uk" or p.language == "uk"], "transfer": []}
        texts = [p.english if i % 5 < good else p.english[:7] for i, p in enumerate(sets["test"])]
        made = {"steps": 0 if model == "copy" else 20, "sets": sets, "texts": {"test": texts, "transfer": []}}
        (folder / "translations.json").write_text(json.dumps(made))
        lines = [{"step": 10 * i, "nll": 5.0 - i, "step_ms": 1800.0} for i in (1, 2)]
        (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
        (folder / "cores.json").write_text("2")
    for model, experts in (("e4", 4), ("e16", 16)):
        counts = {"LATIN": [[1.0] * experts, [2.0] * experts], "CYRILLIC": [[3.0] + [0.0] * (experts - 1)] * 2}
        (tmp_path / model / "experts.json").write_text(json.dumps(counts))
    results.collect(tmp_path, tmp_path / "results")
    return tmp_path / "results"


def read_tables(folder):
    from tables import read

    return {name: read(folder, name) for name in TABLES}


def check_together(tables):
    """All models have equal steps, means are those of languages, shares sum to 1."""
    assert len({row["steps"] for row in tables["models"] if int(row["steps"])}) == 1
    for row in tables["models"]:
        for part in ("test", "transfer"):
            own = [r for r in tables["languages"] if (r["model"], r["set"]) == (row["model"], part)]
            for what, apart in (("chrf", 2e-3), ("exact", 1e-4)):
                mean = np.mean([float(r[what]) for r in own]) if own else np.nan
                assert float(row[f"{part}_{what}"] or "nan") == pytest.approx(mean, abs=apart, nan_ok=True)
    for row in tables["classes"]:
        if row["class"] in ("high", "middle", "low") and row["chrf"]:
            own = [float(r["chrf"]) for r in tables["languages"]
                   if (r["model"], r["set"], r["class"]) == (row["model"], row["set"], row["class"])]  # fmt: skip
            assert float(row["chrf"]) == pytest.approx(np.mean(own), abs=2e-3)
            assert float(row["chrf_low"]) <= float(row["chrf"]) <= float(row["chrf_high"])
    shares = {}
    for row in tables["experts"]:
        key = row["model"], row["layer"], row["script"]
        shares[key] = shares.get(key, 0.0) + float(row["share"])
    assert all(total == pytest.approx(1, abs=1e-3) for total in shares.values()) and shares


def test_figures_of_a_run(figures):
    tables = read_tables(figures)
    check_together(tables)
    models = {row["model"]: row for row in tables["models"]}
    assert float(models["dense"]["core_hours"]) == pytest.approx(20 * 1.8 * 2 / 3600)
    assert [int(models[name]["parameters"]) for name in ("dense", "e4", "e16")] == [1_443_328, 2_230_784, 5_379_584]
    rows = {(row["model"], row["class"]): row for row in tables["classes"]}
    assert float(rows["dense", "all"]["over_dense"]) == 0
    # Of the five languages' equal pairs e4 has one more right in each string.
    exact = {name: float(rows[name, "all"]["exact"]) for name in ("copy", "dense", "e4", "e16")}
    assert exact == {"copy": 0, "dense": 0.2, "e4": 0.4, "e16": 0.6}
    assert 0 < float(rows["e4", "all"]["over_dense"]) < float(rows["e16", "all"]["over_dense"])
    assert rows["e4", "high"]["chrf"] == "" and rows["e4", "low"]["chrf"] == rows["e4", "all"]["chrf"]
    assert float(rows["dense", "bilingual"]["over_bilingual"]) != 0  # of Ukrainian alone
    scripts = {row["language"]: row["script"] for row in tables["languages"]}
    assert scripts == {"uk": "CYRILLIC", "fr": "LATIN", "da": "LATIN", "cy": "LATIN", "yo": "LATIN"}


def test_rounds_give_all_models_equal_steps(tmp_path, monkeypatch):
    """Each has as many at the end of a round, and none is begun without the last one's time."""
    from argparse import Namespace

    import run as driver

    done, clock = [], [0.0]

    def train(folder, model, steps, ranks):
        done.append((model, steps))
        clock[0] += 10.0

    monkeypatch.setattr(driver, "train", train)
    monkeypatch.setattr(driver.time, "monotonic", lambda: clock[0])
    options = Namespace(models=["dense", "e4"], steps=250, round=100, ranks=1, budget=None)
    driver.train_in_rounds(tmp_path, options)
    assert done == [(model, steps) for steps in (100, 200, 250) for model in ("dense", "e4")]
    done.clear()
    driver.train_in_rounds(tmp_path, Namespace(**{**vars(options), "budget": 59.0}))
    assert done == [(model, steps) for steps in (100, 200) for model in ("dense", "e4")]


def test_running_means():
    from plots import smoothed

    np.testing.assert_allclose(smoothed(np.array([0.0, 3.0, 6.0, 0.0]), 3), [1.5, 3, 3, 3])
    np.testing.assert_allclose(smoothed(np.array([1.0, 3.0]), 15), [2, 2])  # fewer values than neighbours


def test_plots_are_made_of_figures(figures):
    pytest.importorskip("matplotlib")
    import plots

    plots.draw(figures)
    for name in plots.PLOTS:
        assert (figures / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def interval(row, what):
    """As docs/results/Translation.md writes it."""
    made = "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(float(row[what + end]) for end in ("", "_low", "_high")))
    return made.replace("-", "\N{MINUS SIGN}")


COMMITTED = ("results", "results-small")


@pytest.mark.parametrize("folder", COMMITTED)
def test_the_committed_figures_are_those_of_the_page(folder):
    """Its tables and the numbers in its text that they say."""
    tables, page = read_tables(FOLDER / folder), (ROOT / "docs/results/Translation.md").read_text()
    check_together(tables)
    rows = {(row["model"], row["set"], row["class"]): row for row in tables["classes"]}
    sets, classes = ("test", "transfer"), ("high", "middle", "low")
    for model in tables["models"]:
        name = model["model"]
        if name.startswith("only-"):
            continue
        cells = [f"{int(model['parameters']):,}", f"{float(model['core_hours']):.3f}", f"{float(model['nll'] or 0):.2f}"]
        cells = cells if int(model["steps"]) else [""] * 3
        for part in sets:
            row = rows[name, part, "all"]
            cells += [f"{float(row['chrf']):.1f}", f"{100 * float(row['exact']):.1f} %"]
        assert f"| `{name}` | {' | '.join(cells)} |" in page
        if int(model["experts"]) or name == "deep":
            over = [interval(rows[name, part, kind], "over_dense") for part in sets for kind in classes]
            assert f"| `{name}` | {' | '.join(over)} |" in page
        if int(model["experts"]):
            assert f"{interval(rows[name, 'transfer', 'all'], 'over_dense')} with {model['experts']}" in page
    encoder, decoder = (apart_of(tables, "e16", layer) for layer in ("encoder", "decoder"))
    assert f"differ by {encoder:.0f} % of all choices" in page
    assert f"decoder's by {decoder:.1f} %" in page
    for kind in ("middle", "low"):
        if rows["dense", "test", kind]["over_bilingual"]:
            assert interval(rows["dense", "test", kind], "over_bilingual").removeprefix("+") in page


def apart_of(tables, model, layer):
    """By how many percent of all choices Latin's and all other scripts' differ."""
    from plots import apart, latin_and_others

    experts = next(int(row["experts"]) for row in tables["models"] if row["model"] == model)
    own = [row for row in tables["experts"] if (row["model"], row["layer"]) == (model, layer)]
    return 100 * apart(*latin_and_others(own, experts))


def test_the_committed_baselines_are_those_of_the_same_pairs():
    """In both comparisons; by chrF over all languages the nearest source is better than each model."""
    both = [read_tables(FOLDER / folder) for folder in COMMITTED]
    for name in ("copy", "nearest"):
        first, second = ([row for row in tables["languages"] if row["model"] == name] for tables in both)
        assert first == second and first
    for tables in both:
        models = {row["model"]: row for row in tables["models"] if not row["model"].startswith("only-")}
        for what in ("test_chrf", "transfer_chrf"):
            assert max(models, key=lambda name: float(models[name][what])) == "nearest"


@pytest.mark.parametrize("folder", COMMITTED)
def test_the_committed_plots_are_made_of_the_committed_files(folder, tmp_path):
    """Of these alone: other versions of matplotlib may draw some pixels otherwise."""
    pytest.importorskip("matplotlib")
    import plots
    from matplotlib.image import imread

    import tables

    for name in TABLES:
        shutil.copy(tables.path_of(FOLDER / folder, name), tmp_path)
    plots.draw(tmp_path)
    for name in plots.PLOTS:
        made, committed = (imread(where / f"{name}.png") for where in (tmp_path, FOLDER / folder))
        assert made.shape == committed.shape and np.abs(made - committed).mean() < 0.01, name


@pytest.mark.long
@pytest.mark.skipif(TARGET != "cpu", reason="jobs run programs for CPUs")
def test_losses_fall_and_are_those_of_any_number_of_ranks(tmp_path, all_pairs, monkeypatch):
    """The --ci form: 300 steps, or 120, of 4 experts on 1, 2 and 4 ranks."""
    pytest.importorskip("tokenizers")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([PATHS[0], os.environ.get("PYTHONPATH", "")]))
    steps = () if LONG else ("--steps", 120)
    ended = run(sys.executable, FOLDER / "run.py", tmp_path / "ci", "--ci", *steps, timeout=600).expect_success()
    assert "ci: nll" in ended.stdout
