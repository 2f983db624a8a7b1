"""Trains ResNet-18 on synthetic images: an ordinary PyTorch program, with torch.nn alone.

    python3 train_resnet18.py --steps 60 --batch 64 [--amp] [--channels-last] [--graphs] [--compile]

prints the loss every 10 steps; --profile FILE writes what torch.profiler measured (see training.py).
"""
import torch
from torch import nn

import training


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)) + shortcut)


class ResNet18(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        widths = (64, 64, 128, 256, 512)
        self.layers = nn.Sequential(
            *(
                nn.Sequential(Block(a, b, 1 if i == 0 else 2), Block(b, b, 1))
                for i, (a, b) in enumerate(zip(widths, widths[1:]))
            )
        )
        self.fc = nn.Linear(512, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layers(x).mean((2, 3))
        return self.fc(x)


def main():
    options = training.parse(__doc__.splitlines()[0], batch=64, size=224, classes=1000)
    model = ResNet18(options.classes).to(options.device)
    if options.channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

    def sample(generator):
        image = torch.randn(3, options.size, options.size, generator=generator)
        return image, torch.randint(options.classes, (), generator=generator)

    training.train("resnet18", options, model, nn.functional.cross_entropy, optimizer, sample)


if __name__ == "__main__":
    main()
