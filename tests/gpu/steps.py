"""Times a training step in one process of several that take turns: whoever holds the lock measures, so that no two do at once, and each
round has every process measure before any measures again.

    steps.py PROGRAM MODE FOLDER --processes N [--rounds N] [--seconds S] [--device cpu]

PROGRAM: gpt_small (a GPT of 12 layers of 256 under bfloat16 autocast: the host is what limits it), gpt2 (124 million parameters, batch
16, autocast), resnet18 (batch 64), mlp (nine layers of 256). MODE `profiler` has torch.profiler record the steps that are timed; other
modes are names alone: what is preloaded makes them. For each round "PROGRAM MODE ROUND ms" is appended to FOLDER/steps.tsv, so that what
was measured is there when the rest is cut off. Ordinary PyTorch, of any 2.x.
"""
import argparse
import contextlib
import fcntl
import os
import time

import torch
from torch import nn
from torch.nn import functional

from train_resnet18 import ResNet18
from train_transformer import Transformer

WARM_STEPS = 5


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program", choices=("gpt_small", "gpt2", "resnet18", "mlp"))
    p.add_argument("mode")
    p.add_argument("folder")
    p.add_argument("--processes", type=int, required=True)
    p.add_argument("--copy", default="1", help="of the processes with the same program and mode")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=1.0, help="of steps, in each round")
    p.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    p.add_argument("--small", action="store_true", help="smaller networks: tests this script")
    return p.parse_args()


def gpt(words, length, width, heads, depth, batch, device):
    x = torch.randint(words, (batch, length), device=device)
    loss = lambda output, y: functional.cross_entropy(output.flatten(0, -2), y.flatten())
    return Transformer(words, length, width, heads, depth), x, x, loss


def make(options):
    """The model, a batch, its loss; whether autocast is on."""
    device, small = options.device, options.small
    if options.program == "gpt_small":
        return *gpt(8192, 256, 256, 4, 2 if small else 12, 8, device), True
    if options.program == "gpt2":
        return *gpt(50257, 128 if small else 1024, 768, 12, 1 if small else 12, 2 if small else 16, device), True
    if options.program == "resnet18":
        batch, size = (4, 64) if small else (64, 224)
        x, y = torch.randn(batch, 3, size, size, device=device), torch.randint(1000, (batch,), device=device)
        return ResNet18(1000), x, y, functional.cross_entropy, False
    layers = [layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.ReLU())]
    x, y = torch.randn(64, 256, device=device), torch.randint(10, (64,), device=device)
    return nn.Sequential(*layers, nn.Linear(256, 10)), x, y, functional.cross_entropy, False


class Trainer:
    def __init__(self, options):
        torch.manual_seed(0)
        self.device = options.device
        self.model, self.x, self.y, self.loss, self.amp = make(options)
        self.model = self.model.to(self.device)
        if options.program.startswith("gpt"):
            self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4, fused=True)
        else:
            self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01, momentum=0.9)

    def step(self):
        with torch.autocast(self.device, torch.bfloat16, enabled=self.amp):
            loss = self.loss(self.model(self.x), self.y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def run(self, steps):
        """Milliseconds of a step."""
        self.wait()
        begin = time.perf_counter()
        for _ in range(steps):
            self.step()
        self.wait()
        return (time.perf_counter() - begin) * 1000 / steps


class Turns:
    """The processes of a bench, which share a folder."""

    def __init__(self, folder, processes, name):
        self.folder, self.processes, self.name = folder, processes, name
        self.lock = open(os.path.join(folder, "lock"), "a")

    def reach(self, point):
        """Waits until all processes have come to this point, but not for ever: one may have failed."""
        open(os.path.join(self.folder, "%s.%s" % (point, self.name)), "w").close()
        limit = time.monotonic() + 300
        while time.monotonic() < limit:
            there = sum(name.startswith(point + ".") for name in os.listdir(self.folder))
            failed = sum(name.startswith("failed.") for name in os.listdir(self.folder))
            if there + failed >= self.processes:
                return
            time.sleep(0.02)

    def __enter__(self):
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def __exit__(self, *unused):
        fcntl.flock(self.lock, fcntl.LOCK_UN)


def profiling(options):
    if options.mode != "profiler":
        return contextlib.nullcontext()
    kinds = torch.profiler.ProfilerActivity
    return torch.profiler.profile(activities=[kinds.CPU] + [kinds.CUDA] * (options.device == "cuda"))


def main():
    options = parse()
    turns = Turns(options.folder, options.processes, ".".join((options.program, options.mode, options.copy)))
    with turns:
        trainer = Trainer(options)
        ms = trainer.run(3 * WARM_STEPS)
        ms = trainer.run(WARM_STEPS)
    steps = max(WARM_STEPS, int(options.seconds * 1000 / ms))
    turns.reach("ready")
    for number in range(options.rounds):
        with turns:
            trainer.run(WARM_STEPS)
            with profiling(options):
                ms = trainer.run(steps)
            if options.device == "cuda":
                torch.cuda.empty_cache()
            with open(os.path.join(options.folder, "steps.tsv"), "a") as out:
                out.write("%s\t%s\t%d\t%.4f\n" % (options.program, options.mode, number, ms))
        turns.reach("round%d" % number)


if __name__ == "__main__":
    main()
