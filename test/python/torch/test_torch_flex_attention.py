# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlexAttention: masks and scores that are functions. Skipped where torch is not installed."""

import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention.flex_attention import AuxRequest, and_masks, create_block_mask, flex_attention  # noqa: E402
from torch_comparing import array_of  # noqa: E402
from torch_import_testing import differences, run  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal import P  # noqa: E402
from shoal.errors import UnsupportedError  # noqa: E402
from shoal.torch.programs import write_program  # noqa: E402
from shoal.torch.shardings import of_arguments  # noqa: E402

BATCH, HEADS, SIZE = 2, 4, 12
DOCUMENTS = torch.tensor([[0] * 5 + [1] * 7, [0] * 2 + [1] * 6 + [2] * 4])


def causal(b, h, q, k):
    return q >= k


def window(b, h, q, k):
    return q - k < 4


def documents(b, h, q, k):
    return DOCUMENTS[b, q] == DOCUMENTS[b, k]


def blind(b, h, q, k):
    return (q >= k) & (q != 3)


MASKS = {
    "causal": causal, "window": and_masks(causal, window), "block_causal": and_masks(causal, documents), "documents": documents,
    "blind": blind, "none": None,
}  # fmt: skip


class Attention(torch.nn.Module):
    def __init__(self, mask, score=None, **options):
        super().__init__()
        self.slopes = torch.nn.Parameter(torch.linspace(0.1, 0.4, HEADS))
        self.mask, self.score, self.options = mask, score, options

    def forward(self, q, k, v):
        mask = None if self.mask is None else create_block_mask(self.mask, BATCH, None, SIZE, SIZE, device="cpu")
        score = None if self.score is None else (lambda x, b, h, i, j: self.score(self.slopes, x, b, h, i, j))
        return flex_attention(q, k, v, score_mod=score, block_mask=mask, **self.options)


def heads(seed=1, shared=HEADS, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(BATCH, count, SIZE, 8, generator=generator).to(dtype) for count in (HEADS, shared, shared)]


def agrees(module, arguments, devices=0, **places):
    graph = st.from_fx(st.export(module, arguments))
    names = [given.name for given in graph.inputs if given.kind == "user"]
    inputs = {given.name: array_of(graph.state[given.name]) for given in graph.inputs if given.kind != "user"}
    if devices:
        places["shardings"] = of_arguments(graph, places.pop("inputs"))
    program = write_program(graph, **places)
    actual = run(program.text, inputs | dict(zip(names, map(array_of, arguments))), program.outputs, devices)
    expected = torch.utils._pytree.tree_leaves(module(*arguments))
    wrong = differences(actual, dict(zip(program.outputs, map(array_of, expected))))
    assert not wrong, "\n".join(wrong)
    return program


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    """A row that sees nothing is 0; heads share keys."""
    agrees(Attention(MASKS[name]), heads())
    agrees(Attention(MASKS[name], enable_gqa=True), heads(shared=2))


def test_scores():
    """By a parameter, by arithmetic; in float32 of bfloat16, and what rows add up to."""

    def alibi(slopes, x, b, h, i, j):
        return torch.tanh(x) + slopes[h] * (i - j)

    agrees(Attention(causal, alibi, return_aux=AuxRequest(lse=True)), heads())
    agrees(Attention(MASKS["block_causal"], alibi), heads(dtype=torch.bfloat16))


def test_on_four_devices():
    program = agrees(Attention(MASKS["block_causal"]), heads(), devices=4, mesh=shoal.Mesh(data=2, model=2), inputs=P("data", "model"))
    assert "shoal.mesh" in program.text


def test_gradients():
    """Of documents in one sequence, by a step of SGD."""
    torch.manual_seed(0)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = torch.nn.Linear(32, 96)
            self.attention = Attention(MASKS["block_causal"], lambda slopes, x, b, h, i, j: x - slopes[h] * (i - j))

        def forward(self, x):
            q, k, v = (part.reshape(BATCH, SIZE, HEADS, 8).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
            return self.attention(q, k, v).square().mean()

    module, x = Model(), torch.randn(BATCH, SIZE, 32)
    step = st.train_step(module, lambda m, x: m(x), torch.optim.SGD(module.parameters(), lr=1.0), x, mesh=shoal.Mesh(data=2), inputs=P("data"))
    step(x)
    # Where torch computes it, of the same graph without FlexAttention's own rules for a CPU.
    seen = (torch.arange(SIZE)[:, None] >= torch.arange(SIZE)) & (DOCUMENTS[:, :, None] == DOCUMENTS[:, None, :])
    q, k, v = (part.reshape(BATCH, SIZE, HEADS, 8).transpose(1, 2) for part in module.qkv(x).chunk(3, -1))
    distance = torch.arange(SIZE)[:, None] - torch.arange(SIZE)
    bias = -module.attention.slopes[:, None, None] * distance
    mask = torch.where(seen[:, None], bias, -torch.inf)
    torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).square().mean().backward()
    after = step.state_dict()
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(parameter.detach() - after[name], parameter.grad, atol=1e-6, rtol=2e-5, msg=name)


def test_what_is_no_function_of_scalars_is_refused():
    def sums(slopes, x, b, h, i, j):
        return x + (slopes * x).sum()

    with pytest.raises(UnsupportedError, match=r"test_torch_flex_attention.py:\d+.*a mask or a score is made of scalars, by ops of one element"):
        st.compile(Attention(causal, sums), heads())
