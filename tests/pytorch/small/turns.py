"""Two optimizers: turns.py together (each of its own part, one after the other), turns (of two heads by turns, each with its own optimizer and a body
that both train), critic (five steps of a critic with a penalty of its gradient, then one of the generator: WGAN-GP), policy (a rollout, then
three passes over its two halves: PPO)."""
import sys

import torch
from torch import nn

KIND = sys.argv[1] if len(sys.argv) > 1 else "together"
torch.manual_seed(0)


def perceptron(*sizes):
    return nn.Sequential(*[layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.Tanh())][:-1]).cuda()


def data(*size):
    return torch.randn(*size, device="cuda")


def adam(*modules):
    return torch.optim.Adam([p for module in modules for p in module.parameters()], lr=1e-4)


def update(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def together(steps=24):
    body, head = perceptron(256, 512, 512), perceptron(512, 256, 10)
    optimizers = torch.optim.SGD(body.parameters(), lr=0.1, momentum=0.9), adam(head)
    for _ in range(steps):
        loss = head(body(data(256, 256))).square().mean()
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()


def turns(steps=24):
    body, first, second = perceptron(256, 512, 512), perceptron(512, 256, 10), perceptron(512, 512, 512, 3)
    of_first, of_second = adam(body, first), adam(body, second)
    for step in range(steps):
        if step % 2 == 0:
            update(of_first, first(body(data(256, 256))).square().mean())
        else:
            update(of_second, second(body(data(256, 256))).square().mean())


def critic(steps=8):
    generator, judge = perceptron(64, 256, 256), perceptron(256, 512, 1)
    of_generator, of_judge = adam(generator), adam(judge)
    for _ in range(steps):
        for _ in range(5):
            real, made = data(128, 256), generator(data(128, 64)).detach()
            between = (real + 0.5 * (made - real)).requires_grad_()
            gradient, = torch.autograd.grad(judge(between).sum(), between, create_graph=True)
            update(of_judge, judge(made).mean() - judge(real).mean() + 10 * (gradient.norm(2, 1) - 1).square().mean())
        update(of_generator, -judge(generator(data(128, 64))).mean())


def policy(iterations=8):
    actor, value = perceptron(64, 256, 8), perceptron(64, 256, 1)
    optimizer = adam(actor, value)
    for _ in range(iterations):
        seen, chosen, worth = [], [], []
        for _ in range(8):
            state = data(64, 64)
            with torch.no_grad():
                choice = torch.distributions.Categorical(logits=actor(state), validate_args=False)
                action = choice.sample()
                seen.append(state), chosen.append((action, choice.log_prob(action))), worth.append(value(state))
        states, actions, before = torch.cat(seen), torch.cat([c[0] for c in chosen]), torch.cat([c[1] for c in chosen])
        gain = data(len(states)) - torch.cat(worth).squeeze(1)
        for _ in range(3):
            for rows in torch.randperm(len(states)).cuda().chunk(2):
                ratio = (torch.distributions.Categorical(logits=actor(states[rows]), validate_args=False).log_prob(actions[rows]) - before[rows]).exp()
                loss = -(ratio * gain[rows]).mean() + (value(states[rows]).squeeze(1) - gain[rows]).square().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(list(actor.parameters()) + list(value.parameters()), 0.5)
                optimizer.step()


{"together": together, "turns": turns, "critic": critic, "policy": policy}[KIND]()
torch.cuda.synchronize()
