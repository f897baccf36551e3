# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of `shoalc --emit=report` in a browser."""

import shutil

import numpy as np
import pytest

from report_page import read_data, start_browser
from shoal_testing import BIN, ROOT, load_json, run

CHROMIUM = shutil.which("chromium")
CHROMEDRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and CHROMEDRIVER), reason="no chromium or chromedriver"
)

INPUTS = ROOT / "test" / "Report" / "Inputs"
PROGRAMS = {
    "moe_layer": ROOT / "examples" / "moe_layer" / "moe_layer.mlir",
    "three_axes": INPUTS / "three-axes.mlir",
    "many_devices": INPUTS / "many-devices.mlir",
    "uneven": INPUTS / "uneven.mlir",
    "alone": INPUTS / "nothing-sent.mlir",
    "ordered": INPUTS / "device-order.mlir",
}


@pytest.fixture(scope="module")
def browser():
    browser = start_browser(CHROMIUM, CHROMEDRIVER)
    yield browser
    browser.driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Makes the page of a program, and its statistics."""
    directory = tmp_path_factory.mktemp("reports")

    def make(name):
        page, stats = directory / f"{name}.html", directory / f"{name}.json"
        if not page.exists():
            command = ("--emit=report", "-o", page, "--stats", stats)
            run(BIN / "shoalc", PROGRAMS[name], *command).expect_success()
        return page, load_json(stats)

    return make


@pytest.fixture(scope="module", params=PROGRAMS)
def opened(request, browser, pages):
    """A program's name, the browser with its page, its data and statistics."""
    page, stats = pages(request.param)
    browser.open(page)
    return request.param, browser, read_data(page), stats


def count(browser, selector):
    return browser.run("document.querySelectorAll(arguments[0]).length", selector)


def texts(browser, selector):
    script = "[...document.querySelectorAll(arguments[0])].map((node) => node.textContent)"
    return browser.run(script, selector)


def test_page_has_all_parts(opened):
    name, browser, data, _ = opened
    assert browser.driver.title == f"{name} – Shoal report"
    assert texts(browser, "h1") == [name]
    signature = count(browser, "#signature tbody tr")
    assert signature == len(data["inputs"]) + len(data["outputs"])
    assert len(data["ops"]) <= 100  # more are not rows before they come into view
    assert count(browser, "#ops tbody tr") == len(data["ops"])
    assert count(browser, "#ops tr.collective") == len(data["collectives"])
    assert count(browser, "#collective-list tbody tr") == len(data["collectives"])
    assert count(browser, "symbol") == len(data["layouts"])
    assert count(browser, ".chart rect.buffer") == len(data["memory"]["buffers"])
    assert count(browser, ".chart rect.arguments") == 1


def test_one_hot_einsums_are_listed(opened):
    name, browser, data, _ = opened
    rows = count(browser, "#one-hots tbody tr")
    assert rows == len(data["one_hots"])
    assert rows == (2 if name == "moe_layer" else rows)


def test_every_link_and_icon_has_its_target(opened):
    _, browser, _, _ = opened
    script = "[...document.querySelectorAll(arguments[0])].map((n) => n.getAttribute('href'))"
    targets = browser.run(script, "a[href^='#'], use")
    assert len(targets) > 4
    missing = [target for target in set(targets) if not count(browser, f"[id='{target[1:]}']")]
    assert not missing


def test_details_of_every_op(opened):
    _, browser, data, _ = opened
    titles = browser.run(
        "report.ops.map((op) => { selectOp(op.index); return byId('details').textContent; })"
    )
    browser.expect_no_complaints()
    for index, (op, title) in enumerate(zip(data["ops"], titles, strict=True)):
        assert title.startswith(f"#{index} {op['name']}")
        assert op["text"] in title


def test_figures_are_those_of_the_statistics(opened):
    _, browser, data, stats = opened
    bytes_sent = browser.run(
        "Object.fromEntries([...sumBy(report.collectives, (c) => c.kind)]"
        ".map(([kind, sum]) => [kind, sum.bytes]))"
    )
    assert bytes_sent == stats["bytes_sent_per_device"]
    memory = data["memory"]
    assert memory["peak"] == stats["peak_bytes_per_device"]
    assert memory["arena"] == stats["arena_bytes_per_device"]
    # What is drawn adds up to what the plan says.
    assert browser.run("Math.max(0, ...aliveBytes())") == memory["live"] - memory["constants"]
    total = browser.run("formatBytes(sentBytes())")
    assert total == texts(browser, ".tile .figure")[1]


