"""Five steps an epoch, and after every second one an evaluation of more batches than that, as medical images are trained."""
import torch
from torch import nn

model = nn.Sequential(nn.Conv3d(1, 16, 3, 2, 1), nn.BatchNorm3d(16), nn.PReLU(), nn.Conv3d(16, 32, 3, 2, 1), nn.BatchNorm3d(32), nn.PReLU(),
                      nn.Conv3d(32, 1, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
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
                x = torch.randn(1, 1, 64, 64, 64).cuda()
                made = [model(x[..., a : a + 48, b : b + 48, c : c + 48]).sigmoid().cpu() for a in (0, 16) for b in (0, 16) for c in (0, 16)]
