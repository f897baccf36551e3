# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules and functions of torch, compiled and run. Skipped where torch is not installed."""

import copy
import math
import sys

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal import P  # noqa: E402
from shoal.errors import InputError, TraceError, UnsupportedError  # noqa: E402
from shoal_testing import ROOT  # noqa: E402

sys.path.append(str(ROOT / "test/python/torch/data"))
from make import GShard  # noqa: E402

F = torch.nn.functional
MESH = shoal.Mesh(data=2, model=2)
PARAMS = {"up.*": P("model"), "down.weight": P(None, "model")}


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8, bias=False)
        self.norm = torch.nn.BatchNorm1d(8)
        self.frozen = torch.nn.Parameter(torch.full((8,), 0.5), requires_grad=False)

    def forward(self, x, scale=None):
        hidden = torch.relu(self.up(x))
        with torch.no_grad():
            hidden_twice = hidden * 2
        # A straight-through estimator: rounded, with the gradient of what was rounded.
        hidden = hidden + hidden_twice + (hidden.round() - hidden).detach()
        result = self.norm(self.down(hidden)) * self.frozen
        return {"y": result if scale is None else result * scale, "count": (x.sum(), 3)}


def rows(seed=1, count=12):
    return torch.randn(count, 8, generator=torch.Generator().manual_seed(seed))


def test_compiled_module():
    module, x = Mlp(), rows()
    exe = st.compile(module, (x,), mesh=MESH, params=PARAMS, inputs=P("data"))
    result, expected = exe(x), copy.deepcopy(module)(x)
    assert isinstance(result["y"], torch.Tensor) and result["count"][1] == 3
    torch.testing.assert_close(result["y"], expected["y"].detach(), atol=2e-6, rtol=0)
    assert exe.devices == 4
    assert "all_reduce" in exe.stats["collectives"]
    assert {tensor.name for tensor in exe.executable.inputs} == {*module.state_dict(), "x"}


def test_functions_take_numbers_and_halves():
    """A function of bfloat16, with a number of Python's; tensors go through their bits."""

    def function(x, y, factor=2):
        return x @ y.mT * factor, x.float().sum()

    x, y = rows().bfloat16(), rows(2).bfloat16()
    product, total = st.compile(function, (x, y), {"factor": 3})(x, y, factor=3)
    assert product.dtype == torch.bfloat16
    torch.testing.assert_close(product, (x @ y.mT * 3), atol=0.5, rtol=2e-2)
    torch.testing.assert_close(total, x.float().sum())
    with pytest.raises(InputError, match='argument "factor": the program is for 3 and not for 4'):
        st.compile(function, (x, y), {"factor": 3})(x, y, factor=4)


def test_tensors_share_memory_where_they_can():
    for dtype in (torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.bool):
        tensor = torch.ones(3, 4).to(dtype)
        array = st.to_numpy(torch.nn.Parameter(tensor) if dtype.is_floating_point and dtype.itemsize > 1 else tensor)
        assert str(array.dtype) == str(dtype).removeprefix("torch.")
        back = st.to_torch(array)
        assert back.dtype == dtype and back.data_ptr() == tensor.data_ptr()
    assert st.to_numpy(torch.ones(3, 4).t()).flags.c_contiguous
    assert st.to_numpy("words") == "words"


def test_jit_keeps_state_on_devices():
    module, twin = Mlp(), Mlp()
    run = st.jit(module, mesh=MESH, params=PARAMS, inputs=P("data"))
    for seed in range(3):
        result, expected = run(rows(seed)), twin(rows(seed))
        torch.testing.assert_close(torch.from_dlpack(result["y"]), expected["y"].detach(), atol=2e-6, rtol=0)
    assert isinstance(run.state["up.weight"], shoal.Array)
    state = run.state_dict()
    torch.testing.assert_close(state["norm.running_var"], twin.norm.running_var)
    assert int(state["norm.num_batches_tracked"]) == 3 and int(module.norm.num_batches_tracked) == 0
    again = run(result["y"], scale=torch.tensor(2.0))  # arrays where they lie, and another program
    torch.testing.assert_close(st.to_torch(again["y"]), twin(expected["y"], torch.tensor(2.0))["y"].detach(), atol=1e-5, rtol=0)
    run.load_state_dict(Mlp().state_dict())
    assert int(run.state_dict()["norm.num_batches_tracked"]) == 0
    with pytest.raises(InputError, match='state: "down.wieght" is not one of 9 names'):
        run.load_state_dict({"down.wieght": torch.ones(1)})


