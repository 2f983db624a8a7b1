"""Which of PyTorch's features run on softgpu, one function each: features.py [NAME...]. `works`: it ran, with all its parameters given a
gradient where it trains; values are checked by twins.py, and only where softgpu computes."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

FEATURES = {}
D = "cuda"


def feature(function):
    FEATURES[function.__name__] = function
    return function


def train(net, *inputs, optimizer=torch.optim.SGD, steps=2, amp=None, loss=lambda y: y.float().sum(), **options):
    net = net.to(D)
    optimizer = optimizer(net.parameters(), lr=0.01, **options)
    scaler = torch.amp.GradScaler(D, enabled=amp == torch.half)
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast(D, dtype=amp or torch.half, enabled=amp is not None):
            y = net(*inputs)
        scaler.scale(loss(y[0] if isinstance(y, tuple) else y)).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.cuda.synchronize()
    assert all(p.grad is not None for p in net.parameters())


def cnn():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10))


def images(*shape):
    return torch.rand(*(shape or (4, 3, 16, 16)), device=D)


@feature
def optimizers():
    train(cnn(), images(), momentum=0.9)
    train(cnn(), images(), optimizer=torch.optim.Adam)
    train(cnn(), images(), optimizer=torch.optim.AdamW, fused=True)
    train(cnn(), images(), optimizer=torch.optim.AdamW, foreach=True)


@feature
def amp_fp16():
    train(cnn(), images(), amp=torch.half)


@feature
def amp_bf16():
    train(cnn(), images(), amp=torch.bfloat16)


@feature
def clip_grad_norm():
    net = cnn().to(D)
    net(images()).sum().backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)


@feature
def channels_last():
    train(cnn().to(memory_format=torch.channels_last), images().to(memory_format=torch.channels_last))


@feature
def convolutions():
    train(nn.Conv1d(4, 8, 3), images(2, 4, 16))
    train(nn.Conv3d(4, 8, 3), images(2, 4, 8, 8, 8))
    train(nn.ConvTranspose2d(4, 8, 3), images(2, 4, 8, 8))
    train(nn.Conv2d(8, 8, 3, groups=2), images(2, 8, 8, 8))
    train(nn.Conv2d(8, 8, 3, groups=8), images(2, 8, 8, 8))
    train(nn.Conv2d(8, 8, 3, dilation=2), images(2, 8, 9, 9))


@feature
def layer_norm():
    train(nn.LayerNorm(32), images(4, 32))


@feature
def lstm_gru():
    train(nn.LSTM(8, 16, num_layers=2), images(5, 2, 8))
    train(nn.GRU(8, 16), images(5, 2, 8))


@feature
def lstm_bidirectional():
    train(nn.LSTM(8, 16, bidirectional=True), images(5, 2, 8))


def attend(backend, dtype):
    from torch.nn.attention import sdpa_kernel
    q = torch.rand(2, 4, 16, 32, device=D, dtype=dtype, requires_grad=True)
    with sdpa_kernel(backend):
        F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    assert q.grad is not None


@feature
def sdpa_math():
    attend(torch.nn.attention.SDPBackend.MATH, torch.float32)


@feature
def sdpa_flash():
    attend(torch.nn.attention.SDPBackend.FLASH_ATTENTION, torch.half)


@feature
def sdpa_efficient():
    attend(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION, torch.half)


@feature
def sdpa_cudnn():
    attend(torch.nn.attention.SDPBackend.CUDNN_ATTENTION, torch.half)


@feature
def fp8_products():
    """From compute capability 8.9 on."""
    a, b = (torch.rand(32, 64, device=D).to(torch.float8_e4m3fn) for _ in range(2))
    one, rows = torch.ones((), device=D), torch.ones(32, 1, device=D)
    torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)
    torch._scaled_mm(a, b.t(), rows, rows.t(), out_dtype=torch.bfloat16)


@feature
def grouped_products():
    """From compute capability 8.0 on, from 9.0 in one kernel."""
    ends = torch.tensor([16, 32, 40, 64], dtype=torch.int32, device=D)
    torch._grouped_mm(torch.rand(64, 32, device=D).bfloat16(), torch.rand(4, 32, 48, device=D).bfloat16(), offs=ends)


@feature
def embedding_bag():
    train(nn.EmbeddingBag(10, 4), torch.zeros(4, dtype=torch.long, device=D), torch.zeros(1, dtype=torch.long, device=D))


@feature
def checkpointing():
    from torch.utils.checkpoint import checkpoint
    net = nn.Linear(4, 4).to(D)
    checkpoint(net, torch.rand(2, 4, device=D, requires_grad=True), use_reentrant=False).sum().backward()
    assert net.weight.grad is not None


@feature
def cuda_graphs():
    graph, x = torch.cuda.CUDAGraph(), torch.ones(10, device=D)
    with torch.cuda.graph(graph):
        y = x * 2
    graph.replay()
    assert y.sum().item() == 20


@feature
def workers_and_pinned_memory():
    data = torch.utils.data.TensorDataset(torch.rand(16, 3, 16, 16))
    for (x,) in torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, pin_memory=True):
        cnn().to(D)(x.to(D, non_blocking=True))


@feature
def save_and_load():
    import io
    net, file = cnn().to(D), io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    net.load_state_dict(torch.load(file))


@feature
def compiled():
    net = torch.compile(nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64)))
    train(net, images(32, 64))


@feature
def profiler():
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as run:
        train(cnn(), images())
    assert any(e.device_type == torch.autograd.DeviceType.CUDA for e in run.events())


@feature
def fft():
    torch.fft.rfft(images(16))


@feature
def cholesky():
    torch.linalg.cholesky(torch.eye(4, device=D))


@feature
def sparse():
    torch.eye(4).to_sparse().to(D) @ torch.ones(4, 4, device=D)


@feature
def complex_product():
    a = torch.ones(4, 4, dtype=torch.cfloat).to(D)
    a @ a


def main():
    for name, function in FEATURES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        try:
            function()
            print(f"{name}: works", flush=True)
        except Exception as error:  # whatever stops it is its reason
            print(f"{name}: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:150]}", flush=True)


if __name__ == "__main__":
    main()
