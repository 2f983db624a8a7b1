"""A small training under DistributedDataParallel that comes to a stop: hang_train.py FAULT VICTIM STEP.

A program as anyone's: each step takes a batch, trains and averages the loss over the ranks; every fifth step evaluates, with a
barrier after. In STEP the rank VICTIM does what FAULT says, in a line that ends with the fault's name.
"""
import os
import sys
import threading

import torch
import torch.distributed as dist

FAULT, VICTIM, STEP = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
RANK = int(os.environ["RANK"])
LOCK = threading.Lock()


def fault(name, step):
    return name == FAULT and RANK == VICTIM and step == STEP


def average(loss, step):
    values = torch.stack([loss.detach(), loss.detach()])
    if fault("size", step):
        dist.all_reduce(values[:1])  # size
    else:
        dist.all_reduce(values)
    if fault("more", step):
        dist.all_reduce(values)  # more
    return values / dist.get_world_size()


def log(step):
    with LOCK:
        if fault("lock", step):
            LOCK.acquire()  # lock


def evaluate(model, batch, step):
    model.eval()
    with torch.no_grad():
        model(batch).argmax(1)
    model.train()
    if not fault("barrier", step):
        dist.barrier()


def train():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).to(device)
    model = torch.nn.parallel.DistributedDataParallel(net, device_ids=[device.index])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 41):
        batch = torch.randn(32, 64, device=device)
        loss = torch.nn.functional.cross_entropy(model(batch), torch.randint(10, (32,), device=device))
        if fault("exception", step):
            raise ValueError("a sample that cannot be decoded")  # exception
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        average(loss, step).cpu()
        log(step)
        if step % 5 == 0:
            evaluate(model, batch, step)
    dist.destroy_process_group()


train()
