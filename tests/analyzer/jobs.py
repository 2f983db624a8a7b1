"""Traces of made-up training jobs as Kineto writes them, of the shape that public bug reports have: jobs.write(folder, ranks, steps, ...).

A rank is a host thread that enqueues work, a stream that computes, and a stream of NCCL. A step reads a batch, copies it, goes forward
and backward through its layers, reduces the gradients in buckets while the backward pass goes on, updates, and reads the loss. What
disturbs a rank is a function of rank and step that answers a list of (place, what): see PLACES. All times are in microseconds.
"""
import gzip
import json
import os
import random

PLACES = ("load", "copied", "layer", "forward", "gradient", "backward", "updated")  # of a step: each layer, and in the midst of passes
LAYERS, BUCKETS = 6, 2
FORWARD, UPDATE, COPY = 800.0, 300.0, 200.0
LAUNCH = 6.0


class Rank:
    """What one rank did: its events, and when its host and streams are free."""

    def __init__(self, rank, ranks):
        self.rank, self.ranks, self.rows = rank, ranks, 64
        self.host = self.compute = self.network = 1_000_000.0
        self.events, self.correlation, self.thread = [], 0, 1
        self.device = {"device": rank, "context": 1}

    def event(self, category, name, begin, duration, track, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 9000 if track < 100 else self.rank,
                            "tid": track, "ts": round(begin, 3), "dur": round(duration, 3), "args": arguments})

    def call(self, name, duration):
        self.correlation += 1
        self.event("cuda_runtime", name, self.host, duration, self.thread, correlation=self.correlation, cbid=211)
        self.host += duration
        return self.correlation

    def operator(self, name, begin, **arguments):
        self.event("cpu_op", name, begin, self.host - begin + 1, self.thread, **arguments)
        self.host += 1

    def kernel(self, name, duration, category="kernel", call="cudaLaunchKernel", after=0.0, **more):
        number = self.call(call, LAUNCH)
        begin = max(self.compute, self.host + 2, after)
        self.compute = begin + duration
        self.event(category, name, begin, duration, 107, stream=7, correlation=number, **self.device, **more)

    def layer(self, name, sequence, duration, kernel):
        """Forward an operator; backward the engine's range, with the node of that operator in it."""
        begin, forward = self.host, self.thread - 1
        numbers = {"Sequence number": sequence, "Fwd thread id": forward, "Input Dims": [[512], [self.rows, 512], [512, 512], [], []]}
        self.host += 3
        self.kernel(kernel, duration)
        if forward:
            self.event("cpu_op", name + "Backward0", begin + 1, self.host - begin - 1, self.thread, **numbers)
        self.operator(f"autograd::engine::evaluate_function: {name}Backward0" if forward else name, begin, **numbers)

    def copy(self, direction, size, duration):
        """Of `size` bytes, between pinned memory and the device: "HtoD" or "DtoH"."""
        kinds = {"HtoD": "Pinned -> Device", "DtoH": "Device -> Pinned"}
        self.kernel(f"Memcpy {direction} ({kinds[direction]})", duration, "gpu_memcpy", "cudaMemcpyAsync", bytes=size)

    def synchronize(self, operator):
        """The host waits for what is enqueued, as .item() does."""
        begin = self.host
        self.kernel("Memcpy DtoH (Device -> Pageable)", 2, "gpu_memcpy", "cudaMemcpyAsync")
        self.call("cudaStreamSynchronize", max(self.compute - self.host, 0) + 3)
        self.operator(operator, begin)

    def pause(self, name, duration, category="python_function"):
        self.event(category, name, self.host, duration, self.thread)
        self.host += duration


def apply(rank, disturbances, place):
    for where, what in disturbances:
        if where == place:
            what(rank)