def test_jit_as_a_decorator():
    @st.jit(mesh=shoal.Mesh(data=2), inputs=P("data"))
    def layer(x, w):
        return torch.tanh(x @ w)

    x, w = rows(), torch.eye(8)
    torch.testing.assert_close(st.to_torch(layer(x, w)), torch.tanh(x))
    torch.testing.assert_close(st.to_torch(layer(x.numpy(), w.numpy())), torch.tanh(x))


def test_random_numbers_are_by_a_seed():
    """Dropout: the same on any mesh, others for another seed; nothing is drawn in evaluation."""
    module = torch.nn.Sequential(torch.nn.Dropout(0.25))
    x = torch.ones(64, 64)
    one = st.compile(module.train(), (x,))
    four = st.compile(module, (x,), mesh=shoal.Mesh(data=4), inputs=P("data"))
    first = one(x, seed=5)
    assert torch.equal(first, four(x, seed=5)) and not torch.equal(first, one(x, seed=6))
    assert abs((first == 0).float().mean().item() - 0.25) < 6 * (0.25 * 0.75 / 4096) ** 0.5
    assert first.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert "seed" not in [tensor.name for tensor in st.compile(module.eval(), (x,)).executable.inputs]


def drawn(x):
    """What routers draw: jitter, Gumbel's noise, scores around scores."""
    jitter = x * torch.empty_like(x).uniform_(0.9, 1.1)
    gumbel = -torch.empty_like(x).exponential_(2.0).log()
    around = torch.normal(x, torch.full_like(x, 0.1))
    return jitter, gumbel, around, F.gumbel_softmax(x, hard=True)


def test_noise_of_routers():
    """Means and deviations of 4096 numbers, within six of their own deviations."""
    exe = st.compile(drawn, (torch.ones(64, 64),))
    jitter, gumbel, around, hard = exe(torch.ones(64, 64), seed=5)
    assert 0.9 <= jitter.min() < 0.905 and 1.095 < jitter.max() <= 1.1
    for sample, mean, deviation in ((jitter, 1.0, 0.2 / 12**0.5), (gumbel, 0.5772 + math.log(2), math.pi / 6**0.5), (around, 1.0, 0.1)):
        assert abs(sample.mean().item() - mean) < 6 * deviation / 64
        assert abs(sample.std().item() - deviation) < 12 * deviation / 64
    assert torch.equal(hard.sum(-1), torch.ones(64)) and hard.sum(0).max() < 8
    assert not torch.equal(exe(torch.ones(64, 64), seed=6)[0], jitter)


def test_gshards_layer_sends_two_all_to_alls():
    """The experts' rows to the experts and back, in einsums as they were written."""
    torch.manual_seed(0)
    layer, x = GShard(8, 64, 256, 64), torch.randn(4, 256, 64)
    exe = st.compile(layer, (x,), mesh=shoal.Mesh(x=4), params={"wi": P("x"), "wo": P("x")}, inputs=P("x"), outputs=P("x"))
    assert exe.stats["collectives"] == {"all_to_all": 2}
    assert exe.text.count("shoal.einsum") == 6
    expected = layer(x).detach()
    torch.testing.assert_close(exe(x), expected, atol=2e-6 * expected.abs().max().item(), rtol=0)


def test_activations_lie_where_their_modules_are_said_to():
    module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
    exe = st.compile(module, (rows(),), mesh=MESH, activations={"0": P("data", "model")})
    assert exe.text.count("shoal.sharding_constraint") == 1
    with pytest.raises(TraceError, match='activations: "3" matches none of 3 modules'):
        st.compile(module, (rows(),), mesh=MESH, activations={"3": P("data")})


