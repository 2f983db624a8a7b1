"""Steps with several updates: networks that train in turns, and optimizers that go through the model more than once. A step takes the
truth (truth.py), the model, what make_optimizer makes, and the batches.
"""
import functools

import torch
from torch import nn
from torch.nn import functional


class Maker(nn.Module):
    def __init__(self, noise=64, width=64):
        super().__init__()
        self.width, self.begin = width, nn.Linear(noise, 2 * width * 49)
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.ConvTranspose2d(width, width, 4, 2, 1)])
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(2))
        self.end = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        x = functional.relu(self.begin(x)).view(-1, 2 * self.width, 7, 7)
        for up, norm in zip(self.up, self.norms):
            x = functional.relu(norm(up(x)))
        return torch.tanh(self.end(x))


class Judge(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(3, width, 4, 2, 1), nn.Conv2d(width, 2 * width, 4, 2, 1)])
        self.norm, self.end = nn.BatchNorm2d(2 * width), nn.Linear(2 * width * 49, 1)

    def forward(self, x):
        x = functional.leaky_relu(self.convolutions[0](x), 0.2)
        x = functional.leaky_relu(self.norm(self.convolutions[1](x)), 0.2)
        return self.end(x.flatten(1))


class GAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.maker, self.judge = Maker(), Judge()


def picture(i):
    return torch.randn(3, 28, 28, generator=torch.Generator().manual_seed(i)), torch.zeros(())


def go_back(truth, loss):
    truth.begin_backward(loss)
    loss.backward()
    truth.end_backward()


def judge_at_once(truth, judge, maker, real, noise, say, one, zero):
    made = maker(noise)
    of_real, of_made = judge(real), judge(made.detach())
    truth.begin_loss()
    go_back(truth, say(of_real, one) + say(of_made, zero))
    return made


def judge_apart(truth, judge, maker, real, noise, say, one, zero):
    """Once back before the maker has run at all."""
    of_real = judge(real)
    truth.begin_loss()
    go_back(truth, say(of_real, one))
    made = maker(noise)
    of_made = judge(made.detach())
    truth.begin_loss()
    go_back(truth, say(of_made, zero))
    return made


def gan_step(learn, truth, model, optimizers, batches):
    truth.begin_step()
    (makes, judges), say = optimizers, functional.binary_cross_entropy_with_logits
    maker, judge = model.maker, model.judge
    real = next(batches)[0].cuda(non_blocking=True)
    one, zero = (make(len(real), 1, device="cuda") for make in (torch.ones, torch.zeros))
    judges.zero_grad()
    made = learn(truth, judge, maker, real, torch.randn(len(real), 64, device="cuda"), say, one, zero)
    judges.step()
    makes.zero_grad()
    of_made = judge(made)
    truth.begin_loss()
    loss = say(of_made, one)
    go_back(truth, loss)
    makes.step()
    return loss


def pass_of(truth, model, x, y):
    output = model(x)
    truth.begin_loss()
    loss = functional.cross_entropy(output, y)
    go_back(truth, loss)
    return loss


class SAM(torch.optim.Optimizer):
    """Sharpness-aware: the gradient of a second pass is taken where the loss is greatest nearby."""

    def __init__(self, parameters, base):
        super().__init__(parameters, {})
        self.base = base(self.param_groups[0]["params"])

    @torch.no_grad()
    def climb(self):
        parameters = self.param_groups[0]["params"]
        norm = torch.stack([p.grad.norm() for p in parameters]).norm() + 1e-12
        for p in parameters:
            self.state[p]["way"] = p.grad * (0.05 / norm)
            p.add_(self.state[p]["way"])

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            p.sub_(self.state[p]["way"])
        self.base.step()


def sam_step(truth, model, optimizers, batches):
    truth.begin_step()
    sam, = optimizers
    x, y = (t.cuda(non_blocking=True) for t in next(batches))
    sam.zero_grad()
    pass_of(truth, model, x, y)
    truth.begin_update()
    sam.climb()
    truth.end_backward()
    sam.zero_grad()
    loss = pass_of(truth, model, x, y)
    truth.begin_update()
    sam.step()
    truth.end_backward()
    return loss


def lbfgs_step(truth, model, optimizers, batches):
    truth.begin_step()
    x, y = (t.cuda(non_blocking=True) for t in next(batches))

    def closure():
        optimizers[0].zero_grad()
        loss = pass_of(truth, model, x, y)
        truth.begin_update()
        return loss

    truth.begin_update()
    loss = optimizers[0].step(closure)
    truth.end_backward()
    return loss


def make(kind, model, make_optimizer):
    """(optimizers, the step)."""
    if kind in ("gan", "apart"):
        optimizers = [make_optimizer(model.maker.parameters()), make_optimizer(model.judge.parameters())]
        return optimizers, functools.partial(gan_step, judge_apart if kind == "apart" else judge_at_once)
    if kind == "sam":
        return [SAM(model.parameters(), make_optimizer)], sam_step
    # softgpu computes nothing: the gradient, which is 0, must not end the search
    return [torch.optim.LBFGS(model.parameters(), max_iter=3, tolerance_grad=-1, tolerance_change=-1)], lbfgs_step
