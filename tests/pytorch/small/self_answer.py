"""The same model answers without gradients first, and learns from what it answered: with `teacher` a frozen one answers,
with `figure` each takes a figure of its input without gradients before it runs."""
import sys

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(256, 512), nn.Linear(512, 256)

    def forward(self, x):
        if "figure" in sys.argv:
            with torch.no_grad():
                self.most = x.abs().max()
        return self.second(self.first(x).relu())


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.student, self.teacher = Net(), Net().requires_grad_(False)

    def forward(self, x):
        with torch.no_grad():
            answer = (self.teacher if "teacher" in sys.argv else self.student)(x)
        return (self.student(x + 1) - answer).pow(2).mean()


pair = Pair().cuda()
optimizer = torch.optim.SGD(pair.student.parameters(), lr=0.01)
for _ in range(12):
    loss = pair(torch.randn(512, 256).cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