OPTIMISERS = {
    "AdamW": lambda m: torch.optim.AdamW(
        [
            {"params": [p for name, p in m.named_parameters() if "weight" in name], "weight_decay": 0.1},
            {"params": [p for name, p in m.named_parameters() if "bias" in name], "weight_decay": 0.0, "lr": 3e-3},
        ],
        lr=1e-2,
    ),
    "Adam": lambda m: torch.optim.Adam(m.parameters(), lr=1e-2, betas=(0.8, 0.9), weight_decay=0.01),
    "SGD": lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_twenty_steps(name):
    """With a scheduler, BatchNorm, what is frozen and what stops gradients, on four devices."""

    def loss(module, batch):
        return F.mse_loss(module(batch["x"])["y"], batch["y"]), {"largest": batch["x"].abs().max()}

    def batch(seed):
        return {"x": rows(2 * seed), "y": rows(2 * seed + 1)}

    twin, module = Mlp(), Mlp()
    ours, theirs = OPTIMISERS[name](module), OPTIMISERS[name](twin)
    step = st.train_step(module, loss, ours, batch(0), mesh=MESH, params=PARAMS, inputs=P("data"))
    decay, same = (torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5) for optimizer in (theirs, ours))
    for number in range(20):
        metrics = step(batch(number))
        expected, others = loss(twin, batch(number))
        theirs.zero_grad()
        expected.backward()
        theirs.step()
        decay.step()
        ours.step()  # no gradients: nothing moves, and its scheduler is content
        same.step()
        assert metrics["loss"] == pytest.approx(expected.item(), rel=1e-5)
        assert metrics["largest"] == others["largest"].item()
    state = step.state_dict()
    assert set(state) == set(twin.state_dict())
    for key, value in twin.state_dict().items():
        torch.testing.assert_close(state[key], value, atol=1e-5, rtol=1e-5, msg=key)
    torch.testing.assert_close(state["frozen"], module.frozen)
    module.load_state_dict(state)


def test_a_step_with_an_optimiser_of_shoal():
    module = torch.nn.Linear(8, 1)
    optimizer = shoal.optim.chain(shoal.optim.clip_by_global_norm(1.0), shoal.optim.sgd(0.1))
    step = st.train_step(module, lambda m, x: m(x).square().mean(), optimizer, rows())
    losses = [step(rows())["loss"] for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    with pytest.raises(InputError, match='state: "weight" is float32'):
        step.load_state_dict({"weight": torch.ones(3)})


def losses_of(make, steps=20, tolerance=2e-5, **options):
    """Of a small network by ours and by torch's, on four devices, and the parameters at the end."""

    def loss(module, batch):
        return F.mse_loss(module(batch["x"]), batch["y"])

    def network():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(8, 24), torch.nn.Tanh(), torch.nn.Linear(24, 8))

    batch = {"x": rows(1, 24), "y": rows(2, 24)}
    module, twin = network(), network()
    theirs = make(twin)
    step = st.train_step(module, loss, make(module), batch, mesh=MESH, params={"0.*": P("model")}, inputs=P("data"), **options)
    for _ in range(steps):
        value = step(batch)["loss"]
        twin.zero_grad()
        expected = loss(twin, batch)
        expected.backward()
        for each in theirs if isinstance(theirs, list) else [theirs]:
            each.step()
        assert value == pytest.approx(expected.item(), rel=tolerance)
    for key, array in step.state_dict().items():
        torch.testing.assert_close(array, twin.state_dict()[key], atol=tolerance, rtol=tolerance, msg=key)
    return step


def test_adafactor():
    losses_of(lambda m: torch.optim.Adafactor(m.parameters(), lr=0.02, weight_decay=0.1))
    losses_of(lambda m: torch.optim.Adafactor(m.parameters(), lr=0.5, eps=(1e-8, 1e-2), d=1.5, beta2_decay=-0.6), steps=5)


@pytest.mark.parametrize("options", [{}, {"nesterov": False, "adjust_lr_fn": "match_rms_adamw"}, {"adjust_lr_fn": "spectral_unclamped", "ns_steps": 3}])
def test_muon_for_matrices_and_adamw_for_others(options):
    """Muon computes in bfloat16, whose last bits are the order of sums."""

    def make(module):
        matrices = [p for p in module.parameters() if p.ndim == 2]
        others = [p for p in module.parameters() if p.ndim != 2]
        return [torch.optim.Muon(matrices, lr=0.02, **options), torch.optim.AdamW(others, lr=1e-2)]

    losses_of(make, steps=10, tolerance=5e-3)


