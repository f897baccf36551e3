# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.checkpoints: states of other stages and other optimisers, whose arrays are found by what they are of."""

import warnings

import ml_dtypes
import numpy as np
import pytest
from checkpoint_cases import devices, same_bits

import shoal
from shoal import CheckpointWarning, InputError, P, checkpoints, optim, train
from shoal.checkpoints.names import named_leaves
from shoal.frontend.pytrees import map_leaves
from shoal.models import Stages
from shoal.models.stages import to_stages

PARAMS = {"w": np.ones((4, 3), np.float32), "b": np.ones(3, np.float32)}
RATE = optim.warmup_cosine(1e-3, 1, 10)


def filled(state, seed=0):
    """Another number in each element."""
    rng = np.random.default_rng(seed)
    return map_leaves(lambda leaf: (99 * rng.random(np.shape(leaf))).astype(leaf.dtype), state)


def named(tree):
    return {name: np.asarray(leaf) for name, leaf in named_leaves(tree)}


# What is saved, what it is loaded as, and which arrays begin anew.
ADAM, MOMENTUM, FACTORED = optim.adamw(1e-3), optim.sgd(0.1, momentum=0.9), optim.adafactor(0.1, 2)
CLIP = optim.clip_by_global_norm(1.0)
OPTIMIZERS = {
    "clipping in front": (ADAM, optim.chain(CLIP, ADAM), {}),
    "clipping no more": (optim.chain(CLIP, optim.adamw(RATE)), optim.adamw(RATE), {}),
    "chains in chains": (optim.adamw(RATE), optim.chain(CLIP, optim.chain(optim.adamw(RATE), optim.scale(0.5))), {}),
    "momentum that is clipped": (MOMENTUM, optim.chain(CLIP, MOMENTUM), {}),
    "factored moments that are clipped": (FACTORED, optim.chain(CLIP, FACTORED), {}),
    "a schedule": (ADAM, optim.adamw(RATE), {"optimizer/2/count"}),
    "steps that are left out": (ADAM, optim.apply_if_finite(ADAM), {"optimizer/skipped"}),
    "a scale of the loss": (
        optim.apply_if_finite(ADAM), optim.dynamic_loss_scale(ADAM),
        {"optimizer/loss_scale", "optimizer/good_steps", "optimizer/skipped"},
    ),
    "no scale any more": (optim.dynamic_loss_scale(ADAM), optim.chain(CLIP, ADAM), {}),
    "Lion of Adam": (ADAM, optim.lion(1e-3), {"optimizer/0/mu/w", "optimizer/0/mu/b"}),
    "Adam of Lion": (optim.lion(1e-3), ADAM, {"optimizer/0/count"} | {
        f"optimizer/0/{moment}/{name}" for moment in ("mu", "nu") for name in PARAMS
    }),
}  # fmt: skip


