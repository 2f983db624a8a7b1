"""Measures single operations on a GPU that is otherwise idle, in about a minute: products, convolutions (forward, both halves of backward), norms,
pooling, element-wise work, optimizers, attention, losses, embeddings, copies, launches.

    operations.py [--out FILE] [--seconds N] [--seed N]

Writes CSV: kind, shape, dtype, layout, flop, bytes, median_us, min_us. flop and bytes are what the mathematics asks for, 0: not stated. Times
are those of CUDA events around repetitions on the same operands: below some 40 us what is measured is the host that launches. What is left of
the seconds goes to products and convolutions of random sizes. testapps/softgpu/profiles/fit makes a profile for softgpu of such a file.
"""
import argparse
import csv
import random
import statistics
import sys
import time

import torch
from torch.nn import functional

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
BLOCKS, BLOCK_MS, MOST_REPETITIONS = 5, 8, 40

PRODUCTS = [
    (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192),
    (8192, 768, 768), (8192, 2304, 768), (8192, 3072, 768), (8192, 768, 3072), (8192, 50257, 768),
    (64, 1000, 512), (64, 1000, 2048), (4096, 128, 784), (256, 10, 128), (16, 4096, 4096), (1, 4096, 4096),
]  # fmt: skip
# channels, height, filters, size of the filter, stride: those of ResNet-50, and of depthwise layers channels and height
CONVOLUTIONS = [
    (3, 224, 64, 7, 2), (64, 56, 64, 1, 1), (64, 56, 64, 3, 1), (64, 56, 256, 1, 1), (256, 56, 64, 1, 1), (256, 56, 128, 1, 1),
    (128, 56, 128, 3, 2), (128, 28, 512, 1, 1), (256, 56, 512, 1, 2), (512, 28, 128, 1, 1), (128, 28, 128, 3, 1), (512, 28, 256, 1, 1),
    (256, 28, 256, 3, 2), (256, 14, 1024, 1, 1), (1024, 14, 256, 1, 1), (256, 14, 256, 3, 1), (1024, 14, 512, 1, 1), (512, 14, 512, 3, 2),
    (512, 7, 2048, 1, 1), (2048, 7, 512, 1, 1), (512, 7, 512, 3, 1),
]  # fmt: skip
DEPTHWISE = [(32, 112), (96, 56), (144, 56), (192, 28), (384, 14), (960, 7)]


class Table:
    def __init__(self, file):
        self.out, self.count, self.failed = csv.writer(file), 0, 0
        self.out.writerow("kind shape dtype layout flop bytes median_us min_us".split())

    def write(self, kind, shape, dtype, layout, flop, size, median_us, least_us):
        self.out.writerow([kind, shape, dtype, layout, flop, size, "%.3f" % median_us, "%.3f" % least_us])
        self.count += 1

    def row(self, kind, shape, dtype, layout, flop, size, operation):
        try:
            times = timed(operation)
        except RuntimeError as e:  # of memory, or an operation that this PyTorch does not have: the others can still be measured
            print("%s %s %s: %s" % (kind, shape, dtype, str(e).split("\n")[0][:100]), file=sys.stderr)
            self.failed += 1
            torch.cuda.empty_cache()
            return
        self.write(kind, shape, dtype, layout, flop, size, *times)


