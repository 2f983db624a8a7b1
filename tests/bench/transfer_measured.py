"""Convolutions carried over to a measured GPU of another generation: see transfer_measured.sh. transfer_measured.py PMFIT JUSTUS KERNELS SCRATCH"""
import csv
import glob
import json
import os
import random
import re
import subprocess
import sys

PMFIT, JUSTUS, KERNELS, SCRATCH = sys.argv[1:]
DRAWS, MEASURED, KNOWN_ROWS = int(os.environ.get("DRAWS", "5")), 5, 1000
TO = os.environ.get("TO", "H200")
# Rates by data sheets, dense: of single precision, and of the type that the rows are of.
KNOWN = {"V100": (15.7e12, 900e9), "1080ti": (11.34e12, 484e9)}
RATES = {"H200": {"fp32": (67e12, 4800e9), "tf32": (494.7e12, 4800e9), "bf16": (989e12, 4800e9)}}
COLUMNS = ["batchsize", "channels_in", "channels_out", "kernelsize", "matsize", "strides"]


def convolution(batch, side, kernel, stride, read_channels, made_channels, out, width):
    """Operations, bytes, and what describes it."""
    flops = 2 * batch * out ** 2 * made_channels * kernel ** 2 * read_channels
    moved = width * (batch * side ** 2 * read_channels + kernel ** 2 * read_channels * made_channels + batch * out ** 2 * made_channels)
    return [flops, moved, batch, read_channels, made_channels, kernel, side, stride]


def justus():
    """Forward passes in single precision, without activation, by GPU."""
    found = {}
    for path in sorted(glob.glob(f"{JUSTUS}/*benchmark_convolution*.csv")):
        gpu = os.path.basename(path).split("-")[0]
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if gpu not in KNOWN or row["optimizer"] != "0" or float(row["timeUsed_median"]) <= 0:
                    continue
                side, kernel, stride = (int(row[c]) for c in ("matsize", "kernelsize", "strides"))
                out = max(-(-side // stride) if row["padding"] == "1" else (side - kernel + stride) // stride, 1)
                found.setdefault(gpu, []).append(
                    convolution(int(row["batchsize"]), side, kernel, stride, int(row["channels_in"]), int(row["channels_out"]), out, 4)
                    + [float(row["timeUsed_median"])])
    for gpu, rows in found.items():
        random.Random(gpu).shuffle(rows)
        found[gpu] = rows[:KNOWN_ROWS]
    return found


def kernels():
    """Forward convolutions of one group, by type."""
    found = {}
    with open(KERNELS, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            shape = re.match(r"n(\d+)_c(\d+)_h(\d+)_k(\d+)_r(\d+)_s(\d+)_g1$", row["shape"])
            if row["kind"] != "conv_forward" or not shape:
                continue
            batch, read, side, made, kernel, stride = map(int, shape.groups())
            found.setdefault(row["dtype"], []).append(
                [float(row["flop"]), float(row["bytes"]), batch, read, made, kernel, side, stride, float(row["median_us"]) / 1e3])
    return found


def ask(known, device, rates, measured, tested):
    with open(f"{SCRATCH}/gpus.csv", "w", encoding="utf-8") as file:
        file.write("device,flops,bandwidth\n" + "".join(f"{n},{f:g},{b:g}\n" for n, (f, b) in {**KNOWN, device: rates}.items()))
    with open(f"{SCRATCH}/layers.csv", "w", encoding="utf-8") as file:
        file.write("device,flops,bytes," + ",".join(COLUMNS) + ",time_ms\n")
        for name, rows, timed in [*((n, r, True) for n, r in known.items()), (device, measured, True), (device, tested, False)]:
            for row in rows:
                file.write(name + "," + ",".join(map(str, row if timed else row[:-1] + [""])) + "\n")
    said = subprocess.run([PMFIT, "transfer", "--json", "--devices", f"{SCRATCH}/gpus.csv", "--to", device, f"{SCRATCH}/layers.csv"],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(said.stdout)["layers"]


def error(said, rows):
    return 100 * sum(abs(s / row[-1] - 1) for s, row in zip(said, rows)) / len(rows)


known, found = justus(), kernels()
print(f"{TO}, convolutions forward; known: " + ", ".join(f"{n} ({len(r)} layers)" for n, r in known.items()) + "; MAPE %, means over draws")
print(f"{'type':6}{'layers':>7}{'measured':>9}{'pmfit':>8}{'held':>6}{'width':>7}{'roofline ratio':>16}{'median':>8}{'sum off':>9}")
for kind, rows in found.items():
    rates = RATES[TO].get(kind)
    for count in (0, MEASURED) if rates else ():
        figures = []
        for draw in range(DRAWS if count else 1):
            order = rows[:]
            random.Random(draw).shuffle(order)
            measured, tested = order[:count], order[count:]
            layers = ask(known, TO, rates, measured, tested)
            ends = [(x["low_ns"] / 1e6, x["high_ns"] / 1e6) for x in layers if x["low_ns"] is not None]
            held = 100 * sum(low <= row[-1] <= high for (low, high), row in zip(ends, tested)) / len(tested)
            width = sum(high / low for low, high in ends) / max(len(ends), 1)
            said = [x["predicted_ns"] / 1e6 for x in layers]
            plain = [x["roofline_ratio_ns"] / 1e6 for x in layers]
            if count:  # by the median of what was measured
                roof = [row[0] / rates[0] * 1e3 + row[1] / rates[1] * 1e3 for row in order]
                ratio = sorted(row[-1] / r for row, r in zip(measured, roof))[count // 2]
                plain = [ratio * r for r in roof[count:]]
            middle = sorted(row[-1] for row in (measured or tested))
            figures.append([error(said, tested), held, width, error(plain, tested), error([middle[len(middle) // 2]] * len(tested), tested),
                            100 * (sum(said) / sum(row[-1] for row in tested) - 1)])
        mean = [sum(f[i] for f in figures) / len(figures) for i in range(6)]
        print(f"{kind:6}{len(rows):7}{count:9}{mean[0]:8.1f}{mean[1]:5.0f}%{mean[2]:6.1f}x{mean[3]:16.1f}{mean[4]:8.1f}{mean[5]:+8.1f}%", flush=True)
