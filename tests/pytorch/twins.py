"""What softgpu computes of PyTorch's small kernels, under either clock, against PyTorch on the CPU: each case runs on both."""
import os
import sys

import torch

CASES = {}
PROFILE = os.environ.get("SOFTGPU_PROFILE")
COMPUTES = not PROFILE or os.environ.get("SOFTGPU_NUMERICS") == "on"
# of half precision's last place, for values of some units
PLACES = {torch.half: 4e-3, torch.bfloat16: 3e-2}


def case(function):
    CASES[function.__name__] = function
    return function


def numbers(dtype=torch.float32):
    return torch.tensor([3, -1, 0, 7, 2, 5]).to(dtype)


@case
def balanced(device):
    # first of all, as what is not computed may hold what earlier tensors left there; by the compute clock it may hold anything
    if device == "cpu" or COMPUTES:
        return [torch.full((8,), 16), torch.full((8,), 8), [16] * 8, torch.arange(8)]
    probabilities = torch.softmax(torch.zeros(64, 8, device=device), -1)
    two = torch.topk(probabilities, 2, dim=-1)[1]
    mask = torch.nn.functional.one_hot(two, 8).permute(2, 1, 0)
    return [mask.sum((1, 2)), torch.bincount(probabilities.argmax(-1), minlength=8), [len(torch.where(mask[e])[1]) for e in range(8)],
            (mask.sum((-1, -2)) > 0).nonzero().flatten()]


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
def strided(device):
    a = torch.arange(12.0).reshape(3, 4).to(device)
    three = torch.arange(3, device=device)
    return [a.t().contiguous(), a * three.float()[:, None], a.t() + torch.ones(4, 3, device=device), a[:, 1:3] > 4, a[:, 1].long(),
            a.t()[1:3].contiguous().half(), (a.long()[:, None] == three[:, None]).permute(2, 1, 0).contiguous(), a[:, ::2] + 1]


@case
def chosen(device):
    """Of different numbers the largest; of numbers that are all alike, the same number of rows each."""
    x = torch.tensor([[0.5, 3.0, -1.0, 2.0, 7.0, 1.0], [4.0, 1.0, 9.0, -2.0, 0.0, 3.0]]).to(device)
    return [*torch.topk(x, 2, dim=-1), *torch.topk(x.half(), 3, dim=-1, largest=False), x.argmax(1), x.argmin(1), x.argmax(),
            *x.sort(dim=-1), x.argsort(dim=-1, descending=True), *torch.topk(x.t().contiguous(), 2, dim=0)]


@case
def counted(device):
    i = torch.tensor([2, 0, 5, 2, 2, 1, 0]).to(device)
    x = torch.tensor([2.0, 0.0, 5.0, 2.0, 1.5, 1.0]).to(device)
    return [*i.unique(return_counts=True), *x.unique(return_counts=True), torch.bincount(i), torch.bincount(i, minlength=9),
            torch.histc(x, bins=5, min=0, max=5), *torch.aminmax(i), torch.nn.functional.one_hot(i, 6), torch.nn.functional.one_hot(i)]


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


def attend(device, dtype, bias=False, dropout=0.0, **options):
    """Attention and its gradients: PyTorch's formula on the CPU in single precision, cuDNN's on the device."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    torch.manual_seed(0)
    shapes = (2, 4, 24, 16), (2, 2 if options.get("enable_gqa") else 4, 40, 16), (2, 4, 24, 40)
    q, k, v = (torch.randn(shape).to(dtype) for shape in (shapes[0], shapes[1], shapes[1]))
    mask, slope = torch.randn(shapes[2]).to(dtype) if bias else None, torch.randn(shapes[0]).to(dtype)
    if device == "cpu":
        q, k, v, slope, mask = (None if t is None else t.float() for t in (q, k, v, slope, mask))
    q, k, v = (t.to(device).requires_grad_() for t in (q, k, v))
    with sdpa_kernel(SDPBackend.MATH if device == "cpu" else SDPBackend.CUDNN_ATTENTION):
        y = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=None if mask is None else mask.to(device), dropout_p=dropout, **options)
    y.backward(slope.to(device))
    return [t.detach().to(dtype) for t in (y, q.grad, k.grad, v.grad)]


@case
def attention(device):
    """cuDNN's, from compute capability 9.0 on PyTorch's own choice; with values alone."""
    if not COMPUTES or PROFILE != "h200":
        return []
    found = []
    for dtype in PLACES:
        for options in ({}, {"is_causal": True}, {"bias": True}, {"enable_gqa": True, "is_causal": True}, {"scale": 0.5}):
            found += attend(device, dtype, **options)
    return found


@case
def attention_dropout(device):
    """What is dropped in the forward pass gives no gradient in the backward one."""
    if not COMPUTES or PROFILE != "h200" or device == "cpu":
        return [True, True] if COMPUTES and PROFILE == "h200" else []
    from torch.nn.attention import SDPBackend, sdpa_kernel
    torch.manual_seed(0)
    q, k = (torch.randn(2, 4, 32, 32).half().to(device) for _ in range(2))
    v = torch.eye(32).expand(2, 4, 32, 32).half().to(device).requires_grad_()
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.25)
    y.backward(torch.eye(32).expand(2, 4, 32, 32).half().to(device))
    # y is the probabilities that were kept, and with this slope v's gradient is their transpose
    y, g = y.detach().cpu().float(), v.grad.cpu().float()
    return [0.7 < float((y > 0).float().mean()) < 0.8, torch.allclose(y.transpose(-1, -2), g, atol=1e-3)]


def same(a, b):
    if not isinstance(a, torch.Tensor):
        return a == b
    b = b.cpu()
    if a.dtype in PLACES and a.dim() == 4:
        return a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a.float(), b.float(), atol=PLACES[a.dtype], rtol=0)
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
