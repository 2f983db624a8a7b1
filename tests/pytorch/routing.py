"""Programs whose work depends on data: mixtures of experts as Mixtral's are written, and a loss that counts its targets, as detectors do.
routing.py: 12 steps of a mixture; says how many rows each expert had."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

EXPERTS, CHOSEN, WIDTH, STEPS = 8, 2, 64, 12
rows = [0] * EXPERTS


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.SiLU(), nn.Linear(4 * WIDTH, WIDTH)) for _ in range(EXPERTS))

    def forward(self, x):
        flat = x.reshape(-1, WIDTH)
        weights, chosen = torch.topk(F.softmax(self.gate(flat), dim=-1, dtype=torch.float), CHOSEN, dim=-1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(flat.dtype)
        result = torch.zeros_like(flat)
        mask = F.one_hot(chosen, EXPERTS).permute(2, 1, 0)
        for (expert,) in (mask.sum((-1, -2)) > 0).nonzero():
            place, row = torch.where(mask[expert].squeeze(0))
            rows[expert] += len(row)
            result.index_add_(0, row, self.experts[expert](flat[None, row].reshape(-1, WIDTH)) * weights[row, place, None])
        return x + result.reshape(x.shape)


def mixture():
    net = nn.Sequential(nn.Linear(WIDTH, WIDTH), Mixture(), nn.Linear(WIDTH, 10)).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(STEPS):
        x, y = torch.rand(4, 64, WIDTH, device="cuda"), torch.zeros(256, dtype=torch.long, device="cuda")
        optimizer.zero_grad()
        F.cross_entropy(net(x).reshape(256, 10), y).backward()
        optimizer.step()
    torch.cuda.synchronize()
    assert all(p.grad is not None for p in net.parameters())
    print("mixture:", *rows)


def targets():
    """As YOLO's losses pad the boxes of the images of a batch to the largest number of boxes of one."""
    boxes = torch.tensor([[0, 0.1], [0, 0.2], [1, 0.3], [3, 0.4], [3, 0.5], [3, 0.6]]).cuda()
    image = boxes[:, 0].long()
    most = image.unique(return_counts=True)[1].to(torch.int32).max()
    print("targets:", tuple(torch.zeros(4, most, 5, device="cuda").shape))


if __name__ == "__main__":
    {"mixture": mixture, "targets": targets}[sys.argv[1]]()
