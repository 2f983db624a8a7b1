"""Norms by the root mean square, made of PyTorch's own kernels, as in Llama, Qwen, Mistral and T5."""
import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = Norm(width)
        self.up, self.down = nn.Linear(width, 2 * width, bias=False), nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        return x + self.down(self.up(self.norm(x)).relu())


model = nn.Sequential(*(Block(512) for _ in range(4))).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(12):
    loss = model(torch.randn(4096, 512).cuda()).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
