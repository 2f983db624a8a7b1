"""A training loop that says what it is in by NVTX: nvtx.py [emit]. With `emit` PyTorch says its operators so too."""
import contextlib
import sys

import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
nvtx = torch.cuda.nvtx

with torch.autograd.profiler.emit_nvtx() if "emit" in sys.argv else contextlib.nullcontext():
    nvtx.range_push("training")
    for i in range(12):
        nvtx.range_push(f"iteration {i}")
        with nvtx.range("forward"):
            loss = model(torch.randn(32, 64, device="cuda")).sum()
        with nvtx.range("backward"):
            loss.backward()
        with nvtx.range("optimizer"):
            optimizer.step()
            optimizer.zero_grad()
        nvtx.range_pop()
    nvtx.range_pop()
torch.cuda.synchronize()
