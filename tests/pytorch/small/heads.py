"""Two tasks by turns, each with a head of its own on a common body; one optimizer, a step for each batch."""
import torch
from torch import nn
from torch.nn.functional import cross_entropy


class Tasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(512, 10), nn.Linear(512, 100)])

    def forward(self, x, task):
        return self.heads[task](self.body(x))


model = Tasks().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(20):
    x, y = torch.randn(64, 256).cuda(), torch.randint(10, (64,)).cuda()
    optimizer.zero_grad()
    loss = cross_entropy(model(x, step % 2), y)
    loss.backward()
    optimizer.step()
