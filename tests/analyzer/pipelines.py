"""Pipelines of one forward, one backward whose times are chosen: as Kineto writes them (write) and as Primus does (write_log).

The schedule is simulated here, from its definition.
"""
import json
import os

FORWARD, BACKWARD, STEPS, BYTES = 1000, 2000, 6, 10_000_000
STAGES, BATCHES = 4, 8  # of write_log


def order(stage, stages, batches):
    ahead = min(stages - 1 - stage, batches)
    row = [("f", batch) for batch in range(ahead)]
    for batch in range(batches):
        row += [("f", ahead + batch)] * (ahead + batch < batches) + [("b", batch)]
    return row


class Rank:
    """A rank's events: kernels with their launches, early in the step."""

    def __init__(self):
        self.events, self.number, self.base = [], 0, 0.0

    def call(self, name, start, length):
        self.number += 1
        self.events.append({"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 9, "tid": 9, "ts": start, "dur": length,
                            "args": {"correlation": self.number}})

    def kernel(self, name, start, length, stream, more=None):
        self.call("cudaLaunchKernel", self.base + len(self.events) * 1e-3, 1e-3)
        self.events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start, "dur": length,
                            "args": {"device": 0, "stream": stream, "correlation": self.number, **(more or {})}})

    def message(self, kind, source, target, start, end, stream):
        self.kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", start, end - start, stream,
                    {"Collective name": kind, "In msg nelems": BYTES // 4, "Out msg nelems": BYTES // 4, "dtype": "Float", "Group size": 2,
                     "Process Group Name": f"pp{min(source, target)}", "Src Rank": source, "Dst Rank": target})


def write(folder, stages, batches, transfer, slower=lambda stage: 1.0, link=lambda source, target: 1.0):
    """Answers the time of a step, us. `slower`, `link`: so many times as long a stage computes, a message from stage to stage takes."""
    ranks, origin, took = [Rank() for _ in range(stages)], 5_000_000_000.0, 0
    for step in range(STEPS):
        free, done, at = [origin + 100] * stages, {}, [0] * stages
        rows = [order(stage, stages, batches) for stage in range(stages)]
        for rank in ranks:
            rank.base = origin
        while any(at[stage] < len(rows[stage]) for stage in range(stages)):
            for stage in range(stages):
                while at[stage] < len(rows[stage]):
                    kind, batch = rows[stage][at[stage]]
                    source, start = stage + (-1 if kind == "f" else 1), free[stage]
                    if 0 <= source < stages:
                        if (kind, source, batch) not in done:
                            break
                        sent = done[kind, source, batch]
                        start = max(sent, free[stage]) + transfer * link(source, stage)
                        ranks[stage].message("recv", source, stage, free[stage], start, 20)
                        ranks[source].message("send", source, stage, sent, start, 21 if kind == "f" else 22)
                    length = (FORWARD if kind == "f" else BACKWARD) * slower(stage)
                    ranks[stage].kernel("fwd_gemm" if kind == "f" else "bwd_gemm", start, length, 7)
                    free[stage] = done[kind, stage, batch] = start + length
                    at[stage] += 1
        end = max(free)
        for rank in ranks:
            rank.kernel("multi_tensor_apply_kernel_adam", end, 100, 7)
            rank.call("cudaDeviceSynchronize", origin + 50, end + 100 - origin - 50)
            rank.events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 9, "ts": origin,
                                "dur": end + 100 - origin})
        took = end + 110 - origin
        origin = end + 110
    os.makedirs(folder)
    for number, rank in enumerate(ranks):
        with open(f"{folder}/rank-{number}.json", "w", encoding="utf-8") as file:
            json.dump({"distributedInfo": {"rank": number, "world_size": stages}, "deviceProperties": [{"id": 0, "name": "A100"}],
                       "traceEvents": rank.events}, file)
    return took


def schedule(forward, backward):
    """Arrays of each stage, in ms, and when the last computing ends."""
    rows, at, free, done = [], [0] * STAGES, [0.0] * STAGES, {}
    arrays = [{f"{kind}_{end}": [] for kind in ("fwd", "bwd") for end in ("start", "end", "minibatch")} for _ in range(STAGES)]
    for stage in range(STAGES):
        ahead = min(STAGES - 1 - stage, BATCHES)
        row = [("fwd", batch) for batch in range(ahead)]
        for batch in range(BATCHES):
            row += [("fwd", ahead + batch)] * (ahead + batch < BATCHES) + [("bwd", batch)]
        rows.append(row)
    while any(at[stage] < len(rows[stage]) for stage in range(STAGES)):
        for stage in range(STAGES):
            while at[stage] < len(rows[stage]):
                kind, batch = rows[stage][at[stage]]
                before = stage + (-1 if kind == "fwd" else 1)
                if 0 <= before < STAGES and (kind, before, batch) not in done:
                    break
                start = max(free[stage], done.get((kind, before, batch), 0.0))
                free[stage] = done[kind, stage, batch] = start + (forward if kind == "fwd" else backward)[stage]
                arrays[stage][kind + "_start"].append(start)
                arrays[stage][kind + "_end"].append(free[stage])
                arrays[stage][kind + "_minibatch"].append(batch)
                at[stage] += 1
    return arrays, max(free)


def save(folder, name, content):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)


def write_log(folder, forward, backward, old=False):
    """A folder as Primus writes it; `old`: before it had micro-batches. Answers the time of a step, ms."""
    arrays, length = schedule(forward, backward)
    save(folder, "config.json", {"world_size": 32, "dp_size": 8, "tp_size": 1, "ep_size": 1, "pp_size": STAGES,
                                 "vp_size": 1, "num_mbs": BATCHES, "train_iters": STEPS})
    for stage in range(STAGES):
        row = {key: value for key, value in arrays[stage].items() if not (old and key.endswith("minibatch"))}
        save(folder, f"pp_rank_{stage}.json",
             {str(step + 1): {"total": length + stage * 0.01, "memory": 12.5, **row} for step in range(STEPS)})
    return length
