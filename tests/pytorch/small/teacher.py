"""Distillation: a frozen teacher answers without gradients, the student learns its answers."""
import torch
from torch import nn
from torch.nn.functional import kl_div


def net(width):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 100)).cuda()


teacher, student = net(64).eval().requires_grad_(False), net(32)
optimizer = torch.optim.SGD(student.parameters(), lr=0.01, momentum=0.9)
for _ in range(12):
    x = torch.randn(32, 3, 32, 32).cuda()
    with torch.no_grad():
        answer = teacher(x).softmax(1)
    loss = kl_div(student(x).log_softmax(1), answer, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
