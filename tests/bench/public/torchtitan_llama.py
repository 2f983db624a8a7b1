"""torchtitan's Llama 3 as its trainer divides it, under torchrun: torchtitan_llama.py [tensor]. FSDP2 with bfloat16 over all ranks, or tensor
parallelism."""
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.functional import cross_entropy
from torchtitan.models.llama3 import Transformer, TransformerModelArgs
from torchtitan.models.llama3.infra import parallelize

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
mesh = init_device_mesh("cuda", (dist.get_world_size(),))
model = Transformer(TransformerModelArgs(dim=256, n_layers=4, n_heads=4, vocab_size=4096, max_seq_len=512)).cuda()
if "tensor" in sys.argv:
    parallelize.apply_tp(model, mesh, loss_parallel=False, enable_float8_tensorwise_tp=False)
else:
    parallelize.apply_fsdp(model, mesh, torch.bfloat16, torch.float32, pp_enabled=False)
with torch.no_grad():
    model.init_weights(buffer_device=torch.device("cuda"))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused="tensor" not in sys.argv)
for _ in range(12):
    words = torch.randint(4096, (4, 257)).cuda()
    optimizer.zero_grad()
    loss = cross_entropy(model(words[:, :-1]).flatten(0, 1).float(), words[:, 1:].flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
dist.destroy_process_group()
