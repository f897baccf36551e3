# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients where functions have none: at 0, at bounds, of rows that are 0 or all the same, of equal extrema. As torch's."""

import pytest

torch = pytest.importorskip("torch")

from shoal.torch.capture import export  # noqa: E402
from shoal.torch.derivatives import write_gradients  # noqa: E402
from shoal.torch.fx import from_fx  # noqa: E402
from torch_import_testing import differences, run  # noqa: E402

F = torch.nn.functional
X = torch.tensor([[0.0, -0.0, 1, -1, 3, -3], [6, 2, 2, -2, 0.5, -0.5], [0, 0, 0, 0, 0, 0], [1, 1, -1, 1, 7, -7]])
Y = torch.tensor([[0.0, 0, 1, 1, 3, -3], [6, 1, 2, -2, 0.25, 0], [0, 0, 1, -1, 0, 2], [1, -1, -1, 2, 7, 7]])

BOUNDS = {
    "clamp": lambda x, y: x.clamp(-1, 2), "clamp_min": lambda x, y: x.clamp(min=0), "clamp_max": lambda x, y: x.clamp(max=2),
    "clamp_by": lambda x, y: x.clamp(y - 1, y), "hardtanh": lambda x, y: F.hardtanh(x), "relu6": lambda x, y: F.relu6(x),
    "hardsigmoid": lambda x, y: F.hardsigmoid(x), "hardswish": lambda x, y: F.hardswish(x), "elu": lambda x, y: F.elu(x, 0.5),
    "selu": lambda x, y: F.selu(x), "celu": lambda x, y: F.celu(x, 0.5), "maximum": lambda x, y: torch.maximum(x, y),
    "margin": lambda x, y: F.margin_ranking_loss(x, y, torch.ones_like(x)), "hinge": lambda x, y: F.hinge_embedding_loss(x, y.sign()),
    "bce": lambda x, y: F.binary_cross_entropy(x.clamp(0, 1), y.clamp(0, 1), reduction="none"),
}  # fmt: skip
AT_ZERO = {
    "abs": lambda x, y: x.abs(), "l1": lambda x, y: F.l1_loss(x, y), "smooth_l1": lambda x, y: F.smooth_l1_loss(x, y, beta=0.0),
    "variation": lambda x, y: x.diff(dim=1).abs().mean(), "sinc": lambda x, y: torch.sinc(x), "xlogy": lambda x, y: torch.xlogy(x, y.detach().clamp(min=0.25) - 0.25 * (x.detach() == 0)),
    "power": lambda x, y: x.abs() ** 1.5, "root": lambda x, y: (x.abs() + 1).sqrt(),
}  # fmt: skip
ROWS = {
    **{f"norm_{str(p).replace('.', '_')}": lambda x, y, p=p: torch.linalg.vector_norm(x, p, -1) for p in (0.5, 1, 1.5, 2, 3, float("inf"), float("-inf"))},
    "normalize": lambda x, y: F.normalize(x).sin(), "normalize_3": lambda x, y: F.normalize(x, p=3.0).sin(),
    "frobenius": lambda x, y: torch.linalg.matrix_norm(x), "std": lambda x, y: x.std(-1), "pairs": lambda x, y: F.pairwise_distance(x, y, eps=0),
    "similarity": lambda x, y: F.cosine_similarity(x, y, dim=-1), "renorm": lambda x, y: torch.renorm(x, 2, 0, 1.0),
}  # fmt: skip
EXTREMA = {
    "max_dim": lambda x, y: x.max(-1).values, "min_dim": lambda x, y: x.min(0, keepdim=True).values, "amax": lambda x, y: x.amax(-1),
    "max": lambda x, y: x.max(), "cummax": lambda x, y: x.cummax(-1).values, "cummin": lambda x, y: x.cummin(0).values,
    "pool": lambda x, y: F.max_pool1d(x[None], 3, 2, 1), "adaptive": lambda x, y: F.adaptive_max_pool2d(x[None], (2, 3)),
}  # fmt: skip


class Losses(torch.nn.Module):
    def __init__(self, functions):
        super().__init__()
        self.x = torch.nn.ParameterDict({name: X.clone() for name in functions})
        self.y, self.functions = torch.nn.ParameterDict({name: Y.clone() for name in functions}), functions

    def forward(self):
        results = [function(self.x[name], self.y[name]) for name, function in self.functions.items()]
        weights = [torch.cos(torch.arange(result.numel()) * 0.7).reshape(result.shape) for result in results]
        return {"loss": sum((result * weight).sum() for result, weight in zip(results, weights))}


@pytest.mark.parametrize("functions", [BOUNDS, AT_ZERO, ROWS, EXTREMA], ids=["bounds", "at_zero", "rows", "extrema"])
def test_gradients_are_those_of_torch(functions):
    module = Losses(functions)
    loss = module()["loss"]
    loss.backward()
    expected = {f"grad.{name}": parameter.grad.numpy() for name, parameter in module.named_parameters() if parameter.grad is not None}
    assert len(expected) >= len(functions)
    graph = from_fx(export(module))
    program = write_gradients(graph, [name.removeprefix("grad.") for name in expected])
    state = {entry.name: graph.state[entry.name].detach().numpy() for entry in graph.inputs if entry.kind != "user"}
    actual = run(program.text, {name: state[name] for name in program.inputs}, program.outputs)
    wrong = differences(actual, {"loss": loss.detach().numpy(), **expected})
    assert not wrong, "\n".join(wrong)
