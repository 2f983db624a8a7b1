"""Trains a small model of some kind with PyTorch on synthetic data; ordinary PyTorch but for the hooks of truth.py.

    train.py resnet18|resnet50|mlp|gpt|lstm|dlrm|unet|gan|masked [--steps N] [--batch N] [--amp] [--workers N] [--accumulate N] [--checkpoint] [--evaluate N]
             [--average] [--clip] [--keep-gradients] [--each] [--by-hand] [--update-at-once] [--tie] [--halve] [--segments] [--freeze N] [--strategy ddp|fsdp|zero|tensor|pipeline]
             [--sync-norm] [--compile [BACKEND] [--mode MODE]] [--graph step|model] [--turns sam|lbfgs|apart] [--fixed] [--truth] [--profile FILE]

Under torchrun the batch is per rank. --truth wants softgpu's SOFTGPU_TRUTH. With --profile torch.profiler writes its trace.
"""
import argparse
import contextlib
import ctypes
import functools
import itertools
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.optim import swa_utils
from torch.utils.checkpoint import checkpoint

import turns


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.each = width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, -1, self.each).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=2))
        x = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(x.transpose(1, 2).reshape(batch, length, -1))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, words=8192, length=256, width=256, heads=4, depth=12):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.checkpoint = False

    def forward(self, x):
        x = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpoint else block(x)
        return self.head(self.norm(x))


class Masked(nn.Linear):
    """What is masked out is made of nothing: only the other operand says whose work it is."""

    def forward(self, x):
        x = super().forward(x)
        return torch.where(x > 0, x, -9e15 * torch.ones_like(x)).softmax(1)


class Stage(nn.Module):
    """A rank's part of a GPT."""

    def __init__(self, model, rank, count):
        super().__init__()
        each = len(model.blocks) // count
        self.words, self.places = (model.words, model.places) if rank == 0 else (None, None)
        self.blocks = model.blocks[rank * each : (rank + 1) * each]
        self.norm, self.head = (model.norm, model.head) if rank == count - 1 else (None, None)

    def forward(self, x):
        if self.words:
            x = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)) if self.head else x


class LSTM(nn.Module):
    def __init__(self, words=8192, width=512):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.lstm(self.words(x))[0])


class DLRM(nn.Module):
    """Numbers through one network, categories through tables; their products through another."""

    def __init__(self, numbers=16, tables=26, rows=20000, width=64):
        super().__init__()
        self.numbers = numbers
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(numbers, 512), nn.ReLU(), nn.Linear(512, width), nn.ReLU())
        pairs = tables * (tables + 1) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 2))

    def forward(self, x):
        dense = self.bottom(x[:, : self.numbers].float())
        sparse = [table(x[:, self.numbers + i : self.numbers + i + 1]) for i, table in enumerate(self.tables)]
        every = torch.stack([dense] + sparse, dim=1)
        products = torch.bmm(every, every.transpose(1, 2))
        row, column = torch.tril_indices(every.shape[1], every.shape[1], -1, device=x.device)
        return self.top(torch.cat([dense, products[:, row, column]], dim=1))


