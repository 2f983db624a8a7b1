"""
Looks at the running interpreter through memory with wrong bytes end, and find less the more is wrong.

    corrupt.py LIBRARY LOOKS
"""
import ctypes
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nn

library = ctypes.CDLL(sys.argv[1])
looks = int(sys.argv[2])


class Looking(nn.Module):
    def forward(self, wrong):
        return library.look_at_corrupt(sys.version_info[1], wrong, looks)


def build(levels):
    if levels == 0:
        return Looking()
    inner = build(levels - 1)
    return nn.Sequential(inner) if levels % 2 else Listed(inner)


class Listed(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.layers = nn.ModuleList([inner, nn.Sequential(nn.Sequential())])

    def forward(self, x):
        return self.layers[0](x)


net = build(6)
assert net(0) == looks, 'all are found where nothing is wrong'
for wrong in 1, 4, 16, 64, 256:
    found = net(wrong)
    assert 0 <= found, 'a text did not end'
    print('%d of 256 blocks wrong: %d of %d looks found a text' % (wrong, found, looks))
assert found < looks
