"""A mixture of experts whose weights are parameters of three dimensions, as of Mixtral in transformers: products in batches."""
import torch
from torch import nn
from torch.nn.functional import cross_entropy, silu


class Experts(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.randn(count, width, 4 * width) * 0.02)
        self.down_proj = nn.Parameter(torch.randn(count, 2 * width, width) * 0.02)

    def forward(self, x):
        gate, up = torch.bmm(x, self.gate_up_proj).chunk(2, dim=-1)
        return torch.bmm(silu(gate) * up, self.down_proj)


class Mixture(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.count, self.norm = count, nn.LayerNorm(width)
        self.router, self.experts = nn.Linear(width, count, bias=False), Experts(count, width)

    def forward(self, x):
        y = self.norm(x)
        share = self.router(y).softmax(-1).t().unsqueeze(-1)
        return x + (self.experts(y.expand(self.count, -1, -1)) * share).sum(0)


model = nn.Sequential(nn.Linear(256, 256), Mixture(4, 256), Mixture(4, 256), nn.Linear(256, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(12):
    x, y = torch.randn(512, 256).cuda(), torch.randint(10, (512,)).cuda()
    loss = cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
