"""Trains a small GPT-like transformer on synthetic text: an ordinary PyTorch program, with torch.nn alone.

    python3 train_transformer.py --steps 60 --batch 16 [--amp] [--graphs] [--compile]

prints the loss every 10 steps; --profile FILE writes what torch.profiler measured (see training.py).
"""
import torch
from torch import nn
from torch.nn import functional

import training


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            t.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=2)
        )
        x = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(x.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, words, length, width, heads, depth):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        return self.head(self.norm(self.blocks(self.words(x) + self.places(places))))


def loss_of(logits, y):
    return functional.cross_entropy(logits.flatten(0, 1), y.flatten())


def main():
    options = training.parse(
        __doc__.splitlines()[0], batch=16, words=8192, length=256, width=512, heads=8, depth=6
    )
    if options.channels_last:
        raise SystemExit("--channels-last is for images")
    model = Transformer(options.words, options.length, options.width, options.heads, options.depth)
    model = model.to(options.device)
    capturable = {"capturable": True} if options.graphs else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, **capturable)

    def sample(generator):
        text = torch.randint(options.words, (options.length + 1,), generator=generator)
        return text[:-1], text[1:]

    training.train("transformer", options, model, loss_of, optimizer, sample)


if __name__ == "__main__":
    main()
