"""CUDA tensors that processes share (torch.multiprocessing): a model that two processes train as Hogwild does, a tensor that goes there and back."""
import sys

import torch
import torch.multiprocessing as mp
from torch import nn

STEPS = 10


def net():
    return nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 26 * 26, 10))


def train(rank, model, given, results, done):
    given.add_(1)
    torch.cuda.synchronize()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
    x, y = torch.rand(16, 1, 28, 28, device="cuda"), torch.zeros(16, dtype=torch.long, device="cuda")
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.cuda.synchronize()
    back = torch.full((1000,), float(rank + 1), device="cuda")
    results.put((rank, back))
    done.wait()
    del back


def main():
    mp.set_start_method("spawn")
    model = net().cuda()
    model.share_memory()
    given = torch.zeros(2, 100, device="cuda")
    results, done = mp.Queue(), mp.Event()
    workers = [mp.Process(target=train, args=(rank, model, given[rank], results, done)) for rank in range(2)]
    for worker in workers:
        worker.start()
    for _ in workers:
        rank, back = results.get()
        assert float(back.sum()) == 1000 * (rank + 1), f"rank {rank} sent {float(back.sum())}"
        del back
    assert given.sum().item() == 200, f"the ranks wrote {given.sum().item()}"
    done.set()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        sys.exit(f"workers end with {[worker.exitcode for worker in workers]}")
    print("shared tensors: as they were written, both ways")


if __name__ == "__main__":
    main()
