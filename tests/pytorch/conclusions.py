"""Small programs whose trouble is known, by name: copies, item, rollout, loader, workers. conclusions.sh holds what a report says of each; the lines that
cause something have a comment that begins with "HERE"."""
import sys
import time

import torch
from torch import nn


def make():
    """The model is built and copied once, in calls that a step has too."""
    return nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).to("cuda")


def train(net, optimizer, batch):
    loss = net(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def copies(net, optimizer):
    """Each step copies 16 MB from memory that is not pinned, and computes little."""
    host = torch.randn(8192, 512)
    for _ in range(20):
        batch = host.to("cuda")  # HERE: copies
        train(net, optimizer, batch[:64])


def item(net, optimizer):
    """Each step waits for its loss."""
    batch, total = torch.randn(64, 512).to("cuda"), 0.0
    for _ in range(20):
        total += train(net, optimizer, batch).item()  # HERE: item


def rollout(net, optimizer):
    """Passes without gradients give what eight steps learn from."""
    def collect_samples(count):
        seen = torch.zeros(count, 16, 512, device="cuda")
        for t in range(count):
            with torch.no_grad():
                seen[t] = net(seen[t - 1])
        return seen.view(-1, 512)
    for _ in range(5):
        samples = collect_samples(32)
        for _ in range(8):
            train(net, optimizer, samples[:128])


class Slow(torch.utils.data.Dataset):
    """Each sample takes 2 ms, which is not computing."""
    def __len__(self):
        return 160

    def __getitem__(self, number):
        time.sleep(0.002)
        return torch.full((512,), float(number))


def loader(net, optimizer, workers=0):
    """Each step waits for its batch; prints how long on average, by the program's own clock, but for the first one."""
    batches, waits = iter(torch.utils.data.DataLoader(Slow(), 8, num_workers=workers)), []
    for _ in range(20):
        begin = time.perf_counter()
        batch = next(batches)
        waits.append(time.perf_counter() - begin)
        train(net, optimizer, batch.to("cuda"))
    print("waited ms", 1000 * sum(waits[1:]) / len(waits[1:]))


def workers(net, optimizer):
    """The same with a worker process."""
    loader(net, optimizer, 1)


if __name__ == "__main__":
    model = make()
    globals()[sys.argv[1]](model, torch.optim.SGD(model.parameters(), lr=0.1))
    torch.cuda.synchronize()
