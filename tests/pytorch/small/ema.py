"""A vision transformer and a running mean of it, which each step moves parameter by parameter and which is evaluated."""
import copy

import torch
from torch.nn.functional import cross_entropy

from vision import VisionTransformer, batch


class Mean(torch.nn.Module):
    def __init__(self, model, beta=0.999):
        super().__init__()
        self.beta, self.online = beta, [model]
        self.model = copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def update(self):
        for mean, value in zip(self.model.parameters(), self.online[0].parameters()):
            mean.lerp_(value, 1 - self.beta)

    def forward(self, x):
        return self.model(x)


model = VisionTransformer().cuda()
mean = Mean(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler()
for step in range(12):
    images, classes = batch()
    with torch.autocast("cuda", torch.float16):
        loss = cross_entropy(model(images), classes)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    mean.update()
    if step % 4 == 3:
        with torch.no_grad():
            mean(images).argmax(1).cpu()
