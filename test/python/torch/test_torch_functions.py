# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.autograd.Functions: what their backward says is the gradient. Skipped where torch is not installed."""

import pytest

torch = pytest.importorskip("torch")

from torch_comparing import compare_with_torch  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal import P  # noqa: E402
from shoal.errors import UnsupportedError  # noqa: E402


class Rounded(torch.autograd.Function):
    """A straight-through estimator, with a number beside the tensor."""

    @staticmethod
    def forward(ctx, x, steps):
        ctx.steps = steps
        return (x * steps).round() / steps

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Clipped(torch.autograd.Function):
    """A gradient that is no derivative: of two results, one without, by what was saved."""

    @staticmethod
    def forward(x, weight):
        product = x @ weight
        return product, product.argmax(-1), x.sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient, _, total):
        x, weight = ctx.saved_tensors
        by_x = (gradient @ weight.mT).clamp(-0.01, 0.01) + total
        return by_x, (3 * (x.mT @ gradient) if ctx.needs_input_grad[1] else None)


class Nested(torch.autograd.Function):
    """A Function whose forward and backward call another one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Rounded.apply(x.tanh(), 8)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return Rounded.apply(gradient * x, 4)


class Constant(torch.autograd.Function):
    """A result without a gradient, and a gradient of another shape that is summed."""

    @staticmethod
    def forward(ctx, x, bias):
        order = x.cumsum(0)
        ctx.mark_non_differentiable(order)
        return x + bias, order

    @staticmethod
    def backward(ctx, gradient, of_order):
        return gradient * 2 + of_order, gradient


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)
        self.square = torch.nn.Parameter(torch.randn(8, 8) * 0.3)
        self.bias = torch.nn.Parameter(torch.randn(8))

    def forward(self, x):
        hidden = Rounded.apply(self.up(x), 16)
        y, best, total = Clipped.apply(self.down(hidden), self.square)
        shifted, order = Constant.apply(Nested.apply(y), self.bias)
        return (shifted * (1 + best[:, None])).square().mean() + total * 0.01 + order.mean()


def rows():
    return torch.randn(12, 8, generator=torch.Generator().manual_seed(1))


def gradients_of(step, module, batch):
    """Of a step of SGD with rate 1."""
    step(batch)
    after = step.state_dict()
    return {name: parameter.detach() - after[name] for name, parameter in module.named_parameters()}


@pytest.mark.parametrize("mesh, params", [(None, None), (shoal.Mesh(data=2, model=2), {"up.*": P("model"), "down.weight": P(None, "model")})])
def test_gradients_are_those_of_backwards(mesh, params):
    module, twin = Model(), Model()
    step = st.train_step(
        module, lambda m, x: m(x), torch.optim.SGD(module.parameters(), lr=1.0), rows(), mesh=mesh, params=params,
        inputs=None if mesh is None else P("data"),
    )  # fmt: skip
    twin(rows()).backward()
    for name, gradient in gradients_of(step, module, rows()).items():
        expected = dict(twin.named_parameters())[name].grad
        torch.testing.assert_close(gradient, expected, atol=2e-6, rtol=2e-5, msg=name)


def test_values_by_both_readers():
    """Of files as of programs: the backward is a graph that the Function's node holds."""
    graph = compare_with_torch(Model(), rows())
    owners = [node for node in graph.nodes if node.target == "shoal.own_gradient.default"]
    # Rounded, Clipped, Constant and Nested, whose forward has another.
    assert len(owners) == 5 and all("backward" in node.args for node in owners)
    assert not any("cotangent" in node.target for node in graph.nodes)
    assert owners[0].place.file == __file__ and owners[0].place.line


class Opaque(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * float(gradient.sum())


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Short(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, gradient):
        return gradient


REFUSED = {
    "backward": (lambda x: Opaque.apply(x), r"Opaque: its backward cannot be traced: "),
    "dirty": (lambda x: Dirty.apply(x * 1), r"Dirty: mark_dirty: it writes over its arguments; return a new tensor"),
    "count": (lambda x: Short.apply(x, x), r"Short: its backward cannot be traced: it returns 1 gradients of 2 arguments"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_backwards_that_cannot_be_traced(name):
    """Their forward runs; gradients are refused with the Function's name and the line that calls it."""
    function, words = REFUSED[name]
    x = rows()
    torch.testing.assert_close(st.compile(function, (x,))(x), function(x.clone()))
    module = torch.nn.Linear(8, 8)

    def loss(module, batch):
        return function(module(batch)).mean()

    with pytest.raises(UnsupportedError, match=words) as caught:
        st.train_step(module, loss, torch.optim.SGD(module.parameters()), x)(x)
    assert str(caught.value).startswith(f"{__file__}:{function.__code__.co_firstlineno}")


def test_hooks_of_gradients_are_refused():
    def loss(module, batch):
        y = module(batch)
        y.register_hook(lambda gradient: gradient * 2)
        return y.mean()

    module = torch.nn.Linear(8, 8)
    with pytest.raises(UnsupportedError, match=r"torch.Tensor.register_hook is not supported: a hook of gradients") as caught:
        st.train_step(module, loss, torch.optim.SGD(module.parameters()), rows())
    assert str(caught.value).startswith(f"{__file__}:{loss.__code__.co_firstlineno + 2}: ")


def test_hooks_of_modules_and_parameters_are_refused():
    def refused(install):
        module = torch.nn.Sequential(torch.nn.Linear(8, 8))
        install(module)
        with pytest.raises(UnsupportedError) as caught:
            st.train_step(module, lambda m, x: m(x).mean(), torch.optim.SGD(module.parameters()), rows())
        return str(caught.value)

    words = "a hook of gradients is not supported; write a torch.autograd.Function, or change them in an optimiser"
    assert refused(lambda m: m[0].register_full_backward_hook(lambda *given: None)) == f'"0": {words}'
    assert refused(lambda m: m[0].weight.register_hook(lambda gradient: gradient * 2)) == f'"0.weight": {words}'
    assert refused(lambda m: m[0].bias.register_post_accumulate_grad_hook(lambda parameter: None)) == f'"0.bias": {words}'


def test_functions_in_branches():
    """Within torch.cond, too."""

    def loss(module, x):
        y = module(x)
        return torch.cond(y.sum() > 0, lambda y: Rounded.apply(y, 4), lambda y: Rounded.apply(y, 8) * 2, (y,)).square().mean()

    module, twin = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
    twin.load_state_dict(module.state_dict())
    step = st.train_step(module, loss, torch.optim.SGD(module.parameters(), lr=1.0), rows())
    loss(twin, rows()).backward()
    for name, gradient in gradients_of(step, module, rows()).items():
        torch.testing.assert_close(gradient, dict(twin.named_parameters())[name].grad, atol=2e-6, rtol=2e-5, msg=name)
