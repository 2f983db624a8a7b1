"""FSDP2, under torchrun: fsdp2.py [mp] [ac]. mp: parameters are gathered in bfloat16; ac: the blocks are computed again going back."""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.functional import cross_entropy, gelu


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        return x + self.down(gelu(self.up(self.norm(x))))


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = nn.Sequential(*(Block(256) for _ in range(4)), nn.Linear(256, 1000, bias=False)).cuda()
options = {"mp_policy": MixedPrecisionPolicy(torch.bfloat16, torch.float32)} if "mp" in sys.argv else {}
for block in model[:4]:
    fully_shard(block, **options)
fully_shard(model, **options)
if "ac" in sys.argv:
    apply_activation_checkpointing(model, check_fn=lambda module: isinstance(module, Block))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(12):
    x, y = torch.randn(512, 256, device="cuda"), torch.randint(1000, (512,), device="cuda")
    loss = cross_entropy(model(x).float(), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
