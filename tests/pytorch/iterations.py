"""Training loops of all sorts whose iterations are known: iterations.py CASE TRUTH. Each iteration writes when it began and ended
(ns of CLOCK_MONOTONIC) into TRUTH. Without arguments, the names of the cases."""
import os
import random
import sys
import time

STEPS = 24
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


class Step:
    """Marks an iteration."""

    def __enter__(self):
        self.begin = time.monotonic_ns()

    def __exit__(self, *_):
        print(self.begin, time.monotonic_ns(), file=truth, flush=True)


def convnet():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5)).to(gpu)


def images(count=16):
    return torch.rand(count, 3, 24, 24), torch.randint(0, 5, (count,))


def define():
    global Language, Cell

    class Language(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(100, 32)
            self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(32, 2, 64, batch_first=True) for _ in range(2))
            self.head = nn.Linear(32, 100)

        def forward(self, x):
            x = self.embed(x)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    class Cell(nn.Module):
        """Time steps in a loop of Python."""

        def __init__(self):
            super().__init__()
            self.embed, self.cell, self.head = nn.Embedding(100, 32), nn.GRUCell(32, 32), nn.Linear(32, 100)

        def forward(self, x):
            state, out = torch.zeros(x.shape[0], 32, device=gpu), []
            for t in range(x.shape[1]):
                state = self.cell(self.embed(x[:, t]), state)
                out.append(self.head(state))
            return torch.stack(out, 1)


def words(length=16):
    return torch.randint(0, 100, (4, length)), torch.randint(0, 100, (4, length))


def some_words():
    return words(random.randrange(4, 40))


def evaluate(model, get, batches=4):
    model.eval()
    right = 0
    with torch.no_grad():
        for _ in range(batches):
            x, y = get()
            right += (model(x.to(gpu)).argmax(-1) == y.to(gpu)).sum().item()
    model.train()


def train(model, optimizer, get=images, steps=None, evaluate_every=0, save_every=0, accumulate=1, clip=False, log_every=5, scaler=None,
          after=None):
    for i in range(steps or STEPS):
        with Step():
            optimizer.zero_grad()
            for _ in range(accumulate):
                x, y = (part.to(gpu, non_blocking=True) for part in get())
                with torch.autocast('cuda', dtype=torch.half, enabled=scaler is not None):
                    loss = F.cross_entropy(model(x).flatten(0, -2), y.flatten()) / accumulate
                (scaler.scale(loss) if scaler else loss).backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if scaler:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            if after:
                after()
        if log_every and i % log_every == log_every - 1:
            loss.item()
        if evaluate_every and i % evaluate_every == evaluate_every - 1:
            evaluate(model, get)
        if save_every and i % save_every == save_every - 1:
            torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, os.devnull)


@case
def sgd_evaluation_checkpoint():
    model = convnet()
    train(model, O.SGD(model.parameters(), lr=.01, momentum=.9), evaluate_every=6, save_every=12)


@case
def adam_one_by_one():
    model = convnet()
    train(model, O.Adam(model.parameters(), lr=.01, foreach=False), log_every=3)


@case
def adamw_fused_clipped():
    model = convnet()
    train(model, O.AdamW(model.parameters(), lr=.01, fused=True), clip=True)


@case
def rmsprop_average():
    model, average = convnet(), convnet()

    def follow():
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.lerp_(p, 0.1)
    train(model, O.RMSprop(model.parameters(), lr=.01), after=follow)


@case
def accumulation():
    model = convnet()
    train(model, O.AdamW(model.parameters(), lr=.01), accumulate=3)


@case
def mixed_precision():
    model = Language().to(gpu)
    train(model, O.AdamW(model.parameters(), lr=.01), get=words, scaler=torch.amp.GradScaler('cuda'))


@case
def language_evaluation():
    model = Language().to(gpu)
    train(model, O.AdamW(model.parameters(), lr=.01), get=words, evaluate_every=7, clip=True)


@case
def lengths():
    model = Language().to(gpu)
    train(model, O.AdamW(model.parameters(), lr=.01), get=some_words)


@case
def lengths_accumulation():
    model = Language().to(gpu)
    train(model, O.AdamW(model.parameters(), lr=.01), get=some_words, accumulate=2, log_every=1)


@case
def time_steps():
    model = Cell().to(gpu)
    train(model, O.SGD(model.parameters(), lr=.01), get=words)


@case
def time_steps_varying():
    model = Cell().to(gpu)
    train(model, O.SGD(model.parameters(), lr=.01), get=some_words)


@case
def generation():
    """Text is generated word by word now and then."""
    model = Language().to(gpu)
    optimizer = O.AdamW(model.parameters(), lr=.01)
    for _ in range(4):
        train(model, optimizer, get=words, steps=6, log_every=0)
        x = torch.zeros(1, 1, dtype=torch.long, device=gpu)
        with torch.no_grad():
            for _ in range(12):
                x = torch.cat([x, model(x)[:, -1:].argmax(-1)], 1)
        x.cpu()


