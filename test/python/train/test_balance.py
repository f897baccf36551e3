# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of how evenly experts are used: what it holds, and in a browser."""

import shutil

import pytest

from report_page import read_data, start_browser
from shoal import train
from shoal.errors import InputError

CHROMIUM, CHROMEDRIVER = shutil.which("chromium"), shutil.which("chromedriver")


def metrics(step, layers=2, experts=4):
    """The first expert takes more and more of 4 * (step + 4) choices, of which it keeps 4."""
    counts = [[step + 4.0 + layer, *[4.0] * (experts - 1)] for layer in range(layers)]
    kept = [[4.0] * experts for _ in range(layers)]
    return {"loss": 1.0, "counts": counts, "kept": kept, "needed": [step + 4.0] * layers}


def steps_of(path):
    return [sample["step"] for sample in read_data(path)["samples"]]


def test_samples_are_those_of_the_log(tmp_path):
    path = tmp_path / "balance.html"
    page = train.BalancePage(path)
    page(10, metrics(10))
    page(10, {"evaluation": 2.0})
    page(20, metrics(20))
    first, second = read_data(path)["samples"]
    assert first == {"step": 10} | {name: metrics(10)[name] for name in ("counts", "kept", "needed")}
    assert second["counts"][1] == [25.0, 4.0, 4.0, 4.0]


def test_a_run_that_goes_on_takes_the_place_of_its_steps(tmp_path):
    path = tmp_path / "balance.html"
    for steps in ((10, 20, 30), (20, 25)):
        page = train.BalancePage(path)
        for step in steps:
            page(step, metrics(step))
    assert steps_of(path) == [10, 20, 25]


def test_long_runs_are_thinned_evenly(tmp_path):
    path = tmp_path / "balance.html"
    page = train.BalancePage(path)
    for step in range(1, 1001):
        page(step, metrics(step, 1, 2))
    assert steps_of(path) == list(range(4, 1001, 4))


@pytest.mark.parametrize(
    "values, message",
    [
        ({"counts": [1.0]}, "counts: expected a row for each layer"),
        ({"kept": [[1.0]]}, "not of the same layers and experts"),
        (metrics(2, 3), "2 layers of 4 experts at step 1, of 3 layers of 4 experts at step 2"),
    ],
)
def test_what_does_not_fit(tmp_path, values, message):
    page = train.BalancePage(tmp_path / "balance.html")
    page(1, metrics(1))
    with pytest.raises(InputError, match=message):
        page(2, metrics(2) | values)


def test_another_file_is_not_written_over(tmp_path):
    path = tmp_path / "notes.html"
    path.write_text("notes")
    with pytest.raises(InputError, match="is no page of balance"):
        train.BalancePage(path)(1, metrics(1))
    assert path.read_text() == "notes"


@pytest.mark.skipif(not (CHROMIUM and CHROMEDRIVER), reason="no chromium or chromedriver")
def test_the_page_in_a_browser(tmp_path):
    path = tmp_path / "balance.html"
    page = train.BalancePage(path)
    for step in (0, 10, 20):
        page(step, metrics(step))
    browser = start_browser(CHROMIUM, CHROMEDRIVER)
    try:
        browser.open(path)
        text = "document.body.innerText"
        assert "2 layers of 4 experts, 3 samples, steps 0 to 20" in browser.run(text)
        row = "document.querySelector('#table tr').innerText.split('\\t')"
        # Of 36 choices in layer 0 the first expert has 24, and drops 20.
        assert browser.run(row)[:6] == ["0", "0.44", "2.67", "0", "55.6 %", "24"]
        browser.run("(byId('sample').value = 0, byId('sample').oninput())")
        assert browser.run(row)[:6] == ["0", "1.00", "1.00", "0", "0.0 %", "4"]
        browser.run("byId('layers').onmousemove({offsetX: 3, offsetY: 30})")
        assert browser.run("byId('layers-read').textContent") == (
            "step 0, layer 1, expert 0: 5 of 17 choices, 1.18 of an even load, 1 dropped"
        )
        browser.run("byId('steps').onmousemove({offsetX: 60, offsetY: 3})")
        assert browser.run("byId('steps-read').textContent").startswith("step 20, layer 0, expert 0: 24 of 36")
        browser.expect_no_complaints()
    finally:
        browser.driver.quit()
