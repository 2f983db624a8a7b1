"""Object collectives of torch.distributed between two ranks, of objects of some bytes to some megabytes: each rank gets what was sent.

Started by torchrun. SOFTGPU_NUMERICS is off, so that what moves does so by softgpu's rule for objects.
"""
import os

import torch
import torch.distributed as dist

SIZES = 1000, 100_000, 4_000_000


def text(rank, size):
    return ("%d of %d; " % (rank, size)) * (size // 16)


def exchange(rank, other, size):
    mine = {"rank": rank, "text": text(rank, size)}
    theirs = {"rank": other, "text": text(other, size)}
    both = [mine, theirs] if rank == 0 else [theirs, mine]

    found = [None, None]
    dist.all_gather_object(found, mine)
    yield "all_gather_object", found == both
    found = [mine if rank == 0 else None]
    dist.broadcast_object_list(found, 0)
    yield "broadcast_object_list", found == both[:1]
    found = [None, None] if rank == 1 else None
    dist.gather_object(mine, found, 1)
    yield "gather_object", found is None or found == both
    found = [None]
    dist.scatter_object_list(found, both if rank == 0 else [None, None], 0)
    yield "scatter_object_list", found == [mine]
    found = [mine if rank == 0 else None]
    (dist.send_object_list if rank == 0 else dist.recv_object_list)(found, other)
    yield "send_object_list", found == both[:1]


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    for size in SIZES:
        for name, right in exchange(rank, 1 - rank, size):
            if not right:
                raise SystemExit("rank %d: %s of %d bytes: wrong" % (rank, name, size))
    if rank == 0:
        print("objects of %s bytes: right" % ", ".join("%d" % size for size in SIZES))
    dist.destroy_process_group()


if int(os.environ.get("WORLD_SIZE", 1)) != 2:
    raise SystemExit("two ranks are needed")
main()