@case
def adversarial():
    maker = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 128)).to(gpu)
    judge = nn.Sequential(nn.Linear(128, 64), nn.LeakyReLU(.2), nn.Linear(64, 1)).to(gpu)
    makes, judges = O.Adam(maker.parameters(), lr=2e-4), O.Adam(judge.parameters(), lr=2e-4)
    one, zero = torch.ones(16, 1, device=gpu), torch.zeros(16, 1, device=gpu)
    say = F.binary_cross_entropy_with_logits
    for _ in range(STEPS):
        with Step():
            real, made = torch.rand(16, 128).to(gpu), maker(torch.randn(16, 16, device=gpu))
            judges.zero_grad()
            (say(judge(real), one) + say(judge(made.detach()), zero)).backward()
            judges.step()
            makes.zero_grad()
            say(judge(made), one).backward()
            makes.step()


@case
def distillation():
    teacher, model = convnet().eval(), convnet()
    optimizer = O.SGD(model.parameters(), lr=.01)
    for _ in range(STEPS):
        with Step():
            x = images()[0].to(gpu)
            with torch.no_grad():
                wanted = teacher(x)
            optimizer.zero_grad()
            F.mse_loss(model(x), wanted).backward()
            optimizer.step()


def load(benchmark):
    torch.backends.cudnn.benchmark = benchmark
    data = torch.utils.data.TensorDataset(*images(100))
    loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True, num_workers=1, pin_memory=True)
    model = convnet()
    optimizer = O.SGD(model.parameters(), lr=.01, momentum=.9)
    for _ in range(4):
        for x, y in loader:
            with Step():
                x, y = x.to(gpu, non_blocking=True), y.to(gpu, non_blocking=True)
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        loss.item()


@case
def loader():
    """A last small batch in each epoch."""
    load(False)


@case
def loader_benchmark():
    load(True)


@case
def recomputation():
    model = convnet()
    optimizer = O.SGD(model.parameters(), lr=.01, momentum=.9)

    def forward(x):
        return torch.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False)
    forward.parameters = model.parameters
    train(forward, optimizer)


@case
def graph():
    model = convnet()
    optimizer = O.SGD(model.parameters(), lr=.01, momentum=.9)
    x, y = (part.to(gpu) for part in images())

    def step():
        optimizer.zero_grad(set_to_none=False)
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            with Step():
                step()
    torch.cuda.current_stream().wait_stream(stream)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        step()
    for _ in range(STEPS):
        with Step():
            for kept, new in zip((x, y), images()):
                kept.copy_(new)
            captured.replay()


@case
def lbfgs():
    model = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)).to(gpu)
    optimizer = O.LBFGS(model.parameters(), max_iter=4)
    for _ in range(STEPS):
        with Step():
            x = torch.rand(32, 32).to(gpu)

            def closure():
                optimizer.zero_grad()
                loss = model(x).square().sum()
                loss.backward()
                return loss
            optimizer.step(closure)


@case
def update_by_hand():
    model = convnet()
    for _ in range(STEPS):
        with Step():
            x, y = images()
            F.cross_entropy(model(x.to(gpu)), y.to(gpu)).backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.01 * p.grad
                    p.grad = None


@case
def update_in_backward():
    """Each parameter is updated as soon as its gradient is made."""
    model = convnet()
    optimizers = {p: O.SGD([p], lr=.01, momentum=.9) for p in model.parameters()}

    def update(p):
        optimizers[p].step()
        optimizers[p].zero_grad()
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(update)
    for _ in range(STEPS):
        with Step():
            x, y = images()
            F.cross_entropy(model(x.to(gpu)), y.to(gpu)).backward()


@case
def inference():
    model = convnet().eval()
    with torch.no_grad():
        for _ in range(STEPS):
            with Step():
                model(images()[0].to(gpu)).argmax(-1).cpu()


@case
def three():
    """Few iterations."""
    model = convnet()
    train(model, O.SGD(model.parameters(), lr=.01), steps=3, log_every=0)


if len(sys.argv) == 1:
    print('\n'.join(CASES))
    sys.exit()

import torch  # noqa: E402  (a list of cases is to be had without it)
import torch.utils.checkpoint  # noqa: E402
from torch import nn, optim as O  # noqa: E402
from torch.nn import functional as F  # noqa: E402

gpu = 'cuda'
torch.manual_seed(1)
random.seed(1)
define()
with open(sys.argv[2], 'w', encoding='ascii') as truth:
    CASES[sys.argv[1]]()
torch.cuda.synchronize()
print('done', flush=True)
