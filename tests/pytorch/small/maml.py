"""MAML of first order: for each task some updates of fast weights by gradients, whose loss on other samples is what the step learns from."""
import torch
from torch import nn
from torch.nn import functional


class Learner(nn.Module):
    def __init__(self, width=32, classes=5):
        super().__init__()
        shapes = ((width, 1, 3, 3), (width,), (width, width, 3, 3), (width,), (classes, width), (classes,))
        self.weights = nn.ParameterList(torch.randn(shape) * 0.1 for shape in shapes)

    def forward(self, x, weights=None):
        w1, b1, w2, b2, w3, b3 = weights or self.weights
        x = functional.relu(functional.conv2d(x, w1, b1, stride=2))
        x = functional.relu(functional.conv2d(x, w2, b2, stride=2))
        return functional.linear(x.mean((2, 3)), w3, b3)


learner = Learner().cuda()
optimizer = torch.optim.Adam(learner.parameters(), lr=1e-3)
for _ in range(12):
    total = 0
    for _ in range(4):
        x, y = torch.randn(2, 25, 1, 28, 28).cuda(), torch.randint(5, (2, 25)).cuda()
        weights = list(learner.weights)
        with torch.no_grad():
            functional.cross_entropy(learner(x[1]), y[1])
        for _ in range(3):
            loss = functional.cross_entropy(learner(x[0], weights), y[0])
            gradients = torch.autograd.grad(loss, weights)
            weights = [w - 0.4 * g for w, g in zip(weights, gradients)]
        total = total + functional.cross_entropy(learner(x[1], weights), y[1])
    optimizer.zero_grad()
    (total / 4).backward()
    optimizer.step()
