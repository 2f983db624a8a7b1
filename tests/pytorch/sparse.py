"""Products with sparse matrices on CUDA against the CPU: COO, CSR, vectors, sampled products, and training a graph network on them.
Transposing a sparse matrix sorts its entries, which softgpu does not compute: gradients are of the model clock alone.
sparse.py: values (by the compute clock); sparse.py train: 12 steps."""
import sys

import torch
from torch import nn

D = "cuda"


def graph(nodes, per_node=4):
    torch.manual_seed(1)
    rows = torch.arange(nodes).repeat_interleave(per_node)
    columns = (rows * 7 + torch.arange(nodes * per_node) % per_node * 3 + 1) % nodes
    return torch.sparse_coo_tensor(torch.stack((rows, columns)), torch.rand(nodes * per_node), (nodes, nodes)).coalesce()


def check(name, got, wanted):
    got = got.detach().cpu()
    got, wanted = (x.to_dense() if x.layout != torch.strided else x for x in (got, wanted.detach()))
    if not torch.allclose(got.float(), wanted.float(), rtol=1e-3, atol=1e-4):
        sys.exit(f"wrong: {name}: differs by up to {(got.float() - wanted.float()).abs().max()}")


def values():
    for dtype in (torch.float, torch.double):
        coo = graph(50).to(dtype)
        csr, dense = coo.to_sparse_csr(), torch.rand(50, 9, dtype=dtype)
        device = coo.to(D), csr.to(D), dense.to(D)
        check("coo mm", torch.sparse.mm(device[0], device[2]), torch.sparse.mm(coo, dense))
        check("coo addmm", torch.sparse.addmm(device[2], device[0], device[2], beta=0.5, alpha=2.0),
              torch.sparse.addmm(dense, coo, dense, beta=0.5, alpha=2.0))
        check("csr mm", device[1] @ device[2], csr @ dense)
        check("csr mm, columns first", device[1] @ device[2].t().contiguous().t(), csr @ dense)
        check("csr mv", device[1] @ device[2][:, 0].contiguous(), csr @ dense[:, 0].contiguous())
        check("sampled", torch.sparse.sampled_addmm(device[1], device[2], device[2].t(), beta=0.5),
              torch.sparse.sampled_addmm(csr, dense, dense.t(), beta=0.5))
    half = graph(50).to_sparse_csr().half().to(D) @ dense.half().to(D)
    check("csr mm, half", half, (graph(50).to_dense().half().float() @ dense.half().float()).half())
    print("sparse products: as on the CPU")


class Layer(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x, adjacency):
        return torch.sparse.mm(adjacency, self.linear(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(64, 16), Layer(16, 7)

    def forward(self, x, adjacency):
        return self.second(torch.relu(self.first(x, adjacency)), adjacency)


def train():
    layout = sys.argv[2] if len(sys.argv) > 2 else "coo"
    adjacency = graph(2708)
    adjacency = (adjacency if layout == "coo" else adjacency.to_sparse_csr()).to(D)
    x, y = torch.rand(2708, 64, device=D), torch.zeros(2708, dtype=torch.long, device=D)
    net = Net().to(D)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(12):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x, adjacency), y).backward()
        optimizer.step()
    torch.cuda.synchronize()
    assert all(p.grad is not None for p in net.parameters())
    print("sparse training: done")


if __name__ == "__main__":
    train() if sys.argv[1:2] == ["train"] else values()