def until_exchange(rank, step, disturbances, jitter, slower):
    """A step as far as no other rank matters; answers when each bucket's gradients are ready."""
    ready = []

    apply(rank, disturbances, "load")
    begin = rank.host
    rank.host += 50
    rank.event("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin, 50, 1)
    begin = rank.host
    rank.copy("HtoD", 1_000_000, COPY)
    rank.operator("aten::to", begin)
    apply(rank, disturbances, "copied")
    for layer in range(LAYERS):
        apply(rank, disturbances, "layer")
        if layer == LAYERS // 2:
            apply(rank, disturbances, "forward")
        rank.layer("aten::addmm", 1000 * step + layer, FORWARD * jitter() * slower(rank.rank, layer), "ampere_sgemm_128x64_tn")
    rank.thread = 2
    for layer in reversed(range(LAYERS)):
        if layer == LAYERS // 2:
            apply(rank, disturbances, "backward")
        rank.layer("Addmm", 1000 * step + layer, 2 * FORWARD * jitter() * slower(rank.rank, layer), "ampere_sgemm_64x64_nt")
        apply(rank, disturbances, "gradient")
        if layer % (LAYERS // BUCKETS) == 0:
            ready.append((rank.compute, rank.call("cudaLaunchKernel", LAUNCH) if rank.ranks > 1 else None, rank.host))
    rank.thread = 1
    return ready


def reduce(ranks, begins, duration, correlations, bytes_each, name):
    """An all-reduce: it moves nothing before the last rank is there."""
    end = max(begins) + duration
    for rank, begin, correlation in zip(ranks, begins, correlations):
        rank.event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", begin, end - begin, 120,
                   stream=20, correlation=correlation, **rank.device, **{"Collective name": "allreduce", "In msg nelems": bytes_each // 4,
                   "Out msg nelems": bytes_each // 4, "dtype": "Float", "Group size": len(ranks), "Process Group Name": name,
                   "Process Group Ranks": str([rank.rank for rank in ranks])})
        rank.network = end


def exchange(ranks, ready, step, bytes_each, network):
    """All-reduces of gradients, one bucket after the other."""
    for bucket in range(BUCKETS):
        reduce(ranks, [max(rank.network, ready[i][bucket][0], ready[i][bucket][2]) for i, rank in enumerate(ranks)], network(step),
               [row[bucket][1] for row in ready], bytes_each, "0")


def exchange_in_groups(ranks, groups, duration):
    """Of groups of ranks, each by itself, while nothing is computed; 12 MB."""
    for number, group in enumerate(groups):
        members = [ranks[rank] for rank in group]
        correlations = [rank.call("cudaLaunchKernel", LAUNCH) for rank in members]
        reduce(members, [max(rank.compute, rank.network, rank.host + 2) for rank in members], duration(group), correlations,
               12_000_000, str(1 + number))
        for rank in members:
            rank.compute = rank.network


def finish(rank, disturbances, jitter):
    begin = rank.host
    rank.kernel("void at::native::multi_tensor_apply_kernel<AdamFunctor>()", UPDATE * jitter(), after=rank.network)
    rank.event("user_annotation", "Optimizer.step#AdamW.step", begin, rank.host - begin + 1, 1)
    rank.host += 1
    rank.synchronize("aten::item")
    apply(rank, disturbances, "updated")


def write_rank(folder, rank):
    os.makedirs(folder, exist_ok=True)
    text = json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": rank.rank, "name": "NVIDIA A100-SXM4-80GB"}],
                       "distributedInfo": {"backend": "nccl", "rank": rank.rank, "world_size": rank.ranks},
                       "traceEvents": sorted(rank.events, key=lambda event: event["ts"])})
    with gzip.open(os.path.join(folder, f"rank-{rank.rank}.json.gz"), "wt") as file:
        file.write(text)


def write(folder, ranks=4, steps=12, disturb=lambda rank, step: [], only=None, seed=1, bytes_each=4_000_000, network=lambda step: 300.0,
          groups=(), group_time=lambda group: 300.0, slower=lambda rank, layer: 1.0, rows=lambda rank: 64):
    """Writes rank-N.json.gz of all ranks, or of those in `only`. A rank may be in several groups, which then exchange in turn; `slower`:
    so many times as long a rank computes a layer; `rows`: of a rank's batch."""
    jitter = random.Random(seed)
    made = [Rank(rank, ranks) for rank in range(ranks)]
    for rank in made:
        rank.rows = rows(rank.rank)
    for step in range(steps):
        begins = [rank.host for rank in made]
        plans = [disturb(rank.rank, step) for rank in made]
        ready = [until_exchange(rank, step, plan, lambda: jitter.gauss(1, 0.003), slower) for rank, plan in zip(made, plans)]
        exchange_in_groups(made, groups, group_time)
        if ranks > 1:
            exchange(made, ready, step, bytes_each, network)
        for rank, plan, begin in zip(made, plans, begins):
            finish(rank, plan, lambda: jitter.gauss(1, 0.003))
            rank.event("user_annotation", f"ProfilerStep#{step + 10}", begin, rank.host - begin, 1)
    for rank in made:
        if only is None or rank.rank in only:
            write_rank(folder, rank)


def serve(folder, requests, layers=6, most=12, seed=3):
    """Writes the trace of a server without marks of steps: each request has another number of passes, and the next comes when it comes."""
    rank, chance = Rank(0, 1), random.Random(seed)
    for _ in range(requests):
        passes = chance.randint(1, most)
        begin = rank.host
        rank.copy("HtoD", 1000 * passes, 20)
        rank.operator("aten::to", begin)
        for _ in range(passes):
            for layer in range(layers):
                begin = rank.host
                rank.kernel(("gemm", "norm", "act")[layer % 3], 100)
                rank.operator(("aten::addmm", "aten::mul")[layer % 2], begin)
            rank.synchronize("aten::item")
        rank.host += chance.uniform(100, 3000)
    write_rank(folder, rank)
