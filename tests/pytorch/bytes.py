"""What softgpu's model clock takes for the bytes of PyTorch's own kernels, and for the operations of flash attention, against what these
read, write and compute by their definition.

    bytes.py            runs them, under softgpu with SOFTGPU_TRUTH
    bytes.py TRUTH      compares: its lines have the bytes and operations of each kernel
"""
import csv
import ctypes
import sys

ROWS, WIDTH = 512, 768
BATCH, HEADS, LENGTH, HEAD = 2, 6, 384, 64


def softmax(torch, width):
    x = torch.randn(ROWS, width, device="cuda", requires_grad=True)
    torch.nn.functional.softmax(x, dim=1).backward(torch.ones_like(x))


def layer_norm(torch, **kind):
    x = torch.randn(ROWS, WIDTH, device="cuda", requires_grad=True, **kind)
    weight, bias = (torch.ones(WIDTH, device="cuda", requires_grad=True, **kind) for _ in range(2))
    torch.nn.functional.layer_norm(x, (WIDTH,), weight, bias).backward(torch.ones_like(x))


def attention(torch, causal):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (torch.randn(BATCH, HEADS, LENGTH, HEAD, device="cuda", dtype=torch.half, requires_grad=True) for _ in range(3))
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    o.backward(torch.ones_like(o))


def run():
    import torch

    softmax(torch, 128)
    softmax(torch, 4096)
    layer_norm(torch)
    layer_norm(torch, dtype=torch.bfloat16)
    attention(torch, True)
    attention(torch, False)
    torch.cuda.synchronize()
    # autograd's threads may not survive the end of the interpreter
    ctypes.PyDLL(None).exit(0)


def of_softmax(width, size):
    """Of random numbers (no rule says how many bytes), the result, ones, its product with the gradient, the gradient."""
    each = ROWS * width * size
    return [None, 2 * each, each, 3 * each, 3 * each]


def of_layer_norm(size):
    """As above; ones for weights and bias come first, and their gradients, which are one kernel's, last."""
    each = ROWS * WIDTH * size
    return [None, WIDTH * size, WIDTH * size, 2 * each, each, 3 * each, 2 * each]


def of_attention():
    """Of products: two forward and five backward, each of which multiplies HEAD numbers for each pair of positions; half of them if causal."""
    product = 2 * BATCH * HEADS * LENGTH * LENGTH * HEAD
    return [product, 5 * product / 2, 2 * product, 5 * product]


def compare(path):
    with open(path) as file:
        kernels = [line for line in csv.DictReader(file) if line["kind"] == "kernel"]
    wanted = of_softmax(128, 4) + of_softmax(4096, 4) + of_layer_norm(4) + of_layer_norm(2)
    found = [float(line["bytes"]) for line in kernels[: len(wanted)]]
    if len(found) != len(wanted) or any(w is not None and w != f for f, w in zip(found, wanted)):
        raise SystemExit("bytes of kernels:\n%s\nexpected:\n%s" % (found, wanted))
    products = [float(line["flops"]) for line in kernels if float(line["flops"]) > 0]
    if products != of_attention():
        raise SystemExit("operations of attention:\n%s\nexpected:\n%s" % (products, of_attention()))
    print("%d kernels" % (len(wanted) + len(products)))


compare(sys.argv[1]) if sys.argv[1:] else run()