def timed(operation):
    """Median and least us of BLOCKS blocks of repetitions."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def block(repetitions):
        begin.record()
        for _ in range(repetitions):
            operation()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / repetitions

    operation()
    torch.cuda.synchronize()
    repetitions = max(3, min(MOST_REPETITIONS, int(BLOCK_MS / max(block(1), 1e-3))))
    times = [1000 * block(repetitions) for _ in range(BLOCKS)]
    return statistics.median(times), min(times)


def random_like(*size, dtype="fp32", **more):
    return torch.randn(*size, device="cuda", dtype=TYPES[dtype], **more)


def gradients(of, inputs, given=None):
    return lambda: torch.autograd.grad(of, inputs, given, retain_graph=True)


def product(table, m, n, k, dtype, tf32=False, batch=1):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    a, b, o = (random_like(batch, *size, dtype=dtype) for size in ((m, k), (k, n), (m, n)))
    size = a.element_size() * batch * (m * k + k * n + m * n)
    operation = (lambda: torch.bmm(a, b, out=o)) if batch > 1 else (lambda: torch.mm(a[0], b[0], out=o[0]))
    table.row("product", "%dx%dx%dx%d" % (batch, m, n, k), "tf32" if tf32 else dtype, "", 2 * batch * m * n * k, size, operation)
    torch.backends.cuda.matmul.allow_tf32 = False


def convolution(table, n, c, h, k, r, stride, groups, dtype, last, tf32=True):
    torch.backends.cudnn.allow_tf32 = tf32
    order = torch.channels_last if last else torch.contiguous_format
    x = random_like(n, c, h, h, dtype=dtype).to(memory_format=order)
    w = random_like(k, c // groups, r, r, dtype=dtype).to(memory_format=order)
    pad = r // 2
    forward = lambda: functional.conv2d(x, w, None, stride, pad, 1, groups)
    y = forward()
    g = torch.randn_like(y)
    flop = 2 * y.numel() * (c // groups) * r * r
    size = x.element_size() * (x.numel() + w.numel() + y.numel())
    shape = "n%d_c%d_h%d_k%d_r%d_s%d_g%d" % (n, c, h, k, r, stride, groups)
    name = dtype if dtype != "fp32" or not tf32 else "tf32"

    def backward(*wanted):
        return lambda: torch.ops.aten.convolution_backward(g, x, w, None, [stride] * 2, [pad] * 2, [1] * 2, False, [0] * 2, groups, [*wanted, False])

    for kind, operation in (("forward", forward), ("backward_data", backward(True, False)), ("backward_filter", backward(False, True))):
        table.row("conv_" + kind, shape, name, "nhwc" if last else "nchw", flop, size, operation)


def elements(table):
    for n in (1 << p for p in (10, 14, 17, 20, 22, 24, 26, 28)):
        x = random_like(n)
        y = torch.empty_like(x)
        for kind, flop, size, operation in (
            ("relu", n, 8, lambda: torch.relu(x)),
            ("add", n, 12, lambda: torch.add(x, y, out=y)),
            ("copy_dd", 0, 8, lambda: y.copy_(x)),
            ("fill", 0, 4, lambda: y.zero_()),
            ("sum", n, 4, lambda: x.sum()),
            ("gelu", n, 8, lambda: functional.gelu(x)),
        ):
            table.row(kind, n, "fp32", "", flop, size * n, operation)
        if n > 1 << 26:
            continue
        pinned, pageable = torch.empty(n, pin_memory=True), torch.empty(n)
        for kind, operation in (
            ("copy_hd_pinned", lambda: x.copy_(pinned, non_blocking=True)),
            ("copy_dh_pinned", lambda: pinned.copy_(x, non_blocking=True)),
            ("copy_hd_pageable", lambda: x.copy_(pageable)),
            ("copy_dh_pageable", lambda: pageable.copy_(x)),
        ):
            table.row(kind, n, "fp32", "", 0, 4 * n, operation)


def images(table):
    for n, c, h in ((64, 64, 112), (64, 256, 56), (64, 512, 28), (64, 2048, 7), (16, 64, 56), (256, 512, 14)):
        for last in (False, True):
            x = random_like(n, c, h, h).to(memory_format=torch.channels_last if last else torch.contiguous_format).requires_grad_()
            norm, g, z = torch.nn.BatchNorm2d(c).cuda(), torch.randn_like(x), x.detach()
            y = norm(x)
            shape, layout, size = "n%d_c%d_h%d" % (n, c, h), "nhwc" if last else "nchw", 4 * x.numel()
            table.row("batch_norm_forward", shape, "fp32", layout, 0, 3 * size, lambda: norm(x))
            table.row("batch_norm_backward", shape, "fp32", layout, 0, 5 * size, gradients(y, (x, norm.weight, norm.bias), g))
            table.row("max_pool", shape, "fp32", layout, 0, size + size // 4, lambda: functional.max_pool2d(z, 3, 2, 1))


def sequences(table):
    for b, l, c in ((8, 1024, 768), (8, 2048, 1024), (4, 1024, 4096), (64, 128, 768), (8, 256, 256)):
        for dtype in ("fp32", "bf16"):
            x = random_like(b, l, c, dtype=dtype, requires_grad=True)
            norm, g, z = torch.nn.LayerNorm(c).to("cuda", TYPES[dtype]), torch.randn_like(x), x.detach()
            y = norm(x)
            shape, size = "b%d_l%d_c%d" % (b, l, c), x.numel() * x.element_size()
            table.row("layer_norm_forward", shape, dtype, "", 0, 2 * size, lambda: norm(x))
            table.row("layer_norm_backward", shape, dtype, "", 0, 4 * size, gradients(y, (x, norm.weight, norm.bias), g))
            table.row("softmax", shape, dtype, "", 0, 2 * size, lambda: torch.softmax(z, -1))
        heads = c // 64
        q, k, v = (random_like(b, heads, l, 64, dtype="bf16", requires_grad=True) for _ in range(3))
        attend = lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        o = attend()
        shape, flop, size = "b%d_h%d_l%d_d64" % (b, heads, l), 4 * b * heads * l * l * 64 // 2, 2 * q.numel()
        table.row("flash_forward_causal", shape, "bf16", "", flop, 4 * size, attend)
        table.row("flash_backward_causal", shape, "bf16", "", flop * 5 // 2, 8 * size, gradients(o, (q, k, v), torch.randn_like(o)))


def optimizers(table):
    for count in (1_000_000, 25_000_000, 124_000_000):
        parameters = [random_like(count // 100, requires_grad=True) for _ in range(100)]
        for p in parameters:
            p.grad = torch.randn_like(p)
        for kind, optimizer in (
            ("sgd_momentum_foreach", torch.optim.SGD(parameters, 1e-3, momentum=0.9, foreach=True)),
            ("adamw_foreach", torch.optim.AdamW(parameters, 1e-3, foreach=True)),
            ("adamw_fused", torch.optim.AdamW(parameters, 1e-3, fused=True)),
        ):
            table.row(kind, count, "fp32", "100 tensors", 0, 0, optimizer.step)


def words(table):
    embedding = torch.nn.Embedding(50257, 768).cuda()
    index = torch.randint(50257, (8, 1024), device="cuda")
    y = embedding(index)
    table.row("embedding_forward", "v50257_c768_n8192", "fp32", "", 0, 8 * 8192 * 768, lambda: embedding(index))
    table.row("embedding_backward", "v50257_c768_n8192", "fp32", "", 0, 0, gradients(y, embedding.weight, torch.randn_like(y)))
    x, target = random_like(8192, 50257, requires_grad=True), torch.randint(50257, (8192,), device="cuda")
    loss = functional.cross_entropy(x, target)
    table.row("cross_entropy_forward", "n8192_v50257", "fp32", "", 0, 0, lambda: functional.cross_entropy(x, target))
    table.row("cross_entropy_backward", "n8192_v50257", "fp32", "", 0, 0, gradients(loss, x))


def launches(table, count=20000):
    """Host time of a launch, and of the host and the device together."""
    x = torch.zeros(1, device="cuda")
    begin = time.perf_counter()
    for _ in range(count):
        x.add_(1)
    launched = time.perf_counter()
    torch.cuda.synchronize()
    ended = time.perf_counter()
    table.write("launch_host", "add_ 1", "", "", 0, 0, (launched - begin) * 1e6 / count, (ended - begin) * 1e6 / count)


def known_products(table):
    for m, n, k in PRODUCTS:
        for dtype, tf32 in (("fp32", False), ("fp32", True), ("bf16", False), ("fp16", False)):
            product(table, m, n, k, dtype, tf32)


def known_convolutions(table):
    for n in (16, 64, 256):
        for c, h, k, r, stride in CONVOLUTIONS:
            convolution(table, n, c, h, k, r, stride, 1, "fp32", False)
            if n == 64:
                convolution(table, n, c, h, k, r, stride, 1, "bf16", True)
                convolution(table, n, c, h, k, r, stride, 1, "fp32", False, tf32=False)
    for c, h in DEPTHWISE:
        convolution(table, 64, c, h, c, 3, 1, c, "fp32", False)
        convolution(table, 64, c, h, c, 3, 1, c, "bf16", True)


def some_product_or_convolution(table):
    def size(least, most):
        return int(2 ** random.uniform(least, most))

    if random.random() < 0.5:
        m, n, k = (size(3, 13) for _ in range(3))
        batch = 1 if random.random() < 0.8 else size(1, 6)
        if batch * (m * k + k * n + m * n) < 5e8:
            product(table, m, n, k, random.choice(list(TYPES)), False, batch)
        return
    n, c, k, h, r = size(0, 7), size(1, 10), size(1, 10), size(2.5, 8), random.choice((1, 3, 3, 5, 7))
    if n * h * h * (c + k) < 3e8 and n * h * h * c * k * r * r < 3e12:
        convolution(table, n, c, h, k, r, random.choice((1, 1, 2)), 1, random.choice(("fp32", "fp32", "bf16")), random.random() < 0.4)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", metavar="FILE", default="kernels.csv", help="(%(default)s)")
    p.add_argument("--seconds", type=float, default=60, metavar="N", help="when no other operation begins (%(default)s)")
    p.add_argument("--seed", type=int, default=7, metavar="N", help="of random sizes (%(default)s)")
    options = p.parse_args()
    if not torch.cuda.is_available():
        print("no GPU for PyTorch %s" % torch.__version__, file=sys.stderr)
        sys.exit(77)
    torch.manual_seed(0)
    random.seed(options.seed)
    begin = time.monotonic()
    with open(options.out, "w", newline="") as file:
        table = Table(file)

        def progress(what):
            print("%5.1f s  %4d rows  %s" % (time.monotonic() - begin, table.count, what), file=sys.stderr, flush=True)
            file.flush()
            torch.cuda.empty_cache()

        for part in (elements, images, sequences, optimizers, words, launches, known_products, known_convolutions):
            if time.monotonic() - begin > options.seconds:
                print("time is up before %s: they are missing" % part.__name__.replace("_", " "), file=sys.stderr)
                break
            part(table)
            progress(part.__name__.replace("_", " "))
        while time.monotonic() - begin < options.seconds:
            some_product_or_convolution(table)
        progress("random sizes")
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