class Residual(nn.Module):
    def __init__(self, inputs, outputs, time):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(time, outputs)
        self.norm2, self.conv2 = nn.GroupNorm(8, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        y = self.conv1(functional.silu(self.norm1(x))) + self.time(functional.silu(time))[:, :, None, None]
        return self.shortcut(x) + self.conv2(functional.silu(self.norm2(y)))


class Pixels(nn.Module):
    """Attention between pixels, whose result has the channels last; so do the convolutions after."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.qkv, self.out = nn.GroupNorm(8, width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        y = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = (part.unsqueeze(1) for part in self.qkv(y).chunk(3, dim=-1))
        y = self.out(functional.scaled_dot_product_attention(q, k, v).squeeze(1))
        return x + y.transpose(1, 2).reshape(x.shape)


class UNet(nn.Module):
    """Down, across and up again, as diffusion models are built; convolutions in both layouts."""

    def __init__(self, widths=(32, 64, 64), time=128):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, time), nn.SiLU(), nn.Linear(time, time))
        self.begin = nn.Conv2d(3, widths[0], 3, stride=4, padding=1)
        self.down = nn.ModuleList(Residual(i, o, time) for i, o in zip((widths[0],) + widths, widths))
        self.middle, self.pixels = Residual(widths[-1], widths[-1], time), Pixels(widths[-1])
        self.up = nn.ModuleList(Residual(widths[-1] + w, widths[-1], time) for w in reversed(widths))
        self.norm, self.head = nn.GroupNorm(8, widths[-1]), nn.Linear(widths[-1], 1000)

    def forward(self, x):
        time, x, kept = self.time(x[:, 0, 0, :1]), self.begin(x), []
        for block in self.down:
            kept.append(block(x, time))
            x = functional.avg_pool2d(kept[-1], 2)
        x = self.pixels(self.middle(x, time))
        for block in self.up:
            y = kept.pop()
            x = block(torch.cat([functional.interpolate(x, size=y.shape[2:]), y], dim=1), time)
        return self.head(functional.silu(self.norm(x)).mean((2, 3)))


def image(i):
    generator = torch.Generator().manual_seed(i)
    return torch.randn(3, 112, 112, generator=generator), torch.randint(1000, (), generator=generator)


def text(i):
    words = torch.randint(8192, (257,), generator=torch.Generator().manual_seed(i))
    return words[:-1], words[1:]


def short_text(i):
    x, y = text(i)
    return x[:64], y[:64]


def click(i):
    generator = torch.Generator().manual_seed(i)
    return torch.randint(16, (42,), generator=generator), torch.randint(2, (), generator=generator)


def row(i):
    generator = torch.Generator().manual_seed(i)
    return torch.randn(256, generator=generator), torch.randint(10, (), generator=generator)


def make(name, foreach, capturable):
    """The model, a sample by its number, samples in a batch, the optimizer."""
    sgd = lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=1e-4, foreach=foreach)
    adam = lambda p: torch.optim.AdamW(p, lr=3e-4, foreach=foreach, capturable=capturable)
    if name.startswith("resnet"):
        import torchvision

        return getattr(torchvision.models, name)(), image, 16, sgd
    if name == "gan":
        return turns.GAN(), turns.picture, 32, adam
    if name == "unet":
        return UNet(), image, 16, adam
    if name == "mlp":
        return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)), row, 32, sgd
    if name == "masked":
        return nn.Sequential(Masked(256, 512), Masked(512, 512), nn.Linear(512, 10)), row, 32, sgd
    if name == "gpt":
        return GPT(), text, 8, adam
    if name == "lstm":
        return LSTM(), short_text, 16, adam
    return DLRM(), click, 256, sgd


class Samples(torch.utils.data.Dataset):
    def __init__(self, sample, count):
        self.made, self.count = [sample(i) for i in range(64)], count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.made[i % len(self.made)]


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("model", choices=("resnet18", "resnet50", "mlp", "gpt", "lstm", "dlrm", "unet", "gan", "masked"))
    p.add_argument("--steps", type=int, default=12)
    p.add_argument("--batch", type=int, default=0, help="samples of a batch; 0: as each model has it")
    p.add_argument("--amp", action="store_true")
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--accumulate", type=int, default=1)
    p.add_argument("--checkpoint", action="store_true")
    p.add_argument("--freeze", type=int, default=0, help="so many blocks of a gpt at the start, and embeddings, are not trained; of others all but the last layer")
    p.add_argument("--average", action="store_true", help="a running mean of the parameters is kept after each step")
    p.add_argument("--clip", action="store_true", help="gradients are clipped by their norm")
    p.add_argument("--keep-gradients", action="store_true", help="gradients are set to zero, not let go of")
    p.add_argument("--each", action="store_true", help="the optimizer updates each parameter by itself")
    p.add_argument("--by-hand", action="store_true", help="without an optimizer: a loop over the parameters updates them")
    p.add_argument("--update-at-once", action="store_true", help="each parameter is updated within the backward pass")
    p.add_argument("--tie", action="store_true", help="the head of a gpt has the weights of its embeddings")
    p.add_argument("--halve", action="store_true", help="each second batch has sequences of half the length")
    p.add_argument("--segments", action="store_true", help="memory is mapped in expandable segments")
    p.add_argument("--evaluate", type=int, default=0, help="a pass over two batches after each so many steps")
    p.add_argument("--compile", nargs="?", const="inductor", metavar="BACKEND",
                   help="torch.compile; with another backend than inductor phases and layers have no truth")
    p.add_argument("--mode", help="torch.compile's, as reduce-overhead: CUDA graphs of what is compiled")
    p.add_argument("--graph", choices=("step", "model"), help="CUDA graphs: of a whole step, or one for each pass of the model")
    p.add_argument("--turns", choices=("sam", "lbfgs", "apart"),
                   help="of a network of images or an mlp: an optimizer that updates more than once a step; of a gan: its judge goes back for each loss")
    p.add_argument("--fixed", action="store_true", help="one batch, copied to the device once, is used in each step and evaluation")
    p.add_argument("--on-device", action="store_true", help="the model is made on the device, not copied to it")
    p.add_argument("--strategy", choices=("ddp", "fsdp", "zero", "tensor", "pipeline"), help="the last two: gpt without --amp")
    p.add_argument("--sync-norm", action="store_true", help="batch norms normalize over all ranks")
    p.add_argument("--truth", action="store_true")
    p.add_argument("--profile")
    return p.parse_args()


class NoTruth:
    def __getattr__(self, _):
        return lambda *_: None


def distribute(options, model):
    if options.sync_norm:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    if options.strategy == "ddp":
        return nn.parallel.DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
    if options.strategy == "tensor":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

        mesh = init_device_mesh("cuda", (dist.get_world_size(),))
        for block in model.blocks:
            parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
        return model
    from torch.distributed.fsdp import fully_shard

    for block in getattr(model, "blocks", model.children()):
        fully_shard(block)
    return fully_shard(model)


def loss_of(options, truth, model, x, y):
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=options.amp):
        output = model(x)
        truth.begin_loss()
        return functional.cross_entropy(output.flatten(0, -2), y.flatten())


class Zero:
    """ZeRO's first stage: parameters in bfloat16 in one block, and of them each rank updates a part of its own in float."""

    def __init__(self, model, make_optimizer):
        self.parameters, count = list(model.parameters()), dist.get_world_size()
        values = torch.cat([p.data.flatten() for p in self.parameters]).bfloat16()
        self.flat = functional.pad(values, (0, -len(values) % count))
        for p, part in zip(self.parameters, self.flat.split([p.numel() for p in self.parameters] + [-len(values) % count])):
            p.data = part.view_as(p)
        self.mine = self.flat.chunk(count)[dist.get_rank()]
        self.part = nn.Parameter(self.mine.float())
        self.inner = make_optimizer([self.part])

    def zero_grad(self, set_to_none=True):
        for p in self.parameters:
            p.grad = None

    def step(self):
        gradients = torch.cat([p.grad.flatten() for p in self.parameters])
        gradients = functional.pad(gradients, (0, len(self.flat) - len(gradients)))
        mine = torch.empty_like(self.mine)
        dist.reduce_scatter_tensor(mine, gradients)
        self.part.grad = mine.float()
        self.inner.step()
        self.mine.copy_(self.part.data)
        dist.all_gather_into_tensor(self.flat, self.mine.clone())


class AtOnce:
    """Each parameter has an optimizer of its own, which updates it within the backward pass, as soon as its gradient is made."""

    def __init__(self, model, make_optimizer):
        self.inner = []
        for p in model.parameters():
            self.inner.append(make_optimizer([p]))
            p.register_post_accumulate_grad_hook(functools.partial(self.update, self.inner[-1]))

    @staticmethod
    def update(optimizer, _):
        optimizer.step()
        optimizer.zero_grad()

    def zero_grad(self, set_to_none=True):
        pass

    def step(self):
        pass


class ByHand:
    """No optimizer at all: each parameter is updated in a loop, as programs for teaching do."""

    def __init__(self, model):
        self.parameters = list(model.parameters())
        self.before = self.after = lambda *_: None

    def register_step_pre_hook(self, hook):
        self.before = hook

    def register_step_post_hook(self, hook):
        self.after = hook

    def zero_grad(self, set_to_none=True):
        for p in self.parameters:
            p.grad = None

    def step(self):
        self.before()
        for p in self.parameters:
            p.data.add_(p.grad, alpha=-0.01)
        self.after()


def make_schedule(model):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    stage = PipelineStage(model, dist.get_rank(), dist.get_world_size(), torch.device("cuda", torch.cuda.current_device()))
    # the losses are divided, not the gradients after the backward pass, so that all of that is done in hooked nodes
    loss = lambda output, y: functional.cross_entropy(output.flatten(0, -2), y.flatten()) / 4
    return Schedule1F1B(stage, 4, loss_fn=loss, scale_grads=False)


def pipeline_step(truth, schedule, optimizer, batches):
    truth.begin_step()
    optimizer.zero_grad()
    x, y = (t.cuda(non_blocking=True) for t in next(batches))
    losses = []
    schedule.step(*([x] if dist.get_rank() == 0 else []), target=y, losses=losses)
    optimizer.step()
    return losses[-1] if losses else torch.zeros(())


def train_step(options, truth, model, optimizer, average, batches, graphed):
    truth.begin_step()
    graphed or optimizer.zero_grad(set_to_none=not options.keep_gradients)
    if graphed:
        return graphed.step(*next(batches))
    for i in range(options.accumulate):
        x, y = (t.cuda(non_blocking=True) for t in next(batches))
        last = i == options.accumulate - 1
        wait = model.no_sync() if options.strategy == "ddp" and not last else contextlib.nullcontext()
        with wait:
            loss = loss_of(options, truth, model, x, y) / options.accumulate
            truth.begin_backward(loss)
            loss.backward()
            truth.end_backward()
    if options.clip or options.strategy == "zero":  # which puts gradients together first
        truth.begin_update()
    if options.clip:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if average:
        truth.begin_update()
        average.update_parameters(model)
        truth.end_backward()
    return loss


class Graphed:
    """A step whose forward and backward pass and update are one CUDA graph, captured after some that are not."""

    def __init__(self, options, truth, model, optimizer):
        self.options, self.truth, self.model, self.optimizer = options, truth, model, optimizer
        self.graph, self.steps_left, self.stream = torch.cuda.CUDAGraph(), 3, torch.cuda.Stream()

    def passes(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = loss_of(self.options, self.truth, self.model, self.x, self.y)
        self.truth.begin_backward(loss)
        loss.backward()
        self.truth.end_backward()
        self.optimizer.step()
        return loss

    def step(self, x, y):
        if self.steps_left == 3:
            self.x, self.y = x.cuda(), y.cuda()
        else:
            self.x.copy_(x, non_blocking=True)
            self.y.copy_(y, non_blocking=True)
        if self.steps_left > 0:
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                loss = self.passes()
            torch.cuda.current_stream().wait_stream(self.stream)
            self.steps_left -= 1
            return loss
        if self.steps_left == 0:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.cuda.graph(self.graph):
                self.loss = self.passes()
            self.steps_left -= 1
        self.graph.replay()
        return self.loss


class Shell(nn.Module):
    """What is graphed has no hooks itself; what is in it may."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)


def halve(batches):
    for i, (x, y) in enumerate(batches):
        yield (x, y) if i % 2 else (x[:, : x.shape[1] // 2], y[:, : y.shape[1] // 2])


def evaluate(options, model, samples, batch, batches):
    model.eval()
    with torch.no_grad():
        for first in range(2):
            rows = [samples[i] for i in range(first * batch, (first + 1) * batch)]
            fixed = next(batches) if options.fixed else (torch.stack(r).cuda() for r in zip(*rows))
            loss = loss_of(options, NoTruth(), model, *fixed).item()
    model.train()
    return loss


def main():
    options = parse()
    torch.manual_seed(1)
    if options.segments:
        torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    if options.strategy:
        dist.init_process_group("nccl")
    with torch.device("cuda") if options.on_device else contextlib.nullcontext():
        model, sample, batch, make_optimizer = make(options.model, options.strategy != "tensor" and not options.each, options.graph == "step")
        batch = options.batch or batch
    if options.tie:
        model.head.weight = model.words.weight
    model = model.cuda()
    model.checkpoint = options.checkpoint
    if options.strategy == "pipeline":
        model = Stage(model, dist.get_rank(), dist.get_world_size())
        schedule = make_schedule(model)
    plain = model
    if options.strategy in ("ddp", "fsdp", "tensor"):
        model = distribute(options, model)
    if options.compile:
        model = torch.compile(model, backend=options.compile, mode=options.mode)
    if options.freeze:
        frozen = (plain.words, plain.places, *plain.blocks[: options.freeze]) if options.model == "gpt" else [*plain.children()][:-1]
        for part in frozen:
            part.requires_grad_(False)
    if options.strategy == "zero":
        optimizer = Zero(model, make_optimizer)
    elif options.turns or options.model == "gan":
        optimizer, turns_step = turns.make(options.turns or "gan", model, make_optimizer)
    else:
        optimizer = make_optimizer(p for p in model.parameters() if p.requires_grad)
    average = None
    if options.update_at_once:
        optimizer = AtOnce(model, make_optimizer)
    if options.by_hand:
        optimizer = ByHand(model)
    if options.average:
        average = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.999))
    truth = NoTruth()
    if options.truth:
        from truth import Truth

        truth = Truth(plain, getattr(optimizer, "inner", optimizer), "model.module" if options.strategy == "ddp" else "model",
                      hooks=not options.compile)
        if options.compile == "inductor":
            import truth_compiled

            truth_compiled.say_by_kernel(truth)
    graphed = Graphed(options, truth, model, optimizer) if options.graph == "step" else None
    if options.graph == "model":
        example = torch.stack([sample(i)[0] for i in range(batch)]).cuda()
        shell = Shell(model)
        model = torch.cuda.make_graphed_callables(shell, (example,))
    samples = Samples(sample, options.steps * options.accumulate * batch)
    batches = iter(torch.utils.data.DataLoader(samples, batch_size=batch, num_workers=options.workers, pin_memory=True))
    batches = halve(batches) if options.halve else batches
    batches = itertools.repeat([t.cuda() for t in next(batches)]) if options.fixed else batches
    profiler = contextlib.nullcontext()
    if options.profile:
        profiler = torch.profiler.profile(activities=list(torch.profiler.supported_activities()), record_shapes=True)
    torch.cuda.synchronize()
    with profiler:
        begin = time.perf_counter()
        for step in range(1, options.steps + 1):
            if options.strategy == "pipeline":
                loss = pipeline_step(truth, schedule, optimizer, batches)
            elif options.turns or options.model == "gan":
                loss = turns_step(truth, model, optimizer, batches)
            else:
                loss = train_step(options, truth, model, optimizer, average, batches, graphed)
            if options.evaluate and step % options.evaluate == 0:
                evaluate(options, model, samples, batch, batches)
        torch.cuda.synchronize()
        took = time.perf_counter() - begin
    if options.profile:
        profiler.export_chrome_trace(options.profile)
    print("step_ms %.3f" % (took * 1000 / options.steps), file=sys.stderr)
    print("loss %.6f" % loss.item())
    if options.strategy:
        dist.destroy_process_group()
    if options.truth:
        # autograd's threads may still be releasing the hooks, which CPython does not survive when it finalizes (before 3.14)
        sys.stdout.flush()
        ctypes.PyDLL(None).exit(0)


if __name__ == "__main__":
    main()
