"""LeNet-5, a multi-layer perceptron or an autoencoder in PyTorch; under torchrun or pmrun -n N with DistributedDataParallel."""
import itertools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

import settings


class LeNet(nn.Module):
    def __init__(self, filters=settings.FILTERS):
        super().__init__()
        second = settings.filters_of_second(filters)
        self.conv1 = nn.Conv2d(1, filters, 5)
        self.conv2 = nn.Conv2d(filters, second, 5)
        self.fc1 = nn.Linear(16 * second, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc3(torch.relu(self.fc2(x)))


def dense(widths, last):
    layers = [nn.Flatten()]
    for inputs, outputs in itertools.pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1], *last)


NETS = {
    "cnn": LeNet,
    "mlp": lambda: dense([784, 512, 256, 10], []),
    "autoencoder": lambda: dense([784, 128, 32, 128, 784], [nn.Sigmoid()]),
}


def main():
    options = settings.options()
    ranks = int(os.environ.get("WORLD_SIZE", 1))
    device = int(os.environ.get("LOCAL_RANK", 0)) if torch.cuda.is_available() else "cpu"
    if device != "cpu":
        torch.cuda.set_device(device)
    if ranks > 1:
        dist.init_process_group()

    x, y = settings.images(options.data)
    data = TensorDataset(torch.from_numpy(x).unsqueeze(1), torch.from_numpy(y).long())
    sampler = DistributedSampler(data) if ranks > 1 else None
    loader = DataLoader(data, options.batch // ranks, shuffle=sampler is None, sampler=sampler, drop_last=True,
                        num_workers=2, pin_memory=True, persistent_workers=True)

    model = NETS[options.net](**settings.sizes(options)).to(device)
    settings.check(options, sum(p.numel() for p in model.parameters()))
    if ranks > 1:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=settings.LEARNING_RATE, momentum=0.9)
    forever = itertools.chain.from_iterable(itertools.repeat(loader))
    for step, (image, label) in enumerate(itertools.islice(forever, options.steps)):
        image, label = image.to(device, non_blocking=True), label.to(device, non_blocking=True)
        output = model(image)
        if options.net == "autoencoder":
            loss = nn.functional.mse_loss(output, image.flatten(1))
        else:
            loss = nn.functional.cross_entropy(output, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