def test_largest_buffers_say_what_they_could_be(opened):
    _, browser, data, stats = opened
    memory = data["memory"]
    assert memory["largest"] == stats["largest_buffers"]
    for entry in memory["largest"]:
        assert entry["bytes"] == memory["buffers"][entry["buffer"]]["bytes"]
        assert (entry["saves"] == 0) == (entry["replacement"] == "nothing")
        assert entry["saves"] <= entry["bytes"]
    cells = texts(browser, ".at-peak td.replacement")
    assert len(cells) == min(len(memory["largest"]), 12)
    told = {entry["text"] for entry in memory["largest"]}
    assert all(any(cell.startswith(text) for text in told) for cell in cells)


def holders(mesh, layout):
    """For each device the block of each dimension, by NumPy's view of the mesh."""
    sizes = [axis["size"] for axis in mesh["axes"]]
    order = mesh["device_ids"] or list(range(int(np.prod(sizes, dtype=int))))
    blocks = {}
    for position, device in enumerate(order):
        place = np.unravel_index(position, sizes)
        blocks[device] = [fold(axes, sizes, place) for axes in layout["dims"]]
    return blocks


def fold(axes, sizes, place):
    index = 0
    for axis in axes:
        full = sizes[axis["axis"]]
        digits = np.arange(full).reshape(axis["pre"], axis["size"], -1)
        (digit,) = np.argwhere(digits == place[axis["axis"]])[:, 1]
        index = index * axis["size"] + int(digit)
    return index


