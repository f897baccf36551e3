# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.simulate and machine files from Python."""

from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.simulation.machines import shipped
from shoal.simulation.simulate import simulate_text

MESH = shoal.Mesh(d=4)
ROOT = Path(shoal.__file__).resolve().parents[2]


def products(x, w):
    x = shoal.constrain(x, shoal.P("d", None))
    return shoal.sum(shoal.matmul(x, w))


ARGS = (np.ones((64, 128), np.float32), np.ones((128, 256), np.float32))


@pytest.fixture(scope="module")
def forecast():
    return shoal.simulate(products, ARGS, MESH, machine="dgx-h100")


def test_a_function_is_simulated(forecast):
    assert forecast.machine.name == "dgx-h100"
    assert forecast.devices == 4
    assert 0 < forecast.exposed < forecast.seconds < 1
    assert 128 * 256 * 4 <= forecast.memory < 1e8
    assert {"einsum", "all_reduce"} <= {row.name for row in forecast.rows}


def test_the_text_is_the_table(forecast):
    text = str(forecast)
    assert "dgx-h100, 4 devices: a step takes" in text
    assert "(simulated)" in text
    assert 'all_reduce over {"d"}' in text
    assert max(map(len, text.splitlines())) <= 100


def test_notebooks_get_a_table(forecast):
    html = forecast._repr_html_()
    assert html.count("<tr>") == 1 + min(len(forecast.lines()), 20)
    assert "all_reduce over {&quot;d&quot;}" in html


def test_rows_are_of_products_and_collectives(forecast):
    (product,) = [row for row in forecast.rows if row.name == "einsum"]
    assert product.shape == (1, 16, 256, 128)
    assert product.type == "f32"
    (sent,) = [row for row in forecast.rows if row.is_collective]
    assert sent.axes == '{"d"}' and sent.level == "nvlink"


@pytest.mark.parametrize("form", ["text", "lowered", "executable", "path", "object"])
def test_other_forms_say_the_same(forecast, form, tmp_path):
    program = shoal.trace(products, ARGS, MESH)
    machine = "dgx-h100"
    if form == "lowered":
        program = shoal.jit(products, mesh=MESH).lower(*ARGS)
    elif form == "executable":
        program = shoal.compile(products, ARGS, MESH, cache=False)
    elif form == "path":
        machine = ROOT / "machines" / "dgx-h100.toml"
    elif form == "object":
        machine = shoal.Machine.read("dgx-h100")
    made = shoal.simulate(program, machine=machine)
    assert made.exposed == forecast.exposed
    assert made.memory == forecast.memory


def test_a_slower_machine_takes_longer(forecast):
    text = (ROOT / "machines" / "dgx-h100.toml").read_text()
    slow = shoal.Machine(text.replace("bw = 450.0e9", "bw = 4.5e9"), "slow.toml")
    assert slow != shoal.Machine.read("dgx-h100")
    assert shoal.simulate(products, ARGS, MESH, machine=slow).exposed > forecast.exposed


def test_a_machine_tells_of_itself():
    machine = shoal.Machine.read("gb200-nvl72")
    assert machine.levels == (("nvlink", 72), ("rails", 256))
    assert machine.devices == 72 * 256
    assert machine.memory == 189e9
    within, across = machine.price("all_gather", [(8, 1)], 10**9), machine.price("all_gather", [(8, 72)], 10**9)
    assert 0 < within < across


def test_shardings_are_chosen_for_a_machine():
    """A plan for a network that is a thousand times as slow uses it less."""
    text = (ROOT / "machines/dgx-h100.toml").read_text().replace("size = 8", "size = 4")
    slow = shoal.Machine(text.replace("bw = 50.0e9", "bw = 5.0e7"), "slow.toml")
    a, b = (shoal.TensorSpec((64, 64), "float32", spec) for spec in (shoal.P(None, ("n", "d")), shoal.P("d")))
    program = shoal.trace(lambda a, b: shoal.matmul(shoal.matmul(a, b), a), (a, b), shoal.Mesh(n=2, d=4))
    by_bytes, by_time = simulate_text(program, slow), simulate_text(program, slow, machine=slow)
    assert by_time.seconds < by_bytes.seconds
    assert simulate_text(program, slow, machine=slow.path) == by_time


def test_all_shipped_machines_are_read():
    assert {"dgx-h100", "h800", "tpuv3-pod", "box"} <= set(shipped())
    for name in shipped():
        assert shoal.Machine.read(name).name == name


@pytest.mark.parametrize(
    "machine, message",
    [
        ("dgx-h10", r'machine: "dgx-h10" is neither a file nor one of .*nearest is dgx-h100'),
        ("nowhere/x.toml", r"machine: cannot read nowhere/x.toml"),
        (None, "machine: expected a shipped machine's name, a path or a Machine, got None"),
        (b"box", "machine: expected a shipped machine's name, a path or a Machine, got b'box'"),
    ],
)
def test_errors_name_the_machine(machine, message):
    with pytest.raises(shoal.InputError, match=message):
        shoal.simulate(products, ARGS, MESH, machine=machine)


def test_errors_name_the_key():
    text = (ROOT / "machines" / "dgx-h100.toml").read_text()
    with pytest.raises(shoal.InputError, match=r'machine: mine.toml:\d+: .*overlap_tex.*overlap_tax'):
        shoal.Machine(text.replace("overlap_tax =", "overlap_tex ="), "mine.toml")


def test_a_price_is_of_a_known_collective():
    with pytest.raises(shoal.InputError, match="no collective: gather"):
        shoal.Machine.read("box").price("gather", [(2, 1)], 10)


@pytest.mark.parametrize(
    "kind, numbers, message",
    [
        ("price", ("all_gather", [(0, 1)], 10), "an axis' size and stride 0: expected 1 to 2"),
        ("price", ("all_gather", [(2, -1)], 10), "an axis' size and stride -1: expected 1 to 2"),
        ("price", ("all_gather", [(2, 1)], -10), "bytes -10: expected 0 to 2"),
        ("price", ("all_gather", [(2, 1)], float("nan")), "bytes nan: expected 0 to 2"),
        ("price", ("all_gather", [(2, 1)], 10**30), "expected 0 to 2"),
        ("price_product", ("f32", (1, -2, 3, 4)), "a product's sizes -2: expected 0 to 2"),
        ("price_kernel", (-1,), "bytes -1: expected 0 to 2"),
    ],
)
def test_prices_are_of_sizes(kind, numbers, message):
    with pytest.raises(shoal.InputError, match=message):
        getattr(shoal.Machine.read("box"), kind)(*numbers)


def test_too_many_devices_are_an_error():
    with pytest.raises(shoal.CompileError, match="for 4 devices, but box has 2"):
        shoal.simulate(products, ARGS, MESH, machine="box")


def test_a_function_needs_arguments():
    with pytest.raises(shoal.TraceTypeError, match="simulate: a function needs args"):
        shoal.simulate(products, machine="box")
    with pytest.raises(shoal.TraceTypeError, match="simulate: args, mesh and shardings are of a function"):
        shoal.simulate("", ARGS, machine="box")