@pytest.mark.parametrize("form", ["folder", "npz"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimisers_arrays_are_found_wherever_they_stand(tmp_path, name, form):
    before, after, anew = OPTIMIZERS[name]
    saved, like = filled(train.init(PARAMS, before)), filled(train.init(PARAMS, after), 1)
    save, load = (checkpoints.save, checkpoints.load) if form == "folder" else (train.save, train.load)
    path = tmp_path / ("c" if form == "folder" else "c.npz")
    save(path, saved)
    left_out = "loss_scale" in str(named(saved).keys()) or "Lion" in name
    if anew or left_out:
        with pytest.raises(InputError, match="strict=False what is missing begins anew"):
            load(path, like)
        with pytest.warns(CheckpointWarning) as told:
            loaded = load(path, like, strict=False)
        assert len(told) == 1 and all(array in str(told[0].message) for array in anew)
        assert ("is left out" in str(told[0].message)) == (left_out or "a scale" in name)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loaded = load(path, like)
    found, own = named(saved), named(like)
    of_role = {tuple(array.split("/")[-2:]): leaf for array, leaf in found.items()}
    counts = sorted(float(leaf) for array, leaf in found.items() if array.endswith("/count"))
    for array, leaf in named(loaded).items():
        if array in anew:
            same_bits(leaf, own[array])
        elif array.endswith("/count"):
            assert float(leaf) in counts
        elif array.startswith("optimizer"):
            same_bits(leaf, of_role[tuple(array.split("/")[-2:])])
        else:
            same_bits(leaf, found[array])
    kept = [float(leaf) for array, leaf in named(loaded).items() if array.endswith("/count") and array not in anew]
    assert sorted(kept) == counts[: len(kept)] or name == "Lion of Adam"


def test_each_of_two_states_of_a_kind_keeps_its_own(tmp_path):
    """Two groups of parameters behind what is new; a count that there was once is that of both."""
    def group(name):
        return ADAM.init({name: PARAMS[name]})

    saved = filled({"params": PARAMS, "optimizer": (group("w"), group("b"))})
    like = filled({"params": PARAMS, "optimizer": ((), {"first": group("w"), "second": group("b")})}, 1)
    checkpoints.save(tmp_path / "c", saved)
    loaded = checkpoints.load(tmp_path / "c", like)["optimizer"][1]
    for mine, theirs in zip((loaded["first"], loaded["second"]), saved["optimizer"]):
        for one, other in zip(named(mine).values(), named(theirs).values()):
            same_bits(one, other)
    checkpoints.save(tmp_path / "one", {"params": PARAMS, "optimizer": filled(ADAM.init(PARAMS))})
    loaded = checkpoints.load(tmp_path / "one", like)["optimizer"][1]
    assert int(loaded["first"][0].count) == int(loaded["second"][0].count) > 0


def test_what_begins_anew_lies_where_it_is_to(tmp_path):
    checkpoints.save(tmp_path, {"a": np.arange(4.0)})
    like = {"a": np.zeros(4), "b": np.arange(6, dtype=np.int32)}
    mesh = shoal.Mesh(x=1)
    with pytest.warns(CheckpointWarning, match=r"begins anew: b \(1 in all\)$"):
        loaded = checkpoints.load(tmp_path, like, mesh=mesh, sharding=P("x"), strict=False)
    assert isinstance(loaded["b"], shoal.Array)
    same_bits(loaded["b"], like["b"])
    with pytest.raises(InputError, match="b: begins anew, and needs an array"), pytest.warns(CheckpointWarning):
        checkpoints.load(tmp_path, like | {"b": shoal.TensorSpec((6,), "int32")}, strict=False)
    with pytest.raises(InputError, match=r"a is float64\[4\], expected float64\[5\]"):
        checkpoints.load(tmp_path, {"a": np.zeros(5)}, strict=False)
    with pytest.raises(InputError, match=r"has no c \(1 in all\)"):
        checkpoints.load(tmp_path, {"c": np.zeros(4)}, strict=False)


LAYERS = 13
# V, p, N of the layers behind `outside`; None: one by one.
STAGES = {
    "layers": None, "2": Stages(1, 1, 2, 6), "4 interleaved": Stages(1, 3, 4, 1), "3 x 2": Stages(1, 2, 3, 2),
    "all of 13": Stages(0, 1, 13, 1), "one device": Stages(1, 2, 1, 6),
}  # fmt: skip


def model(seed):
    rng = np.random.default_rng(seed)

    def layer():
        made = {"wi": (3, 5, 4), "norm": (4,), "gain": ()}
        return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in made.items()}

    return {"embed": rng.standard_normal((7, 4)).astype(ml_dtypes.bfloat16), "layers": [layer() for _ in range(LAYERS)]}


def cut(node, stages):
    """A state whose trees of parameters are those of a layout with stages."""
    if isinstance(node, dict):
        return to_stages(node, stages)
    if isinstance(node, tuple):
        parts = [cut(part, stages) for part in node]
        return type(node)(*parts) if hasattr(node, "_fields") else tuple(parts)
    return node


@pytest.mark.parametrize("target", STAGES)
@pytest.mark.parametrize("source", STAGES)
def test_what_any_number_of_stages_saves_any_other_loads(tmp_path, source, target):
    """Parameters and moments, behind another chain at that."""
    state = filled(train.init(model(0), ADAM))
    checkpoints.save(tmp_path, cut(state, STAGES[source]))
    like = cut(train.init(model(1), optim.chain(CLIP, ADAM)), STAGES[target])
    loaded = checkpoints.load(tmp_path, like)
    expected = cut(state._replace(optimizer=((), state.optimizer)), STAGES[target])
    for (name, one), (_, other) in zip(named_leaves(loaded), named_leaves(expected), strict=True):
        same_bits(one, other)
        assert np.asarray(one).any(), name


@pytest.mark.parametrize("source, target", [("layers", "3 x 2"), ("3 x 2", "layers"), ("2", "3 x 2")])
def test_factored_moments_of_stages(tmp_path, source, target):
    """What an optimiser has in the place of nothing is one array of all stages."""
    optimizer = optim.adafactor(0.1, 4)
    states = {
        name: filled(train.init(to_stages(model(0), STAGES[name]), optimizer)) for name in (source, target)
    }
    state = map_leaves(lambda leaf: np.zeros(1, np.float32) if np.shape(leaf) == (1,) else leaf, states[source])
    checkpoints.save(tmp_path / "c", state)
    loaded = checkpoints.load(tmp_path / "c", states[target])
    checkpoints.save(tmp_path / "d", loaded)
    for (_, one), (_, other) in zip(named_leaves(checkpoints.load(tmp_path / "d", state)), named_leaves(state)):
        same_bits(one, other)
    wrong = map_leaves(lambda leaf: leaf, states[source])  # of each layer another one
    checkpoints.save(tmp_path / "e", wrong)
    if source == "layers":
        with pytest.raises(InputError, match="is one array of all stages, but .* is another than"):
            checkpoints.load(tmp_path / "e", states[target])


def test_a_device_reads_its_stages(tmp_path):
    """Saved by four stages; one of two devices reads the layers of its own, and the rest of blocks."""
    from shoal.frontend.annotations import as_sharding
    from shoal.mesh_sharding import placement_of

    rng = np.random.default_rng(0)
    layers = [{"w": rng.standard_normal((100, 1000)).astype(np.float32)} for _ in range(8)]
    checkpoints.save(tmp_path, to_stages({"layers": layers}, Stages(0, 1, 4, 2)))
    mesh = shoal.Mesh(pp=2)
    whole = to_stages({"layers": layers}, Stages(0, 1, 2, 4))
    array = whole["stages"][1]["w"]
    placement = placement_of(as_sharding(P(None, "pp"), array.shape, mesh, "w"), mesh, array.shape, array.dtype)
    like = map_leaves(lambda leaf: devices(2, 1).put(leaf, placement), whole)
    with checkpoints.open(tmp_path) as source:
        loaded = checkpoints.load(source, like)
        (shard,) = loaded["stages"][3]["w"].shards
        same_bits(np.ascontiguousarray(shard.data[0, 0]), layers[7]["w"])
        assert source.bytes_read < 0.6 * sum(layer["w"].nbytes for layer in layers)


def test_layers_that_are_not_there_are_named(tmp_path):
    checkpoints.save(tmp_path, {"layers": model(0)["layers"]})
    like = to_stages({"layers": model(0)["layers"] * 2}, Stages(0, 1, 2, 13))
    with pytest.raises(InputError, match=r"has no stages/0/gain|has no layers/13/gain"):
        checkpoints.load(tmp_path, like)
    with pytest.raises(InputError, match=r"layers/0/norm.* is float32\[4\], expected float32\[5\]"):
        grown = [{**layer, "norm": np.zeros(5, np.float32)} for layer in model(0)["layers"]]
        checkpoints.load(tmp_path, to_stages({"layers": grown}, Stages(1, 1, 2, 6)))


def test_lists_of_somebodys_own_that_are_called_stages(tmp_path):
    tree = {"stages": [{"w": np.ones((4096, 4), np.float32)}, {"w": np.zeros((4096, 4), np.float32)}]}
    checkpoints.save(tmp_path, tree)
    same_bits(checkpoints.load(tmp_path, tree)["stages"][0]["w"], tree["stages"][0]["w"])
    with pytest.raises(InputError, match=r"has no stages/1/b, stages/1/w|has no b \(1 in all\)"):
        checkpoints.load(tmp_path, {**tree, "b": np.zeros(3)})