def test_devices_hold_the_blocks_of_the_mesh(opened):
    _, browser, data, _ = opened
    devices = range(0, data["devices"], max(1, data["devices"] // 64))
    for number, layout in enumerate(data["layouts"]):
        expected = holders(data["meshes"][layout["mesh"]], layout)
        script = "arguments[0].map((device) => blockOf(device, report.layouts[arguments[1]]))"
        assert browser.run(script, list(devices), number) == [expected[d] for d in devices]


def test_uneven_shards_say_which_rows_they_have(browser, pages):
    browser.open(pages("uneven")[0])
    shards = browser.run(
        "[0, 1, 2, 3].map((d) => describeShard(report.values[0], layoutOf(report.values[0]), d))"
    )
    assert shards == ["[0–2, 0–5]", "[3–5, 0–5]", "[6–8, 0–5]", "[9, 0–5]"]
    # Of six rows in shards of two, the last device has none.
    last = browser.run("report.values[report.values.length - 1]")
    assert last["global"] == [6, 10]
    assert "none" in browser.run(
        "describeShard(report.values[report.values.length - 1], "
        "layoutOf(report.values[report.values.length - 1]), 3)"
    )


def test_many_devices_are_abridged(browser, pages):
    browser.open(pages("many_devices")[0])
    for op in range(3):
        browser.run("selectOp(arguments[0])", op)
        assert 0 < count(browser, "#details table.blocks td") <= 64
    assert "⋯" in "".join(texts(browser, "#details table.blocks"))


def test_data_do_not_grow_with_the_devices(pages, tmp_path):
    text = PROGRAMS["many_devices"].read_text()
    lengths = []
    for data, model in ((2, 2), (128, 16)):
        source, page = tmp_path / f"{data}.mlir", tmp_path / f"{data}.html"
        sizes = f'"data" = {data}, "model" = {model}'
        source.write_text(text.replace('"data" = 128, "model" = 16', sizes))
        run(BIN / "shoalc", source, "--emit=report", "-o", page).expect_success()
        lengths.append(len(page.read_text()))
    assert abs(lengths[1] - lengths[0]) < 4000


def test_names_that_look_like_markup_stay_text(browser, pages):
    page, _ = pages("uneven")
    browser.open(page)
    assert count(browser, "script") == 2
    assert count(browser, "#signature b") == 0
    assert "<!--<script>alert(1)" in texts(browser, "#signature strong")
    assert texts(browser, ".axis") == ["</script><b> = 4"]


def test_simulated_seconds_stand_beside_bytes(browser, tmp_path):
    page, stats = tmp_path / "page.html", tmp_path / "stats.json"
    machine = ROOT / "machines" / "dgx-h100.toml"
    command = (f"--simulate={machine}", "--emit=report", "-o", page, "--stats", stats)
    run(BIN / "shoalc", PROGRAMS["moe_layer"], *command).expect_success()
    predicted = load_json(stats)["predicted"]
    browser.open(page)
    text = "document.querySelector(arguments[0]).innerText"
    assert "A step, simulated" in browser.run(text, "#header")
    cells = "[...document.querySelectorAll('table.collectives td:nth-child(4)')].map((c) => c.innerText)"
    shown = browser.run(cells)
    assert len(shown) == len(predicted["collectives"]) > 0
    assert all("latency of nvlink" in each for each in shown), shown
    width = "document.querySelector('table.program th.time').getBoundingClientRect().width"
    assert browser.run(width) >= 80
    # An op's details have its time, and all ops together have no more than the step.
    data = read_data(page)["simulated"]
    assert sum(op["seconds"] for op in data["ops"]) <= data["step_seconds"]
    dearest = max(data["ops"], key=lambda op: op["seconds"])
    browser.open(page, f"#op-{dearest['op']}")
    details = browser.run(text, "#details")
    assert f"on dgx-h100, bound by {dearest['bound']}" in details, details


def test_search_and_filters(browser, pages):
    from selenium.webdriver.common.keys import Keys

    browser.open(pages("moe_layer")[0])
    browser.press("/", "all_to_all")
    assert count(browser, "#ops tbody tr") == 2
    assert texts(browser, "#filter-count") == ["2 of 85 ops"]
    browser.press(Keys.ESCAPE)
    assert count(browser, "#ops tbody tr") == 85
    browser.run("byId('collectives-only').click()")
    assert count(browser, "#ops tbody tr") == 3
    # A link to what is hidden shows it.
    browser.run("goToOp(0)")
    browser.driver.implicitly_wait(2)
    assert browser.driver.find_element("css selector", "#op-0.selected")
    browser.expect_no_complaints()


def test_keys_move_through_the_program(browser, pages):
    from selenium.webdriver.common.keys import Keys

    browser.open(pages("moe_layer")[0], "#op-5")
    assert browser.run("document.activeElement.id") == "op-5"
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert browser.run("document.activeElement.id") == "op-6"
    assert texts(browser, "#details h3")[0].startswith("#6 ")


def test_collectives_are_sorted_by_bytes(browser, pages):
    browser.open(pages("many_devices")[0])
    order = "sortedCollectives().map((collective) => collective.total)"
    largest_first = browser.run(order)
    assert largest_first == sorted(largest_first, reverse=True)
    browser.run("document.querySelectorAll('#collective-list .sort')[2].click()")
    assert browser.run(order) == largest_first[::-1]
    assert count(browser, "#collective-list th[aria-sort='ascending']") == 1


def test_source_lines_stand_beside_ops(browser, pages):
    browser.open(pages("moe_layer")[0])
    row = texts(browser, "#collective-list tbody tr")[0]
    assert ":33" in row and "%d = shoal.split %d0" in row
    assert "operand 0 of shoal.sharding_constraint" in row


def test_light_and_dark(browser, pages):
    color = "getComputedStyle(document.body).backgroundColor"
    browser.open(pages("moe_layer")[0])
    shades = []
    for is_dark in (False, True):
        browser.prefer_dark(is_dark)
        shades.append(browser.run(color))
    browser.run("byId('theme').click()")  # against what the system prefers
    assert browser.run(color) == shades[0] != shades[1]
    browser.prefer_dark(False)


def test_a_page_that_throws_or_asks_fails(browser, pages, tmp_path):
    text = pages("alone")[0].read_text()
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace("main();\n", "main();\nnoSuchFunction();\n"))
    with pytest.raises(AssertionError, match="noSuchFunction"):
        browser.open(broken)
    asking = tmp_path / "asking.html"
    other = tmp_path / "other.css"
    other.write_text("")
    asking.write_text(
        text.replace("default-src 'none'", "default-src *").replace("style-src", "style-src *")
        .replace("</head>", f'<link rel="stylesheet" href="{other.as_uri()}"></head>')
    )
    with pytest.raises(AssertionError, match="other.css"):
        browser.open(asking)
