"""MAML by facebookresearch/higher: an inner loop whose updates have gradients themselves."""
import higher
import torch
from torch import nn
from torch.nn.functional import cross_entropy


def block(inputs, width):
    return nn.Sequential(nn.Conv2d(inputs, width, 3, padding=1), nn.BatchNorm2d(width, track_running_stats=False), nn.ReLU(), nn.MaxPool2d(2))


net = nn.Sequential(block(1, 64), block(64, 64), block(64, 64), nn.Flatten(), nn.Linear(64 * 9, 5)).cuda()
outer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(8):
    x, y = torch.randn(4, 2, 25, 1, 28, 28).cuda(), torch.randint(5, (4, 2, 25)).cuda()
    inner = torch.optim.SGD(net.parameters(), lr=0.1)
    outer.zero_grad()
    for task in range(4):
        with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (fast, updates):
            for _ in range(3):
                updates.step(cross_entropy(fast(x[task, 0]), y[task, 0]))
            cross_entropy(fast(x[task, 1]), y[task, 1]).backward()
    outer.step()
