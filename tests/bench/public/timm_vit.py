"""timm's ViT with packages' Lion and running mean (lion-pytorch, ema-pytorch): timm_vit.py [lion] [ema]."""
import sys

import timm
import torch
from ema_pytorch import EMA
from lion_pytorch import Lion
from torch.nn.functional import cross_entropy

model = timm.create_model("vit_tiny_patch16_224", num_classes=10, depth=4).cuda()
mean = EMA(model, beta=0.999, update_every=1, update_after_step=0) if "ema" in sys.argv else None
optimizer = Lion(model.parameters(), lr=1e-4, weight_decay=1e-2) if "lion" in sys.argv else torch.optim.AdamW(model.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler()
for step in range(12):
    x, y = torch.randn(8, 3, 224, 224).cuda(), torch.randint(10, (8,)).cuda()
    with torch.autocast("cuda", torch.float16):
        loss = cross_entropy(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    if mean:
        mean.update()
    if step % 4 == 3:
        with torch.no_grad():
            (mean or model)(x).argmax(1).cpu()
