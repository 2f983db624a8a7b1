"""A vision transformer with the Lion optimizer (the sign of a running mean), a GradScaler, clipping, and evaluations."""
import torch
from torch.nn.functional import cross_entropy

from vision import VisionTransformer, batch


class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr=1e-4, betas=(0.9, 0.99), weight_decay=1e-2):
        super().__init__(parameters, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                way = mean.clone().mul_(group["betas"][0]).add(p.grad, alpha=1 - group["betas"][0]).sign_()
                p.add_(way, alpha=-group["lr"])
                mean.mul_(group["betas"][1]).add_(p.grad, alpha=1 - group["betas"][1])


model = VisionTransformer().cuda()
optimizer = Lion(model.parameters())
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
    if step % 4 == 3:
        with torch.no_grad():
            model(images).argmax(1).cpu()
