"""Trains one of train.py's networks, or an mlp, on one GPU or by one of PyTorch's ways to divide it; prints the median step by CUDA events, in us.

    torch_strategies.py gpt|gpt-wide|gpt-long|llama|mlp|resnet50 STRATEGY --batch N [--steps N] [--cut LAYER,... --micro-batches N]

STRATEGY: one; ddp (DistributedDataParallel); zero-1 (DDP with ZeroRedundancyOptimizer); zero-2 and zero-3 (fully_shard of each block and of the
whole, parameters gathered once or twice a step); tensor (parallelize_module: qkv, up and the head, whose output is gathered, by columns, out and down
by rows; of the mlp every other layer by columns and by rows; not of resnet50); tensor-blocks (the same, the head whole); gpipe and 1f1b
(torch.distributed.pipelining of a transformer, cut in front of the blocks that have these layers). Under torchrun the batch is that of a rank, with
tensor parallelism and pipelines that of all.
"""
import argparse
import functools
import os
import statistics
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pytorch"))
import train

WIDTH, HIDDEN, CLASSES = 1024, 4096, 1000


def mlp():
    sizes = [WIDTH, HIDDEN, WIDTH, HIDDEN, WIDTH, HIDDEN, WIDTH, HIDDEN, CLASSES]
    layers = [layer for i, o in zip(sizes, sizes[1:]) for layer in (nn.Linear(i, o), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


class Block(nn.Module):
    """Llama's: queries, keys and values by themselves, turned by their places; an up that a gate multiplies."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.each = width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def attention(self, x, turn):
        q, k, v = (part.view(*x.shape[:2], -1, self.each).transpose(1, 2) for part in (self.wq(x), self.wk(x), self.wv(x)))
        q, k = (torch.cat((t * turn[0] - h * turn[1], h * turn[0] + t * turn[1]), -1) for t, h in (part.chunk(2, -1) for part in (q, k)))
        x = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(x.transpose(1, 2).flatten(2))

    def forward(self, x, turn):
        x = x + self.attention(self.norm1(x), turn)
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, words=4096, length=256, width=512, heads=8, hidden=1408, depth=8):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, heads, hidden) for _ in range(depth))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, words, bias=False)
        angle = torch.outer(torch.arange(length), 1e4 ** (-torch.arange(0, width // heads, 2) * heads / width))
        self.register_buffer("turn", torch.stack((angle.cos(), angle.sin())))

    def forward(self, x):
        x = self.words(x)
        for block in self.blocks:
            x = block(x, self.turn)
        return self.head(self.norm(x))


def words(count, length):
    def sample(i):
        generator = torch.Generator().manual_seed(i)
        x = torch.randint(count, (length,), generator=generator)
        return x, x.roll(-1)

    return sample


def row(i):
    generator = torch.Generator().manual_seed(i)
    return torch.randn(WIDTH, generator=generator), torch.randint(CLASSES, (), generator=generator)


def make(name):
    if name == "llama":
        return Llama(), words(4096, 256)
    if name == "gpt-long":
        return train.GPT(words=4096, length=512, width=768, heads=12, depth=4), words(4096, 512)
    if name.startswith("gpt"):
        return train.GPT(width=1024, heads=16, depth=6) if name == "gpt-wide" else train.GPT(), train.text
    if name == "mlp":
        return mlp(), row
    import torchvision

    return getattr(torchvision.models, name)(), train.image


def divide(model, head):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    columns, rows = ColwiseParallel, RowwiseParallel
    if isinstance(model, train.GPT):
        for block in model.blocks:
            parallelize_module(block, mesh, {"attention.qkv": columns(), "attention.out": rows(), "up": columns(), "down": rows()})
    if isinstance(model, Llama):
        for block in model.blocks:
            parts = {name: columns() for name in ("wq", "wk", "wv", "gate", "up")}
            parallelize_module(block, mesh, {**parts, "wo": rows(), "down": rows()})
    if hasattr(model, "blocks"):
        return parallelize_module(model, mesh, {"head": columns(output_layouts=Replicate())}) if head else model
    linear = [name for name, part in model.named_children() if isinstance(part, nn.Linear)]
    return parallelize_module(model, mesh, {name: (rows if i % 2 else columns)() for i, name in enumerate(linear)})


def blocks_of(model):
    if hasattr(model, "blocks"):
        return model.blocks
    if isinstance(model, nn.Sequential):
        return [part for part in model if isinstance(part, nn.Linear)]
    return [part for stage in (model.layer1, model.layer2, model.layer3, model.layer4) for part in stage]


def shard(model, again):
    from torch.distributed.fsdp import fully_shard

    options = {} if again else {"reshard_after_forward": False}  # by default all but the whole's own parameters are gathered again
    for part in blocks_of(model):
        fully_shard(part, **options)
    return fully_shard(model, **options)


def distribute(strategy, model):
    if strategy in ("ddp", "zero-1"):
        return nn.parallel.DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
    if strategy in ("zero-2", "zero-3"):
        return shard(model, strategy == "zero-3")
    return divide(model, strategy == "tensor") if strategy.startswith("tensor") else model


class Stage(nn.Module):
    """Blocks of a transformer; the first also has what is before them, the last what is after."""

    def __init__(self, model, begin, end):
        super().__init__()
        self.is_first, self.is_last = begin == 0, end == len(model.blocks)
        names = ["words", "places"] * self.is_first + ["turn"] + ["norm", "head"] * self.is_last
        for name in names:
            if hasattr(model, name):
                part = getattr(model, name)
                self.register_buffer(name, part) if isinstance(part, torch.Tensor) else setattr(self, name, part)
        self.blocks = model.blocks[begin:end]

    def forward(self, x):
        if self.is_first:
            places = self.places(torch.arange(x.shape[1], device=x.device)) if hasattr(self, "places") else None
            x = self.words(x) if places is None else self.words(x) + places
        for block in self.blocks:
            x = block(x, self.turn) if hasattr(self, "turn") else block(x)
        return self.head(self.norm(x)) if self.is_last else x


def stage_of(model, cut):
    """This rank's; layers are modules with parameters of their own, as they are called."""
    layers = [name for name, part in model.named_modules() if any(True for _ in part.parameters(recurse=False))]
    ends = [0] + [int(layers[i].split(".")[1]) for i in cut] + [len(model.blocks)]
    return Stage(model, *ends[dist.get_rank() :][:2])


def schedule_of(strategy, stage, micro_batches):
    from torch.distributed import pipelining

    device = torch.device("cuda", torch.cuda.current_device())
    part = pipelining.PipelineStage(stage, dist.get_rank(), dist.get_world_size(), device)
    kind = pipelining.ScheduleGPipe if strategy == "gpipe" else pipelining.Schedule1F1B
    return kind(part, micro_batches, loss_fn=lambda output, y: functional.cross_entropy(output.flatten(0, -2), y.flatten()))


def make_optimizer(strategy, model):
    adam = functools.partial(torch.optim.AdamW, lr=3e-4)
    if strategy == "zero-1":
        from torch.distributed.optim import ZeroRedundancyOptimizer

        return ZeroRedundancyOptimizer(model.parameters(), adam, parameters_as_bucket_view=True)
    if strategy.startswith("tensor"):  # what is divided and what is not cannot be updated by one call
        from torch.distributed.tensor import DTensor

        groups = [[], []]
        for parameter in model.parameters():
            groups[isinstance(parameter, DTensor)].append(parameter)
        return adam([{"params": group} for group in groups if group])
    return adam(model.parameters())


def loss_of(model, x, y):
    return functional.cross_entropy(model(x).flatten(0, -2), y.flatten())


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("model", choices=("gpt", "gpt-wide", "gpt-long", "llama", "mlp", "resnet50"))
    p.add_argument("strategy", choices=("one", "ddp", "zero-1", "zero-2", "zero-3", "tensor", "tensor-blocks", "gpipe", "1f1b"))
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--cut", type=lambda text: [int(part) for part in text.split(",")], default=[])
    p.add_argument("--micro-batches", type=int, default=1)
    return p.parse_args()


def main():
    options = parse()
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    if options.strategy != "one":
        dist.init_process_group("nccl")
    model, sample = make(options.model)
    is_pipeline = options.strategy in ("gpipe", "1f1b")
    model = stage_of(model, options.cut).cuda() if is_pipeline else distribute(options.strategy, model.cuda())
    schedule = schedule_of(options.strategy, model, options.micro_batches) if is_pipeline else None
    optimizer = make_optimizer(options.strategy, model)
    samples = train.Samples(sample, options.steps * options.batch)
    loader = torch.utils.data.DataLoader(samples, batch_size=options.batch, pin_memory=True)
    ends = []
    for x, y in loader:
        optimizer.zero_grad()
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        if schedule:
            schedule.step(*([x] if dist.get_rank() == 0 else []), target=y)
        else:
            loss_of(model, x, y).backward()
        optimizer.step()
        ends.append(torch.cuda.Event(enable_timing=True))
        ends[-1].record()
    torch.cuda.synchronize()
    steps = [a.elapsed_time(b) for a, b in zip(ends[2:], ends[3:])]
    if int(os.environ.get("RANK", 0)) == 0:
        print("step_us %.1f" % (1000 * statistics.median(steps)))
    if options.strategy != "one":
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
