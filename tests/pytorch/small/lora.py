"""Low-rank adapters beside frozen linear layers, as PEFT adds them; AdamW on the adapters alone: lora.py [amp]."""
import sys

import torch
from torch import nn
from torch.nn.functional import cross_entropy


class Adapted(nn.Module):
    def __init__(self, inputs, outputs, rank=8):
        super().__init__()
        self.base_layer = nn.Linear(inputs, outputs, bias=False).requires_grad_(False)
        self.lora_dropout = nn.Dropout(0.05)
        self.lora_A, self.lora_B = nn.Linear(inputs, rank, bias=False), nn.Linear(rank, outputs, bias=False)

    def forward(self, x):
        y = self.base_layer(x)
        x = x.to(self.lora_A.weight.dtype)
        return y + 2 * self.lora_B(self.lora_A(self.lora_dropout(x)))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up = nn.LayerNorm(width).requires_grad_(False), Adapted(width, 2 * width)
        self.down = nn.Linear(2 * width, width).requires_grad_(False)

    def forward(self, x):
        return x + self.down(self.up(self.norm(x)).relu())


model = nn.Sequential(*(Block(256) for _ in range(4)), nn.Linear(256, 10).requires_grad_(False)).cuda()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for _ in range(12):
    x, y = torch.randn(1024, 256).cuda(), torch.randint(10, (1024,)).cuda()
    with torch.autocast("cuda", torch.bfloat16, enabled="amp" in sys.argv):
        loss = cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
