#!/usr/bin/env python3
"""Pipelines in other profilers' traces: messages by source, destination and order; waiting apart from moving data; the bubble beside
its formula; what faster links would bring.

usage: pipeline.py PMANALYZE

The truth is a simulation of one forward, one backward with times that are chosen here. What `whatif` predicts for links twice as fast
is held against the simulation with transfers that take half as long.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

program = os.path.abspath(sys.argv[1])
wrong = 0
FORWARD, BACKWARD, STEPS, BYTES = 1000, 2000, 6, 10_000_000


def check(condition, sentence):
    global wrong
    if not condition:
        print(f"wrong: {sentence}")
        wrong += 1


def run(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 0, f"{arguments}: exit status {done.returncode}: {done.stderr[-300:]}")
    return " ".join(done.stdout.split())


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


def write(folder, stages, batches, transfer):
    """Answers the time of a step, us."""
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
                        start = max(sent, free[stage]) + transfer
                        ranks[stage].message("recv", source, stage, free[stage], start, 20)
                        ranks[source].message("send", source, stage, sent, start, 21 if kind == "f" else 22)
                    length = FORWARD if kind == "f" else BACKWARD
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


def check_pipeline(stages, batches, transfer):
    name = f"{stages}x{batches}x{transfer}"
    took, faster = write(name, stages, batches, transfer), write(name + "fast", stages, batches, transfer / 2)
    report = run("report", name)
    found = re.search(r"Pipeline: (\d+) stages, (\d+) micro-batches.* for ([\d.]+)% of a step; \(p-1\)/\(m\+p-1\) is ([\d.]+)%", report)
    check(found and (int(found[1]), int(found[2])) == (stages, batches), f"{name}: no pipeline: {report[-600:]}")
    if found:
        formula = 100 * (stages - 1) / (batches + stages - 1)
        check(abs(float(found[4]) - formula) < 0.06, f"{name}: the formula gives {found[4]}%, not {formula:.1f}%")
        check(abs(float(found[3]) - formula) < 2, f"{name}: a bubble of {found[3]}%, by the formula {formula:.1f}%")
    said = re.search(r"Communication is not hidden by computing: at most ([\d.]+) (ms|us)", report)
    gain = re.search(r"communication 2× as fast ([\d.]+) ([\d.]+)", run("whatif", name))
    unit = 1 if took < 1000 else 1000
    check(gain and abs(float(gain[1]) * unit - faster) < 0.01 * (took - faster) + 5, f"{name}: twice as fast {gain and gain[0]}, simulated {faster}")
    bound = float(said[1]) * {"ms": 1000, "us": 1}[said[2]] if said else 0.01 * took
    check(bound >= 2 * (took - faster) * 0.98, f"{name}: at most {bound} us, but half of it brings {took - faster}")
    text = run("comm", name)
    for call in ("Recv", "Send"):
        row = re.search(call + r" \d+ 10000000 ([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)", text)
        unit = 1000 if "per unit, ms" in text else 1
        check(row and abs(float(row[3]) * unit - transfer) < 0.5 and abs(float(row[4]) - BYTES / transfer / 1000) < 0.2,
              f"{name}: {call} moves for {row and row[3]} at {row and row[4]} GB/s, not {transfer} at {BYTES / transfer / 1000}")


def main():
    with tempfile.TemporaryDirectory(prefix="pm_pipeline.") as folder:
        os.chdir(folder)
        for stages, batches, transfer in ((4, 8, 200), (2, 4, 400), (4, 4, 300)):
            check_pipeline(stages, batches, transfer)
        # Messages that cost nothing are no finding, however long they are waited for.
        write("free", 4, 8, 1)
        text = run("report", "free")
        check("Communication is not hidden" not in text, f"the bubble is called communication: {text[600:1200]}")
        # Kernels of batched messages say neither sender nor receiver: no rank is late then, and what is waiting is unknown.
        Rank.message = lambda rank, kind, source, target, start, end, stream: rank.kernel(
            "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", start, end - start, stream)
        write("batched", 4, 8, 200)
        text = run("report", "batched")
        check("how much is unknown. Weak: " in text and "Straggler" not in text, f"partners that are not known: {text[400:1600]}")
        os.chdir("/")
    print("pipeline: " + (f"{wrong} wrong" if wrong else "all right"))
    sys.exit(wrong > 0)


main()
