"""What softgpu's model clock makes of kernels that move the same bytes in other ways: those of few blocks, short rows or shared sums take longer.

    paces.py            runs them, under softgpu with SOFTGPU_TRUTH
    paces.py TRUTH      compares the times
"""
import csv
import ctypes
import sys

# What is in the kernel's name, and how many times as long its second launch takes as its first, at least and at most.
WANTED = [
    ("vectorized_elementwise_kernel", 1.9, 2.3),  # twice the bytes, beyond the L2
    ("vectorized_layer_norm_kernel", 1.5, 4),  # rows of 96 numbers, and of 768: more blocks for the same bytes
    ("reduce_kernel", 1.5, 3),  # a sum to one number, and of columns
    ("multi_tensor_apply_kernel", 0.9, 1.1),  # one tensor of a chunk, and ten, which as many blocks do at once
    ("nll_loss_forward_reduce", 3, 100),  # one block for all rows
]


def run():
    import torch

    x = torch.empty(1 << 26, device="cuda")
    torch.cuda.synchronize()
    for half in 2, 1:
        x[: x.numel() // half].relu_()
    for width in 768, 96:
        torch.nn.functional.layer_norm(x[: 768 * 8192].view(-1, width), (width,))
    x.sum()
    x.view(8192, 8192).sum(0)
    for count in 1, 10:
        torch._foreach_mul_([x[i << 16 : (i + 1) << 16] for i in range(count)], 2.0)
    for rows in 64, 16384:
        scores = x[: rows * 8].view(rows, 8)
        torch.nn.functional.nll_loss(scores, torch.zeros(rows, dtype=torch.long, device="cuda"))
    torch.cuda.synchronize()
    # autograd's threads may not survive the end of the interpreter
    ctypes.PyDLL(None).exit(0)


def compare(path):
    with open(path) as file:
        kernels = [line for line in csv.DictReader(file) if line["kind"] == "kernel" and line["kernel"]]
    bad = 0
    for name, least, most in WANTED:
        times = [int(line["end_ns"]) - int(line["begin_ns"]) for line in kernels if name in line["kernel"]][:2]
        ratio = times[1] / times[0] if len(times) == 2 else float("nan")
        if not least <= ratio <= most:
            bad += 1
            print("%s: %s ns, the second %.2f times the first, expected %g to %g" % (name, times, ratio, least, most))
    if bad:
        raise SystemExit(1)
    print("%d families" % len(WANTED))


compare(sys.argv[1]) if sys.argv[1:] else run()