def test_micro_batches():
    """Their mean is the batch's; rows that do not divide and buffers that are written over are refused."""
    step = losses_of(lambda m: torch.optim.SGD(m.parameters(), lr=0.1), micro_batches=3)
    assert "shoal.while" in step.executable_for({"x": rows(1, 24), "y": rows(2, 24)}).text
    module, optimizer = torch.nn.Linear(8, 8), torch.optim.SGD
    with pytest.raises(InputError, match=r"micro_batches: a tensor of \[12, 8\] has no rows that 5 parts divide"):
        st.train_step(module, lambda m, x: m(x).mean(), optimizer(module.parameters()), rows(), micro_batches=5)
    module = torch.nn.BatchNorm1d(8)
    with pytest.raises(UnsupportedError, match='micro_batches: the module writes over "running_mean" in each of 2'):
        st.train_step(module, lambda m, x: m(x).mean(), optimizer(module.parameters()), rows(), micro_batches=2)


def test_modules_that_are_computed_again():
    """A policy for all, or one for each module by its path."""
    for remat in ("nothing", {"0": "nothing", "{1,2}": "dots"}):
        step = losses_of(lambda m: torch.optim.SGD(m.parameters(), lr=0.1), steps=3, remat=remat)
    text = step.executable_for({"x": rows(1, 24), "y": rows(2, 24)}).text
    assert text.count("shoal.residual") or "remat" in text
    module = torch.nn.Linear(8, 8)
    with pytest.raises(TraceError, match='remat: "layers.*" matches none of 0 modules'):
        st.train_step(module, lambda m, x: m(x).mean(), torch.optim.SGD(module.parameters()), rows(), remat={"layers.*": "nothing"})


def test_steps_go_on_from_checkpoints(tmp_path):
    """With moments, on another mesh, to the same losses."""

    def new(mesh, params):
        module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 8))
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2)
        return st.train_step(module, lambda m, x: m(x).square().mean(), optimizer, rows(), mesh=mesh, params=params, inputs=P("data"))

    step = new(MESH, {"0.weight": P("model")})
    for _ in range(3):
        step(rows())
    shoal.checkpoints.save(tmp_path / "state", step.state)
    expected = [step(rows())["loss"] for _ in range(2)]
    again = new(shoal.Mesh(data=2), {})
    again.state = shoal.checkpoints.load(tmp_path / "state", again.state)
    assert [again(rows())["loss"] for _ in range(2)] == pytest.approx(expected, rel=1e-6)
    assert int(again.state.step) == 5


def test_safetensors(tmp_path):
    """In and out, by the names of state_dict(); tied weights once; bfloat16 as bits."""
    from safetensors.torch import load_file

    module = torch.nn.ModuleDict({"a": torch.nn.Linear(8, 8), "b": torch.nn.Linear(8, 8)}).bfloat16()
    module["b"].weight = module["a"].weight
    st.save_safetensors(tmp_path / "one.safetensors", module.state_dict())
    read = load_file(tmp_path / "one.safetensors")
    assert set(read) == {"a.weight", "a.bias", "b.bias"} and torch.equal(read["a.weight"], module["a"].weight)
    run = st.jit(torch.nn.Linear(8, 8))
    st.save_safetensors(tmp_path / "two", {"weight": torch.eye(8), "bias": torch.ones(8)})
    run.load_state_dict(st.load_safetensors(tmp_path / "two"))
    torch.testing.assert_close(st.to_torch(run(rows())), rows() + 1)
    st.save_safetensors(tmp_path / "three.safetensors", run.state)
    assert torch.equal(load_file(tmp_path / "three.safetensors")["weight"], torch.eye(8))


