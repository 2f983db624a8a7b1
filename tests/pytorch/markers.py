"""Loops without an optimizer that say by NVTX where an iteration is: markers.py train|requests [bare].

train: two passes for a step, and the program's own update. requests: passes without gradients, a different number for
each request. bare: without the range of an iteration.
"""
import contextlib
import sys

import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).cuda()
nvtx = torch.cuda.nvtx
COUNT = 12


def marked(text):
    return contextlib.nullcontext() if "bare" in sys.argv else nvtx.range(text)


def train():
    for i in range(COUNT):
        with marked(f"iteration {i}"):
            for _ in range(2):
                with nvtx.range("part"):
                    model(torch.randn(32, 64).cuda()).sum().backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(parameter.grad * 0.01)
                    parameter.grad.zero_()


@torch.no_grad()
def requests():
    for i in range(COUNT):
        with marked("request"):
            x = torch.randn(32, 64).cuda()
            for _ in range(3 + i % 3):
                x = x + model(x).sum()
            x.cpu()


globals()[sys.argv[1]]()
torch.cuda.synchronize()
