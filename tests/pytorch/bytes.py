"""What softgpu's model clock takes for the bytes of PyTorch's own kernels, against what these operations read and write by their definition.

    bytes.py            runs them, under softgpu with SOFTGPU_TRUTH
    bytes.py TRUTH      compares: its lines have the bytes of each kernel
"""
import csv
import sys

ROWS, WIDTH = 512, 768


def softmax(torch, width):
    x = torch.randn(ROWS, width, device="cuda", requires_grad=True)
    torch.nn.functional.softmax(x, dim=1).backward(torch.ones_like(x))


def layer_norm(torch, **kind):
    x = torch.randn(ROWS, WIDTH, device="cuda", requires_grad=True, **kind)
    weight, bias = (torch.ones(WIDTH, device="cuda", requires_grad=True, **kind) for _ in range(2))
    torch.nn.functional.layer_norm(x, (WIDTH,), weight, bias).backward(torch.ones_like(x))


def run():
    import torch

    softmax(torch, 128)
    softmax(torch, 4096)
    layer_norm(torch)
    layer_norm(torch, dtype=torch.bfloat16)
    torch.cuda.synchronize()


def of_softmax(width, size):
    """Of random numbers (no rule says how many bytes), the result, ones, its product with the gradient, the gradient."""
    each = ROWS * width * size
    return [None, 2 * each, each, 3 * each, 3 * each]


def of_layer_norm(size):
    """As above; ones for weights and bias come first, and their gradients, which are one kernel's, last."""
    each = ROWS * WIDTH * size
    return [None, WIDTH * size, WIDTH * size, 2 * each, each, 3 * each, 2 * each]


def compare(path):
    with open(path) as file:
        found = [float(line["bytes"]) for line in csv.DictReader(file) if line["kind"] == "kernel"]
    wanted = of_softmax(128, 4) + of_softmax(4096, 4) + of_layer_norm(4) + of_layer_norm(2)
    if len(found) != len(wanted) or any(w is not None and w != f for f, w in zip(found, wanted)):
        raise SystemExit("bytes of kernels:\n%s\nexpected:\n%s" % (found, wanted))
    print("%d kernels" % len(wanted))


compare(sys.argv[1]) if sys.argv[1:] else run()