def test_autocast():
    """What torch computes in fewer bits is written as such: products in bfloat16, sums in float32."""

    def loss(module, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = torch.relu(module(x))
        return y.float().square().mean()

    module, twin = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
    twin.load_state_dict(module.state_dict())
    step = st.train_step(module, loss, torch.optim.SGD(module.parameters(), lr=1.0), rows())
    assert "bf16" in step.executable_for(rows()).text
    step(rows())
    loss(twin, rows()).backward()
    for name, parameter in module.named_parameters():
        gradient = parameter.detach() - step.state_dict()[name]
        torch.testing.assert_close(gradient, dict(twin.named_parameters())[name].grad, atol=2e-3, rtol=2e-2, msg=name)


def test_optimisers_that_are_refused():
    module = torch.nn.Linear(8, 1)

    def refused(optimizer):
        with pytest.raises(UnsupportedError) as caught:
            st.train_step(module, lambda m, x: m(x).mean(), optimizer, rows())
        return str(caught.value)

    assert "torch.optim.rmsprop.RMSprop is not supported; expected one of SGD, Adam, AdamW, Adafactor, Muon" in refused(torch.optim.RMSprop(module.parameters()))
    assert "group 0: amsgrad=True is not supported; expected False" in refused(torch.optim.Adam(module.parameters(), amsgrad=True))
    assert "group 0: dampening=0.5" in refused(torch.optim.SGD(module.parameters(), 0.1, momentum=0.9, dampening=0.5))


class Branches(torch.nn.Module):
    """Of five matrices one is frozen, one is not read, one is read without gradients, and one chooses places."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.moved, self.frozen, self.unread, self.stopped, self.chooses = (torch.nn.Linear(8, 8) for _ in range(5))
        self.frozen.requires_grad_(False)

    def forward(self, x):
        with torch.no_grad():
            x = x + self.stopped(x)
        return self.frozen(torch.tanh(self.moved(x))) * F.one_hot(self.chooses(x).argmax(-1), 8)


def test_parameters_without_gradients_stay():
    """As in torch, weights' decay too, in a group that none moves in; what is of no module is an error."""
    module, twin, x = Branches(), Branches(), rows()

    def loss(module, x):
        return module(x).square().mean()

    def optimizer(m):
        groups = [[*m.moved.parameters(), *m.stopped.parameters(), *m.chooses.parameters()], [*m.frozen.parameters(), *m.unread.parameters()]]
        return torch.optim.AdamW([{"params": group} for group in groups], lr=1e-2, weight_decay=0.5)

    step, theirs = st.train_step(module, loss, optimizer(module), x), optimizer(twin)
    for _ in range(3):
        step(x)
        theirs.zero_grad()
        loss(twin, x).backward()
        theirs.step()
    ours = step.state_dict()
    torch.testing.assert_close(ours, {name: value for name, value in twin.state_dict().items() if name in ours}, rtol=1e-4, atol=1e-6)
    with pytest.raises(UnsupportedError, match="optimizer: group 0: parameter 2 is none of the module's"):
        st.train_step(module, loss, torch.optim.SGD([*module.moved.parameters(), torch.nn.Parameter(x)], lr=0.1), x)


class Router(torch.nn.Module):
    """Casts a part of its own in each pass."""

    def __init__(self, dtype):
        super().__init__()
        self.gate, self.dtype = torch.nn.Linear(8, 4), dtype

    def forward(self, x):
        self.gate = self.gate.to(self.dtype)
        return torch.softmax(self.gate(x.to(self.dtype)), -1)


def test_a_module_that_casts_its_parts():
    """To the type that they have: nothing; to another one, in what is captured: refused."""
    x = rows()
    module = Router(torch.float32)
    torch.testing.assert_close(st.compile(module, (x,))(x), module(x).detach())
    with pytest.raises(TraceError, match=f"{__file__}:.*torch.export does not take the module"):
        st.compile(Router(torch.float64), (x,))


WRONG = {
    "mask": (lambda x: x[x > 0], "aten.index.Tensor is not supported: size u0, which only the run knows"),
    "item": (lambda x: x * x.sum().item() if x.sum().item() > 0 else x, "torch.where"),
    "nonzero": (lambda x: x.nonzero(), "aten.nonzero.default is not supported: its number of elements only the run knows; write torch.where"),
    "counts": (lambda x: torch.bincount(x.long().reshape(-1)), r"write torch.where, or say the size: torch._check\(y.shape"),
    "classes": (lambda x: F.one_hot(x.abs().long()), "give num_classes="),
    "norm": (lambda x: F.embedding(x[0, :2].long() * 0, x.clone(), max_norm=1.0), "max_norm, by which rows"),
    "complex": (lambda x: torch.view_as_complex(x.reshape(-1, 2)).tanh().real, "aten.tanh.default.* is not supported: complex elements"),
    "effects": (lambda x: torch.linalg.cholesky(x.mT @ x), "an op with effects, whose order counts"),
    "none": (lambda x, mask=None: x * mask[0], "give all, as attention_mask=: 'NoneType' object is not subscriptable"),
    "attribute": (lambda x: x * x.no_such_attribute, "torch.export does not take the module: .*no_such_attribute"),
    "key": (lambda x: {}["x"], "torch.export does not take the module: 'x'"),
    "strides": (lambda x: torch.as_strided(x, (2, 2), (1, 2)), "strides, which values have none of"),
}


@pytest.mark.parametrize("name", WRONG)
def test_programs_that_are_refused(name, capsys):
    """One message of one line, with the user's line first, and nothing that torch prints beside it."""
    function, words = WRONG[name]
    with pytest.raises((TraceError, UnsupportedError), match=words) as caught:
        st.compile(function, (rows(),))
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).startswith(f"{__file__}:{function.__code__.co_firstlineno}: ")
    assert "def forward" not in capsys.readouterr().err


