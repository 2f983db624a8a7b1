"""Evaluations on overlapping windows of a volume that take longer than the training between them: windows.py [transposed]."""
import sys

import torch
from torch import nn
from torch.nn.functional import interpolate

up = [nn.ConvTranspose3d(32, 16, 3, 2, 1, output_padding=1), nn.BatchNorm3d(16), nn.PReLU(), nn.Conv3d(16, 1, 1)]
model = nn.Sequential(nn.Conv3d(1, 16, 3, 2, 1), nn.BatchNorm3d(16), nn.PReLU(), nn.Conv3d(16, 32, 3, 2, 1), nn.BatchNorm3d(32), nn.PReLU(),
                      *(up if "transposed" in sys.argv else [nn.Conv3d(32, 1, 1)])).cuda()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)


def evaluate():
    volume = torch.randn(1, 1, 64, 64, 64).cuda()
    out = torch.zeros_like(volume)
    for c in (0, 16):
        places = [(a, b, c) for a in (0, 16) for b in (0, 16)]
        windows = torch.cat([volume[..., a : a + 48, b : b + 48, c : c + 48] for a, b, c in places])
        for (a, b, c), made in zip(places, interpolate(model(windows), size=(48, 48, 48))):
            out[..., a : a + 48, b : b + 48, c : c + 48] += made
    return ((out.sigmoid() > 0.5) * (volume > 0)).sum().item()


for epoch in range(5):
    model.train()
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 1, 48, 48, 48).cuda()).sigmoid().mean()
        loss.backward()
        optimizer.step()
        loss.item()
    if epoch % 2:
        model.eval()
        with torch.no_grad():
            for _ in range(20):
                evaluate()
