"""Measures training steps of nets on a GPU, alone: time of a step, of its device work, of forward, backward and optimizer, kernels by name.

    nets.py [NET...] [--out FILE] [--traces FOLDER] [--seconds N] [--warm-up N] [--rounds N] [--steps N] [--profiled N]

A net is NAME_bBATCH_TYPE[_nhwc]: resnet50_b64_bf16_nhwc is torchvision's resnet50, 64 images, under autocast, channels last; gptsmall, gpt2 and gpt2medium
are those of tests/pytorch/train.py. Without one: those of the list below, until --seconds are over. Each gives a line of JSON; what a
step's device work is comes from torch.profiler. With --traces the profiler's trace of each net stays, with operations and their shapes.
tests/bench/softgpu_times.sh compares such a file with softgpu. Needs torch, and torchvision for other nets than the GPTs.
"""
import argparse
import gzip
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time

import torch
from torch.nn import functional

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pytorch"))
import train
from kernel_table import kernel_table

NETS = """resnet18_b64_fp32 resnet50_b64_fp32 gpt2_b8_bf16 resnet50_b64_bf16_nhwc gptsmall_b8_fp32 vgg16_b64_fp32 convnext_tiny_b64_bf16 gpt2_b4_fp32
mobilenet_v2_b64_fp32 vit_b_16_b64_bf16 densenet121_b32_fp32 efficientnet_b0_b64_fp32 gpt2medium_b4_bf16""".split()
GPTS = {
    "gptsmall": dict(words=8192, length=256, width=256, heads=4, depth=12),
    "gpt2": dict(words=50257, length=1024, width=768, heads=12, depth=12),
    "gpt2medium": dict(words=50257, length=1024, width=1024, heads=16, depth=24),
}
DEVICE = "cuda"


class Net:
    """A model, a batch and an optimizer; calling it is a step."""

    def __init__(self, name):
        found = re.fullmatch(r"(\w+?)_b(\d+)_(fp32|bf16)(_nhwc)?", name)
        if not found:
            raise ValueError("found the net '%s', expected NAME_bBATCH_fp32 or _bf16, with _nhwc or without" % name)
        kind, batch, self.amp = found[1], int(found[2]), found[3] == "bf16"
        if kind in GPTS:
            self.model = train.GPT(**GPTS[kind]).to(DEVICE)
            size = (batch, GPTS[kind]["length"])
            self.x, self.y = (torch.randint(GPTS[kind]["words"], size, device=DEVICE) for _ in range(2))
            self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4)
        else:
            import torchvision

            order = torch.channels_last if found[4] else torch.contiguous_format
            self.model = getattr(torchvision.models, kind)().to(DEVICE, memory_format=order)
            self.x = torch.randn(batch, 3, 224, 224, device=DEVICE).to(memory_format=order)
            self.y = torch.randint(1000, (batch,), device=DEVICE)
            self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)

    def __call__(self):
        mark = torch.profiler.record_function
        with mark("forward"), torch.autocast(DEVICE, torch.bfloat16, enabled=self.amp):
            loss = functional.cross_entropy(self.model(self.x).flatten(0, -2), self.y.flatten())
        with mark("backward"):
            self.optimizer.zero_grad()
            loss.backward()
        with mark("optimizer"):
            self.optimizer.step()


def step_ms(net, rounds, steps):
    blocks = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(steps):
            net()
        torch.cuda.synchronize()
        blocks.append((time.perf_counter() - begin) * 1000 / steps)
    return statistics.median(blocks) if blocks else None


def profiled(net, steps, trace):
    """The table of kernel_table for a step. trace: where the profiler's trace stays, compressed; None: nowhere."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, record_shapes=trace is not None) as profiler:
        for _ in range(steps):
            net()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path) as file:
            table = kernel_table(json.load(file))
        if trace:
            with open(path, "rb") as a, gzip.open(trace, "wb", 6) as b:
                shutil.copyfileobj(a, b)
    return table


def measure(name, options):
    torch.cuda.reset_peak_memory_stats()
    net = Net(name)
    for _ in range(options.warm_up):
        net()
    torch.cuda.synchronize()
    step = step_ms(net, options.rounds, options.steps)
    table = profiled(net, options.profiled, os.path.join(options.traces, name + ".json.gz") if options.traces else None)
    n = options.profiled
    return dict(
        name=name,
        step_ms=step,
        device_ms=table["device_ns"] / n / 1e6,
        phases_ms={k: v / n / 1e6 for k, v in table["phases_ns"].items()},
        launches=table["device_count"] / n,
        memory_gb=torch.cuda.max_memory_allocated() / 2**30,
        reserved_gb=torch.cuda.max_memory_reserved() / 2**30,
        kernels=[dict(kind=k["kind"], name=k["name"], count=k["count"] / n, us=k["ns"] / n / 1000) for k in table["kernels"]],
        torch=torch.__version__,
        device=torch.cuda.get_device_name(),
    )


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("nets", nargs="*", metavar="NET")
    p.add_argument("--out", metavar="FILE", default="nets.jsonl", help="lines of JSON (%(default)s)")
    p.add_argument("--traces", metavar="FOLDER", help="the profiler's traces too")
    p.add_argument("--seconds", type=float, default=1e9, help="begin no other net after these (no limit)")
    p.add_argument("--warm-up", type=int, default=8, metavar="N", help="steps before the measured ones (%(default)s)")
    p.add_argument("--rounds", type=int, default=3, metavar="N", help="of steps whose time is taken; 0: none (%(default)s)")
    p.add_argument("--steps", type=int, default=8, metavar="N", help="in a round (%(default)s)")
    p.add_argument("--profiled", type=int, default=4, metavar="N", help="steps under torch.profiler (%(default)s)")
    options = p.parse_args()
    if options.profiled < 1 or options.steps < 1:
        p.error("--profiled and --steps must be at least 1")
    if not torch.cuda.is_available():
        print("no GPU for PyTorch %s" % torch.__version__, file=sys.stderr)
        sys.exit(77)
    if options.traces:
        os.makedirs(options.traces, exist_ok=True)
    begin, failed = time.monotonic(), 0
    with open(options.out, "w") as out:
        for name in options.nets or NETS:
            if time.monotonic() - begin > options.seconds:
                print("time is up before %s" % name, file=sys.stderr)
                break
            try:
                row = measure(name, options)
            except Exception as e:  # the others can still be measured
                print("%s: %s: %s" % (name, type(e).__name__, str(e)[:200]), file=sys.stderr, flush=True)
                failed += 1
                continue
            print(json.dumps(row), file=out, flush=True)
            print("%-26s %s ms a step, %.3f ms of device work" % (name, "%.3f" % row["step_ms"] if row["step_ms"] else "-", row["device_ms"]), flush=True)
            torch.cuda.empty_cache()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
