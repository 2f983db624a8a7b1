"""What the two PyTorch programs share: options, the loop, the clock, and torch.profiler's table.

Ordinary PyTorch, of any 2.x: nothing here knows of a profiler other than PyTorch's own. A program gives a model, a batch and a
loss; the loop trains it for --steps steps on synthetic data and prints the loss now and then. Its own time per step goes to
standard error, so that standard output is the same from run to run.
"""
import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time

import torch

from kernel_table import kernel_table


def parse(description, **defaults):
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--batch", type=int, default=defaults.pop("batch"))
    p.add_argument("--every", type=int, default=10, help="print the loss every so many steps")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    p.add_argument("--amp", action="store_true", help="forward in bfloat16 by torch.autocast")
    p.add_argument("--graphs", action="store_true", help="the whole step as one CUDA graph")
    p.add_argument("--channels-last", action="store_true", help="images in NHWC order (networks of convolutions)")
    p.add_argument("--compile", action="store_true", help="torch.compile the model")
    p.add_argument("--workers", type=int, default=0, help="processes that load data")
    p.add_argument("--deterministic", action="store_true", help="only algorithms that repeat themselves bit by bit")
    p.add_argument("--profile", metavar="FILE", help="run torch.profiler over the second half; write its table as JSON")
    for name, value in defaults.items():
        p.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    options = p.parse_args()
    if options.steps < 2 * options.every:
        p.error("--steps must be at least twice --every")
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no GPU for PyTorch %s" % torch.__version__, file=sys.stderr)
        sys.exit(77)
    if options.graphs and options.device == "cpu":
        p.error("--graphs needs a GPU")
    torch.manual_seed(options.seed)
    if options.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
    return options


class Synthetic(torch.utils.data.Dataset):
    """Samples that make_sample gives by number; some hundred of them, again and again."""

    def __init__(self, make_sample, count, distinct=256):
        self.samples = [make_sample(torch.Generator().manual_seed(i)) for i in range(min(count, distinct))]
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.samples[i % len(self.samples)]


def batches(options, make_sample):
    """Batches on the device, one for each step."""
    data = Synthetic(make_sample, options.steps * options.batch)
    cuda = options.device == "cuda"
    if options.workers:
        source = torch.utils.data.DataLoader(
            data, batch_size=options.batch, num_workers=options.workers, pin_memory=cuda, drop_last=True
        )
    else:
        made = []
        for first in range(0, 4 * options.batch, options.batch):
            rows = [data[i] for i in range(first, first + options.batch)]
            x, y = torch.stack([r[0] for r in rows]), torch.stack([r[1] for r in rows])
            made.append((x.pin_memory(), y.pin_memory()) if cuda else (x, y))
        source = (made[step % len(made)] for step in range(options.steps))
    for x, y in source:
        x, y = x.to(options.device, non_blocking=True), y.to(options.device, non_blocking=True)
        if options.channels_last:
            x = x.to(memory_format=torch.channels_last)
        yield x, y


class Step:
    """One training step; `mark` names its phases for torch.profiler."""

    def __init__(self, options, model, loss_of, optimizer):
        self.options, self.model, self.loss_of, self.optimizer = options, model, loss_of, optimizer
        self.mark = lambda name: contextlib.nullcontext()

    def __call__(self, x, y):
        with self.mark("forward"):
            with torch.autocast(self.options.device, dtype=torch.bfloat16, enabled=self.options.amp):
                loss = self.loss_of(self.model(x), y)
        with self.mark("backward"):
            self.optimizer.zero_grad(set_to_none=not self.options.graphs)
            loss.backward()
        with self.mark("optimizer"):
            self.optimizer.step()
        return loss


class Graphed:
    """The same as one CUDA graph, captured at the first call."""

    def __init__(self, step):
        self.step, self.graph = step, None

    def __call__(self, x, y):
        if self.graph is None:
            self.capture(x, y)
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        return self.loss

    def capture(self, x, y):
        self.x, self.y = x.clone(), y.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step(self.x, self.y)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step(self.x, self.y)


def synchronize(options):
    if options.device == "cuda":
        torch.cuda.synchronize()


class Profile:
    """torch.profiler from the middle of the run to its end."""

    def __init__(self, options, step):
        activities = [torch.profiler.ProfilerActivity.CPU]
        if options.device == "cuda":
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        self.options, self.profiler = options, torch.profiler.profile(activities=activities)
        step.mark = torch.profiler.record_function

    def begin(self):
        synchronize(self.options)
        self.profiler.__enter__()

    def end(self, program, steps, block_ms):
        synchronize(self.options)
        self.profiler.__exit__(None, None, None)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            self.profiler.export_chrome_trace(path)
            with open(path) as file:
                table = kernel_table(json.load(file))
        table.update(program=program, steps=steps, step_ms=block_ms, torch=torch.__version__, cuda=torch.version.cuda)
        with open(self.options.profile, "w") as file:
            json.dump(table, file, indent=1)


def train(program, options, model, loss_of, optimizer, make_sample):
    if options.compile:
        model = torch.compile(model)
    plain = Step(options, model, loss_of, optimizer)
    step = Graphed(plain) if options.graphs else plain
    half = options.steps // 2 // options.every * options.every
    profile = Profile(options, plain) if options.profile else None
    blocks_ms, begin = [], time.perf_counter()
    for i, (x, y) in enumerate(batches(options, make_sample)):
        if profile and i == half:
            profile.begin()
            begin = time.perf_counter()
        loss = step(x, y)
        if (i + 1) % options.every == 0:
            print("step %d loss %.6f" % (i + 1, loss.item()), flush=True)
            now = time.perf_counter()
            if i >= half:
                blocks_ms.append((now - begin) * 1000 / options.every)
            begin = time.perf_counter()
    synchronize(options)
    step_ms = statistics.median(blocks_ms)
    if profile:
        profile.end(program, options.steps - half, step_ms)
    print("step_ms %.4f" % step_ms, file=sys.stderr)
