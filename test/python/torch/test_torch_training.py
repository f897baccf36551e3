# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of modules in `shoal.train`'s loop, with batches in parts. Skipped where torch is not installed."""

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal import P, checkpoints, data, optim, train  # noqa: E402
from shoal.errors import InputError, TraceError, TraceTypeError  # noqa: E402

F = torch.nn.functional
MESH = shoal.Mesh(data=2, model=2)


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 24), torch.nn.Tanh(), torch.nn.Linear(24, 8))


def numbers(rows=24, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(rows, 8, generator=generator) for name in ("x", "y")}


def mean_loss(module, batch):
    return F.mse_loss(module(batch["x"]), batch["y"])


def step_of(loss=mean_loss, make=lambda m: torch.optim.SGD(m.parameters(), lr=0.1), batch=None, **options):
    module = network()
    given = {"mesh": MESH, "params": {"0.*": P("model")}, "inputs": P("data"), **options}
    return st.train_step(module, loss, make(module), batch or numbers(), **given)


def test_the_loop_of_shoal(tmp_path):
    """It shows, saves, goes on from what is saved, and what it goes on to is what an uninterrupted run has, bit by bit."""
    rows = {name: tensor.numpy() for name, tensor in numbers(96).items()}

    def fit(count, **options):
        step = step_of(make=lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2))
        series = options.get("save")
        state = step.state if series is None else series.load(step.state, mesh=MESH)
        state = train.fit(step.advance, state, data.Batches(rows, 24, seed=0), count, quiet=True, **options)
        assert step.state is state and (int(state.step), int(state.samples)) == (count, 24 * count)
        return step.state_dict()

    logged = []
    expected = fit(6, log=[lambda number, values: logged.append((number, values))], log_every=3)
    assert [number for number, _ in logged] == [3, 6] and {"loss", "grad_norm"} <= set(logged[0][1])
    series = checkpoints.Series(tmp_path / "run")
    fit(4, save=series)
    for name, tensor in fit(6, save=series).items():
        assert torch.equal(tensor, expected[name]), name


def test_parts_of_a_batch_beside_each_other():
    """The same bits as one after the other on one device, the same numbers on four; a number that does not divide is refused."""
    for alone in ({"mesh": None, "params": None, "inputs": None}, {}):
        steps = [step_of(micro_batches=4, overlap=overlap, **alone) for overlap in (1, 2, 4)]
        made = [[step(numbers())["loss"] for _ in range(3)] for step in steps]
        for losses, step in zip(made, steps):
            assert losses == (made[0] if alone else pytest.approx(made[0], rel=1e-6))
            for name, tensor in step.state_dict().items():
                torch.testing.assert_close(tensor, steps[0].state_dict()[name], rtol=0, atol=0 if alone else 1e-7)
    assert "shoal.while" not in steps[2].executable_for(numbers()).text
    with pytest.raises(TraceError, match="4 micro-batches are not divisible by overlap=3"):
        step_of(micro_batches=4, overlap=3)(numbers())


def test_parts_count_by_their_weights():
    """Of rows that a mask leaves out, the batch's mean over those that count: no mean of means."""

    def weighted(module, batch):
        error = (module(batch["x"]) - batch["y"]).square().mean(-1)
        return ((error * batch["mask"]).sum(), batch["mask"].sum()), {"rows": batch["mask"].sum()}

    batch = {**numbers(), "mask": (torch.arange(24) % 3 > 0).float() * (torch.arange(24) < 17)}
    step = step_of(weighted, batch=batch, micro_batches=4, weighted=True)
    twin = network()
    total, weight = weighted(twin, batch)[0]
    (total / weight).backward()
    metrics = step(batch)
    assert metrics["loss"] == pytest.approx((total / weight).item(), rel=1e-6)
    after = step.state_dict()
    for name, parameter in twin.named_parameters():
        torch.testing.assert_close(after[name], (parameter - 0.1 * parameter.grad).detach(), atol=1e-6, rtol=1e-5)


def test_gradients_lie_where_they_are_said_to():
    """As of ZeRO-2, between loss and update."""
    batch, plan = numbers(), {"params": {}, "mesh": shoal.Mesh(data=4)}
    whole, parts = step_of(**plan), step_of(gradients={"*.weight": P("data")}, **plan)
    for _ in range(2):
        assert whole(batch)["loss"] == pytest.approx(parts(batch)["loss"], rel=1e-6)
    texts = [step.executable_for(batch).text for step in (whole, parts)]
    assert [text.count('"shoal.sharding_constraint"') for text in texts] == [0, 2]
    with pytest.raises(TraceError, match='gradients: "3.weight" matches none of 4 names'):
        step_of(gradients={"3.weight": P("data")})


@pytest.mark.parametrize("activations", [{"0": P("data", "model")}, {"0": P("data", None), "2": P(None, "model")}, {"*": P("model")}], ids=str)
def test_gradients_where_activations_are_placed(activations):
    """Updates of three steps are torch's, wherever what modules return and its gradients are asked to lie."""
    batch, twin, placed = numbers(), network(), step_of(activations=activations)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
    for _ in range(3):
        loss = mean_loss(twin, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert placed(batch)["loss"] == pytest.approx(loss.item(), rel=1e-6)
    after = placed.state_dict()
    for name, parameter in twin.named_parameters():
        torch.testing.assert_close(after[name], parameter.detach(), atol=1e-7, rtol=1e-5)
    text = placed.executable_for(batch).text
    assert text.count('"shoal.sharding_constraint"') == (3 if "*" in activations else len(activations))


def test_loss_scales():
    """The loss is multiplied by what the optimiser divides gradients by."""
    plain, scaled = (step_of(make=lambda m, w=wrap: w(optim.sgd(0.1))) for wrap in (lambda inner: inner, optim.dynamic_loss_scale))
    for _ in range(3):
        expected, metrics = plain(numbers()), scaled(numbers())
        assert metrics["loss"] == pytest.approx(expected["loss"], rel=1e-6)
        assert metrics["grad_norm"] == pytest.approx(expected["grad_norm"], rel=1e-5)
        assert (metrics["loss_scale"], metrics["skipped"]) == (2**16, 0) and metrics["learning_rate"] == pytest.approx(0.1)


def test_wrong_batches_and_losses():
    step = step_of(micro_batches=2, mesh=None, params=None, inputs=None)
    with pytest.raises(InputError, match=r'batch: "batch_x" is float32\[20,8\]; the step is for float32\[24,8\]: drop a last batch'):
        step(numbers(20))
    with pytest.raises(TraceTypeError, match=r"loss: weighted=True: expected a pair \(total, weight\), got "):
        step_of(weighted=True)
    with pytest.raises(TraceError, match='step: aux has a metric "grad_norm", which is the step\'s own'):
        step_of(lambda m, b: (mean_loss(m, b), {"grad_norm": b["x"].sum()}))(numbers())


def test_what_is_written_over_is_no_metric():
    module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8))
    twin = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8))
    twin.load_state_dict(module.state_dict())
    step = st.train_step(module, mean_loss, torch.optim.SGD(module.parameters(), lr=0.0), numbers())
    for seed in range(3):
        assert set(step(numbers(seed=seed))) == {"loss", "grad_norm"}
        twin(numbers(seed=seed)["x"])
    for name in ("1.running_mean", "1.running_var"):
        np.testing.assert_allclose(step.state_dict()[name], twin.state_dict()[name], atol=1e-6)
