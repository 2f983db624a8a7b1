"""torch.cond and torch.while_loop recorded into CUDA graphs: conditions.py FOLDER. Prints the replays of each; its graph is drawn to
FOLDER/NAME.dot."""
import ctypes
import sys

import torch
from torch._higher_order_ops import cudagraph_conditional_nodes as nodes

weights = torch.ones(64, 64, device="cuda")


def cond(x, yes):
    return torch.cond(yes, lambda a: a @ weights, lambda a: a + 1, (x,)) * 2


def loop(x, i):
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x @ weights), (i, x))


x = torch.ones(64, 64, device="cuda")
stream = torch.cuda.Stream()
with torch.no_grad():
    for function, condition in ((cond, torch.ones((), dtype=torch.bool, device="cuda")), (loop, torch.zeros((), dtype=torch.int64, device="cuda"))):
        with torch.cuda.stream(stream), nodes.ControlFlowOpWarmupDispatchMode():
            function(x, condition)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph, stream=stream), nodes.CUDAGraphCaptureControlFlowOpDispatchMode():
            function(x, condition)
        # torch's own debug_dump() wants the vendor's bindings for Python
        draw = ctypes.CDLL("libcudart.so." + torch.version.cuda.split(".")[0]).cudaGraphDebugDotPrint
        assert draw(ctypes.c_void_p(graph.raw_cuda_graph()), f"{sys.argv[1]}/{function.__name__}.dot".encode(), 0) == 0
        graph.instantiate()
        for _ in range(5):
            graph.replay()
        torch.cuda.synchronize()
        print(function.__name__, "5 replays", flush=True)