def test_dynamic_shapes_are_refused():
    program = torch.export.export(
        torch.nn.Linear(8, 4), (rows(),), dynamic_shapes={"input": {0: torch.export.Dim("rows")}}
    )
    with pytest.raises(UnsupportedError, match="is not a number; export without dynamic_shapes"):
        st.from_fx(program)


def test_large_models_need_no_numbers():
    """On the meta device: the program is made, and its state is for the caller to set."""
    with torch.device("meta"):
        module, x = torch.nn.Linear(8, 4), torch.empty(3, 8)
    exe = st.compile(module, (x,))
    with pytest.raises(InputError, match='2 of the state have no numbers, the first "weight": set them in .state'):
        exe(np.ones((3, 8), np.float32))
    exe.state = {"weight": np.ones((4, 8), np.float32), "bias": np.zeros(4, np.float32)}
    assert torch.equal(exe(np.ones((3, 8), np.float32)), torch.full((3, 4), 8.0))


def test_annotations_in_modules():
    """The identity for torch, also of gradients; a constraint in programs with a mesh."""

    class Annotated(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up = torch.nn.Linear(8, 16)

        def forward(self, x):
            x = st.annotate(x, P("data", ...))
            return st.annotate(torch.relu(self.up(x)), P("data", "model"), hint=True)

    module, x = Annotated(), rows().requires_grad_()
    expected = module(x)
    assert torch.equal(expected, torch.relu(module.up(x)))
    expected.sum().backward()
    assert x.grad is not None
    exe = st.compile(module, (x.detach(),), mesh=MESH)
    assert exe.text.count('"shoal.sharding_constraint"') == 2 and exe.text.count("hint") == 1
    torch.testing.assert_close(exe(x.detach()), expected.detach())
    assert "sharding_constraint" not in st.compile(module, (x.detach(),)).text


def test_placements_of_torch():
    from torch.distributed.tensor import Partial, Replicate, Shard

    from shoal.torch.plans import of_placements

    assert of_placements((Shard(0), Replicate()), ("data", "model"), 2).dims == ("data", None)
    with pytest.raises(UnsupportedError, match="Partial"):
        of_placements((Partial(), Replicate()), ("data", "model"), 2)


def test_arguments_are_written_over_as_torch_does():
    def function(x, y):
        x.add_(y)
        return x * 2

    x, y = rows(), rows(2)
    expected = (x + y).clone()
    result = st.compile(function, (x.clone(), y))(x, y)
    assert torch.equal(x, expected) and torch.equal(result, expected * 2)
    run = st.jit(function)
    run(x, y)
    assert torch.equal(x, expected + y)
    array = run(x, y)
    with pytest.raises(InputError, match='argument "x": the module writes over it; expected a tensor, got an Array on devices'):
        run(array, y)
    with pytest.raises(UnsupportedError, match='loss: it writes over "batch" of its batch'):
        st.train_step(torch.nn.Linear(8, 1), lambda m, b: m(b.add_(1)).mean(), torch.optim.SGD, rows())


def test_all_that_importers_refuse_is_said_at_once():
    def function(x):
        y = torch.nn.functional.interpolate(x[None, None], size=(5, 3), mode="bilinear")
        z = torch.nn.functional.adaptive_max_pool1d(x[None], 3)
        return y, z, torch.cummax(x.repeat(1, 2), 1), torch.multinomial(x.abs(), 3, replacement=True)

    with pytest.raises(UnsupportedError) as caught:
        st.compile(function, (rows(),))
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert "8 rows in 3 parts, which do not divide them" in lines[0]
    assert "several samples with replacement; draw them one by one" in lines[1]
