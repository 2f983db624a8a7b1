"""A vision transformer: vit.py [bf16|fp16] [scaler] [clip] [evaluate]."""
import sys

import torch
from torch.nn.functional import cross_entropy

from vision import VisionTransformer, batch

model = VisionTransformer().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler(enabled="scaler" in sys.argv)
dtype = torch.float16 if "fp16" in sys.argv else torch.bfloat16
for step in range(12):
    images, classes = batch()
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype, enabled="fp16" in sys.argv or "bf16" in sys.argv):
        loss = cross_entropy(model(images), classes)
    scaler.scale(loss).backward()
    if "clip" in sys.argv:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    if "evaluate" in sys.argv and step % 4 == 3:
        with torch.no_grad():
            model(images).argmax(1).cpu()
