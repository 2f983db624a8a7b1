#!/usr/bin/env python3
"""Pipelines in other profilers' traces: messages by source, destination and order; waiting apart from moving data; the bubble beside
its formula; what faster links would bring.

usage: pipeline.py PMANALYZE

The truth is a simulation of one forward, one backward (pipelines.py). What `whatif` predicts for links twice as fast
is checked against the simulation with transfers that take half as long.
"""
import os
import re
import subprocess
import sys
import tempfile

from checking import check, verdict
import pipelines
from pipelines import BYTES, write

program = os.path.abspath(sys.argv[1])


def run(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 0, f"{arguments}: exit status {done.returncode}: {done.stderr[-300:]}")
    return " ".join(done.stdout.split())


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
        unit = 1000 if "per call or group, ms" in text else 1
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
        pipelines.Rank.message = lambda rank, kind, source, target, start, end, stream: rank.kernel(
            "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", start, end - start, stream)
        write("batched", 4, 8, 200)
        text = run("report", "batched")
        check("an unknown part of it waits for the partner, as in a pipeline's bubble. Weak: " in text and "Straggler" not in text, f"partners that are not known: {text[400:1600]}")
        os.chdir("/")
    sys.exit(verdict("pipeline"))


main()
