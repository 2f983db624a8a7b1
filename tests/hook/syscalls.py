"""The calls of syscalls_host.c from modules within modules: syscalls.py LIBRARY steady|fresh N."""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'python'))
import nn

library = ctypes.CDLL(sys.argv[1])
library.steady.argtypes = [ctypes.c_long]
library.fresh.argtypes = [ctypes.c_long, ctypes.c_long]


class Leaf(nn.Module):
    def forward(self, first, n):
        if sys.argv[2] == 'steady':
            library.steady(n)
        else:
            library.fresh(first, n)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Leaf() for _ in range(10)])

    def forward(self, n):
        for i, block in enumerate(self.blocks):
            block(1000 + n // 10 * i, n // 10)


net = Net()
net(int(sys.argv[3]))
