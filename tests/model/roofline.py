#!/usr/bin/env python3
"""pmanalyze roofline against what is known of a run otherwise.

    roofline.py --truth ROOFLINE.json TRUTH.csv...
        the operations, bytes and times of each layer's forward and backward work are those of softgpu's own log
    roofline.py --efficiency ROOFLINE.json PROFILE
        a call's rate is what the profile's efficiencies make of its work: time = floor + (work + half) / (peak * efficiency)
    roofline.py --products MILLIONS FIRST ROOFLINE.json BATCH
        the multiply-adds of a forward pass and a sample are the published ones, and convolutions and products do twice that backward,
        less the first layer's gradient of its data, FIRST millions

One line a difference, exit status 1 if there is any.
"""
import collections
import csv
import json
import sys

WITHIN = 0.01
SHOWN = 12
BACKWARD = ("dgrad", "wgrad", "recompute")

failures = []


def fail(text):
    failures.append(text)


def differ(a, b, within=WITHIN):
    return abs(a - b) > within * max(abs(a), abs(b)) + 1


def read_truth(paths):
    """[layer, pass] -> operations, bytes, ns, means of an iteration of a GPU that has the layer; the layers in forward order."""
    sums, layers, iterations = collections.defaultdict(lambda: [0.0, 0.0, 0.0]), [], collections.defaultdict(set)
    for path in paths:
        for row in csv.DictReader(open(path)):
            if row["kind"] != "kernel" or int(row["iteration"]) < 1 or row["phase"] not in ("forward", "backward", "recompute"):
                continue
            iterations[row["layer"]].add((row["rank"], row["device"], row["iteration"]))
            if row["phase"] == "forward" and row["layer"] not in layers:
                layers.append(row["layer"])
            sums_of = sums[row["layer"], "forward" if row["phase"] == "forward" else "backward"]
            sums_of[0] += float(row["flops"])
            sums_of[1] += float(row["bytes"])
            sums_of[2] += int(row["end_ns"]) - int(row["begin_ns"])
    return {key: [value / len(iterations[key[0]]) for value in values] for key, values in sums.items()}, layers


def check_truth(roofline, paths):
    truth, made = read_truth(paths)
    found, layers = collections.defaultdict(lambda: [0.0, 0.0, 0.0]), []
    for row in roofline["layers"]:
        if row["layer"] not in layers:
            layers.append(row["layer"])
        if row["direction"] == "update":
            continue
        sums_of = found[row["layer"], "backward" if row["direction"] in BACKWARD else "forward"]
        for i, key in enumerate(("flops", "bytes", "time_ns")):
            sums_of[i] += row[key]
    if len(layers) != len(made):
        fail(f"{len(layers)} layers found, {len(made)} made")
    for layer, name in zip(layers, made):
        for phase in ("forward", "backward"):
            want, got = truth.get((name, phase), [0, 0, 0]), found.get((layer, phase), [0, 0, 0])
            for i, what in enumerate(("operations", "bytes", "ns")):
                if differ(want[i], got[i]):
                    fail(f"{layer} ({name}), {phase}: {got[i]:.0f} {what} found, {want[i]:.0f} true")


def read_profile(path):
    values = {}
    for line in open(path):
        words = line.split("#")[0].split()
        if len(words) >= 2:
            values[words[0]] = " ".join(words[1:])
    return values


def check_efficiency(roofline, path):
    profile = read_profile(path)

    def number(key):
        return float(profile[key])

    if roofline["device"] != profile["name"]:
        fail(f"the GPU is called {roofline['device']}, not {profile['name']}")
    rates = roofline["peak"]["flops_per_second"]
    for key, rate in (("fp32_tflops", rates["fp32"]), ("fp16_tflops", rates["fp16"]), ("tf32_tflops", rates["tf32"])):
        if key in profile and differ(number(key), rate / 1e12, 0.001):
            fail(f"{key} {rate / 1e12}, not {profile[key]}")
    if differ(number("memory_gb_s"), roofline["peak"]["bytes_per_second"] / 1e9, 0.001):
        fail(f"bandwidth {roofline['peak']['bytes_per_second']}")
    checked = 0
    for row in roofline["layers"]:
        if row["kind"] != "convolution" or row["calls"] != 1:
            continue
        peak, bandwidth = number("fp32_tflops") * 1e3, number("memory_gb_s")
        arithmetic = (row["flops"] + number("convolution_half_gflop") * 1e9) / (peak * number("convolution_efficiency"))
        memory = (row["bytes"] + number("convolution_half_mb") * 1e6) / (bandwidth * number("convolution_memory_efficiency"))
        want_ns = number("kernel_floor_us") * 1e3 + max(arithmetic, memory)
        roof_ns = max(row["flops"] / peak, row["bytes"] / bandwidth)
        checked += 1
        if abs(row["time_ns"] - want_ns) > 2:
            fail(f"{row['layer']} {row['direction']}: {row['time_ns']} ns, by the profile {want_ns:.1f} ns")
        if abs(row["roof_share"] - roof_ns / want_ns) > 1e-3:
            fail(f"{row['layer']} {row['direction']}: {row['roof_share']} of the roof, by the profile {roof_ns / want_ns}")
        bound = "compute" if row["flops"] / peak > row["bytes"] / bandwidth else "memory"
        if row["bound"] not in (bound, "latency"):
            fail(f"{row['layer']} {row['direction']}: bound by {row['bound']}, not {bound}")
    if checked < 20:
        fail(f"only {checked} convolutions compared")


def check_products(roofline, millions, first, batch):
    kinds = ("convolution", "product")
    sums = collections.Counter()
    for row in roofline["layers"]:
        if row["kind"] in kinds and row["direction"] != "update":
            sums[row["direction"]] += row["flops"]
    forward = sums["forward"] / 2e6 / batch
    if differ(forward, millions, WITHIN):
        fail(f"{forward:.1f} million multiply-adds forward, {millions} published")
    backward = (sums["dgrad"] + sums["wgrad"]) / 2e6 / batch
    if differ(backward, 2 * millions - first, WITHIN):
        fail(f"{backward:.1f} million multiply-adds backward, {2 * millions - first} expected")
    if not 0 < roofline["utilization"] < 1:
        fail(f"utilization {roofline['utilization']}")


def main():
    how, *arguments = sys.argv[1:]
    if how == "--truth":
        check_truth(json.load(open(arguments[0])), arguments[1:])
    elif how == "--efficiency":
        check_efficiency(json.load(open(arguments[0])), arguments[1])
    else:
        check_products(json.load(open(arguments[2])), float(arguments[0]), float(arguments[1]), int(arguments[3]))
    for text in failures[:SHOWN]:
        print(text)
    if len(failures) > SHOWN:
        print(f"and {len(failures) - SHOWN} more")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
