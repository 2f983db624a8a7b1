"""ns per operator of PyTorch, processor time of the least of many rounds: an operator of its own, the same within an nn.Module, and one
that another operator calls. framework_cost.py MODE [LIBRARY]: what MODE is, framework_cost.sh says; it is printed first."""
import ctypes
import sys
import time

import torch

ROUNDS, OPERATORS = 50, 1000


class Adds(torch.nn.Module):
    def forward(self, x):
        begin = time.thread_time()
        for _ in range(OPERATORS):
            x.add_(1)
        return time.thread_time() - begin


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.adds = Adds()

    def forward(self, x):
        return self.adds(x)


def alone(x):
    begin = time.thread_time()
    for _ in range(OPERATORS):
        x.add_(1)
    return time.thread_time() - begin


def nested(tensors):
    begin = time.thread_time()
    for _ in range(OPERATORS // len(tensors)):
        torch._foreach_add_(tensors, 1)
    return time.thread_time() - begin


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    if sys.argv[1] == "null":
        assert ctypes.CDLL(sys.argv[2]).begin() == 0
    torch.cuda.synchronize()
    x, tensors, net = torch.zeros(4), [torch.zeros(4) for _ in range(1000)], Outer()
    cases = [lambda: alone(x), lambda: net(x), lambda: nested(tensors)]
    least = [min(case() for _ in range(ROUNDS)) for case in cases]
    print(sys.argv[1], *(f"{seconds / OPERATORS * 1e9:.1f}" for seconds in least))


main()
