# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer of experts, and training steps of it by hand under torch.distributed: one that is right, and such as public threads tell of,
whose gradients are wrong in silence. Own programs, which show the situations alone. Needs torch."""

import functools

import torch
import torch.distributed as dist

TOKENS, WIDTH, HIDDEN, EXPERTS, CHOICES = 16, 8, 12, 4, 2


class Layer(torch.nn.Module):
    """Tokens [T, M] to the best two of four experts, without drops; unused: experts at the end that nobody chooses."""

    def __init__(self, unused=0):
        super().__init__()
        generator = torch.Generator().manual_seed(0)

        def matrix(*shape):
            return torch.nn.Parameter(torch.randn(shape, generator=generator) * 0.3)

        self.router = matrix(WIDTH, EXPERTS)
        self.norm = torch.nn.Parameter(torch.ones(WIDTH))
        self.up, self.down = matrix(EXPERTS, WIDTH, HIDDEN), matrix(EXPERTS, HIDDEN, WIDTH)
        self.unused = unused

    def shares(self, x):
        """Of each token what each expert counts, [T, E]."""
        scores = torch.softmax(x @ self.router, -1)
        reached = scores[:, : EXPERTS - self.unused]
        weights, chosen = reached.topk(CHOICES, -1)
        return torch.zeros_like(scores).scatter(1, chosen, weights)

    def forward(self, x):
        x = x * self.norm
        return x + experts(x, self.shares(x), self.up, self.down)


def experts(x, shares, up, down):
    """Of some experts, what tokens get from them."""
    hidden = torch.relu(torch.einsum("tm,emh->eth", x, up))
    return torch.einsum("te,eth,ehm->tm", shares, hidden, down)


def loss(module, batch):
    return (module(batch["x"]) - batch["y"]).square().mean()


def batch():
    generator = torch.Generator().manual_seed(1)
    return {name: torch.randn(TOKENS, WIDTH, generator=generator) for name in ("x", "y")}


class Gathered(torch.autograd.Function):
    """Everybody's rows; of the gradient the sum of everybody's, its own rows of it."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, x.contiguous(), group=group)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient.chunk(dist.get_world_size(ctx.group))[dist.get_rank(ctx.group)], None


class Scattered(torch.autograd.Function):
    """The sum of everybody's, its own rows of it; of the gradient everybody's rows."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        total = x.clone()
        dist.all_reduce(total, group=group)
        return total.chunk(dist.get_world_size(group))[dist.get_rank(group)].clone()

    @staticmethod
    def backward(ctx, gradient):
        parts = [torch.empty_like(gradient) for _ in range(dist.get_world_size(ctx.group))]
        dist.all_gather(parts, gradient.contiguous(), group=ctx.group)
        return torch.cat(parts), None


class Unwritten(torch.autograd.Function):
    """Rows behind the last group: a kernel leaves in them, also of gradients, what was in memory before."""

    @staticmethod
    def forward(ctx, x, rows):
        ctx.rows = rows
        return torch.cat([x[:-rows], x.new_full((rows, *x.shape[1:]), float("nan"))])

    @staticmethod
    def backward(ctx, gradient):
        return torch.cat([gradient[: -ctx.rows], gradient.new_full((ctx.rows, *gradient.shape[1:]), float("nan"))]), None


def _gathered_without_gradient(x, group):
    return Gathered.apply(x.detach(), group)


def step(module, loss, batch, mesh, *, fault=""):
    """Rows over the axes data and expert, experts over expert: gradients are means over all processes' losses."""
    group = mesh.get_group("expert")
    ranks, place, size = mesh.size(), mesh.get_rank(), mesh.size(mesh.mesh_dim_names.index("expert"))
    number = mesh.get_local_rank("expert")
    mine = {name: tensor.chunk(ranks)[place] for name, tensor in batch.items()}
    own = slice(number * EXPERTS // size, (number + 1) * EXPERTS // size)
    local = {name: getattr(module, name).detach()[own].clone().requires_grad_() for name in ("up", "down")}
    x = mine["x"] * module.norm
    shares = module.shares(x)
    gather = _gathered_without_gradient if fault == "detached_router" else Gathered.apply
    everybody, weights = Gathered.apply(x, group), gather(shares, group)
    if fault == "unreduced_inputs":
        # The gradient of what all experts read is each process' share of a sum that nobody makes.
        everybody, weights = _Own.apply(x, group), _Own.apply(shares, group)
    if fault == "local_router":
        # Each process' router hears of its own experts alone.
        weights = _Own.apply(shares, group)
    if fault == "unwritten_rows":
        # Rows of padding, of which the weight is 0; NaN times 0 is none.
        everybody = Unwritten.apply(torch.cat([everybody, everybody[-2:]]), 2)
        weights = torch.cat([weights, torch.zeros_like(weights[-2:])])
    made = experts(everybody, weights[:, own], local["up"], local["down"])
    made = made[:-2] if fault == "unwritten_rows" else made
    y = x + Scattered.apply(made, group)
    value = (y - mine["y"]).square().mean()
    value.backward()
    return _reduced(value, module, local, mesh, fault)


class _Own(torch.autograd.Function):
    """As `Gathered`, whose gradient is not summed."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, x.contiguous(), group=group)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.chunk(dist.get_world_size(ctx.group))[dist.get_rank(ctx.group)], None


def _reduced(value, module, local, mesh, fault):
    """The mean of all processes' losses, of whose gradients experts' are summed over "data" alone."""
    ranks, total = mesh.size(), value.detach().clone()
    dist.all_reduce(total)
    grads = {"norm": module.norm.grad, "router": torch.zeros_like(module.router) if module.router.grad is None else module.router.grad}
    for grad in grads.values():
        dist.all_reduce(grad)
        grad /= ranks
    for name, parameter in local.items():
        grad = parameter.grad
        dist.all_reduce(grad, group=mesh.get_group("expert" if fault == "wrong_group" else "data"))
        # Other experts' losses are in it, too: they have come back through the gathers.
        divisor = {"times_ep": mesh.size(mesh.mesh_dim_names.index("data")), "dense_scale": 2 * ranks}.get(fault, ranks)
        grads[name] = grad / divisor
    if fault == "no_gradient" and not grads["up"][-1].any():
        grads["up"], grads["down"] = None, None
    return total / ranks, {**grads, **_norms(grads, mesh, fault)}


def _norms(grads, mesh, fault):
    """The norm of all gradients, experts' summed over those who have them."""
    squares = {name: grad.square().sum() for name, grad in grads.items() if grad is not None}
    of_experts = sum(squares.get(name, torch.zeros(())) for name in ("up", "down"))
    of_others = squares["norm"] + squares["router"]
    if fault == "norm_of_one_group":
        return {"grad_norm": (of_experts + of_others).sqrt()}
    if fault == "norm_counts_twice":
        dist.all_reduce(of_experts)
        return {"grad_norm": (of_experts + of_others).sqrt()}
    dist.all_reduce(of_experts, group=mesh.get_group("expert"))
    return {"grad_norm": (of_experts + of_others).sqrt()}


def by_hand(fault=""):
    return functools.partial(step, fault=fault)
