"""Holds device times of softgpu against those of a GPU, both measured by tests/gpu/nets.py.

    softgpu_times.py MEASURED.jsonl MODELLED.jsonl [--traces MEASURED MODELLED] [--by-name] [--worst N]

Prints for each net the device time of a step, of its phases, and the launches; the time of classes of kernels; and, where both sides
have the profiler's traces of a net (a folder each), the errors of single operations: those of the same name, shapes and types, in order,
with all the kernels that an operation launches. An error is modelled / measured - 1; median and p90 are of its absolute value.
"""
import argparse
import collections
import gzip
import json
import os
import re
import statistics
import sys

LEAST_US = 10  # of the operations that count

# The first that fits, of kernels' names and of operations' names.
KERNELS = [
    ("copy, set", r"^Memcpy|^Memset"),
    ("transpose", r"nchwToNhwc|nhwcToNchw|AddPadding|[Tt]ranspose"),
    ("attention", r"fmha|flash|sdpa|compute_dot_do_o|convert_dq|[Aa]ttention"),
    ("optimizer", r"multi_tensor_apply|FusedAdam|fused_adam"),
    ("norm", r"bn_[fb]w|batch_norm|BatchNorm|Normalization|layer_norm|LayerNorm|GammaBeta|RowwiseMoments|group_norm"),
    ("pooling", r"pool|Pool|adaptiv"),
    ("loss", r"nll_loss|SoftMax|softmax"),
    ("convolution", r"fprop|dgrad|wgrad|[cC]onv(?!ert)|implicit|5x_cudnn|init_device_workspace|scalePacked|kern_precompute|^split_k_kernel|softgpu::cudnn"),
    ("embedding", r"embedding|gather|sum_and_scatter|grad_weight|partial|cub::|index"),
    ("product", r"gemm|nvjet|splitK|cublas|cutlass|[Mm]atmul|product|scal_kernel"),
    ("reduction", r"reduce_kernel"),
    ("element-wise", r"element|CatArray|distribution|dropout|triu"),
]
OPERATIONS = [
    ("attention", r"attention"),
    ("convolution", r"conv"),
    ("product", r"::(mm|addmm|bmm|baddbmm|linear|matmul)$"),
    ("norm", r"norm"),
    ("pooling", r"pool"),
    ("loss", r"nll_loss|softmax"),
    ("embedding", r"embedding|index"),
    ("optimizer", r"_foreach|_fused"),
    ("reduction", r"::(sum|mean|var|amax|norm)"),
    ("element-wise", r""),
]


def class_of(name, table):
    return next((c for c, pattern in table if re.search(pattern, name)), "other")


def read_nets(path):
    with open(path) as file:
        return {row["name"]: row for row in map(json.loads, file)}


def error(modelled, measured):
    return modelled / measured - 1 if measured > 0 else float("inf") if modelled > 0 else 0.0


def p90(values):
    values = sorted(values)
    return values[min(len(values) - 1, int(0.9 * len(values)))]


def nets_table(measured, modelled, names):
    print("Device time of a step, ms: measured, modelled, error; the error of its parts; launches")
    print("%-24s %9s %9s %7s %8s %8s %9s %9s %9s" % ("net", "measured", "modelled", "error", "forward", "backward", "optimizer", "launches", "modelled"))
    columns = collections.defaultdict(list)
    for name in names:
        a, b = measured[name], modelled[name]
        errors = [error(b["device_ms"], a["device_ms"])]
        errors += [error(b["phases_ms"][p], a["phases_ms"][p]) for p in ("forward", "backward", "optimizer")]
        for number, value in enumerate(errors):
            columns[number].append(abs(value))
        print("%-24s %9.3f %9.3f %+6.1f%% %+7.1f%% %+7.1f%% %+8.1f%% %9.0f %9.0f"
              % (name, a["device_ms"], b["device_ms"], *(100 * e for e in errors), a["launches"], b["launches"]))
    for what, of in (("median of the errors", statistics.median), ("largest", max)):
        print("%-24s %9s %9s %6.1f%% %7.1f%% %7.1f%% %8.1f%%" % (what, "", "", *(100 * of(columns[n]) for n in range(4))))


def classes_table(measured, modelled, names):
    """Of all nets together, and the errors of a class in each net where it takes 1% or more of the step."""
    print("\nClasses of kernels, by their names: ms in all nets, launches, and the error in a net (of nets where it is 1% of the step)")
    print("%-14s %9s %9s %7s %9s %9s %6s %8s %8s" % ("class", "measured", "modelled", "error", "launches", "modelled", "nets", "median", "largest"))
    us, count = collections.defaultdict(lambda: [0.0, 0.0]), collections.defaultdict(lambda: [0.0, 0.0])
    errors = collections.defaultdict(list)
    for name in names:
        of_net = collections.defaultdict(lambda: [0.0, 0.0])
        for side, rows in enumerate((measured[name]["kernels"], modelled[name]["kernels"])):
            for k in rows:
                c = class_of(k["name"], KERNELS)
                of_net[c][side] += k["us"]
                count[c][side] += k["count"]
        for c, both in of_net.items():
            us[c] = [us[c][0] + both[0], us[c][1] + both[1]]
            if both[0] > 10 * measured[name]["device_ms"]:
                errors[c].append(abs(error(both[1], both[0])))
    for c, (a, b) in sorted(us.items(), key=lambda row: -row[1][0]):
        tail = " %6d %7.1f%% %7.1f%%" % (len(errors[c]), 100 * statistics.median(errors[c]), 100 * max(errors[c])) if errors[c] else " %6d" % 0
        print("%-14s %9.3f %9.3f %+6.1f%% %9.0f %9.0f" % (c, a / 1000, b / 1000, 100 * error(b, a), *count[c]) + tail)


def operations(path):
    """The operations of a step: (name, shapes, types) to a list, in order, of us and names of the kernels that each launched."""
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    ops, calls, kernels = {}, {}, collections.defaultdict(list)
    for e in events:
        args = e.get("args", {})
        if e.get("cat") == "cpu_op":
            ops[args.get("External id")] = e
        elif e.get("cat") in ("cuda_runtime", "cuda_driver"):
            calls[args.get("correlation")] = args.get("External id")
    for e in events:
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            # a kernel's record may lack it where it comes in another buffer than its call's
            kernels[e["args"].get("External id", calls.get(e["args"].get("correlation")))].append(e)
    found = collections.defaultdict(list)
    for number, launched in sorted(kernels.items(), key=lambda item: min(e["ts"] for e in item[1])):
        if number not in ops:
            continue
        args = ops[number]["args"]
        shapes = args.get("Input Dims", [])
        # of an operation on lists of tensors all of them
        key = (ops[number]["name"], json.dumps(shapes), json.dumps(args.get("Input type", [])))
        found[key].append((sum(e["dur"] for e in launched), [e["name"] for e in launched]))
    return found


def operation_errors(measured, modelled):
    """Triples (key, measured us, modelled us, names, names) of each operation of a step. One side may have several steps: its median counts."""
    for key, rows in measured.items():
        others = modelled.get(key)
        if not others:
            continue
        # as many in a step on either side: the rest is of the other steps
        step = min(len(rows), len(others))
        for i in range(step):
            a = statistics.median(r[0] for r in rows[i::step])
            b = statistics.median(r[0] for r in others[i::step])
            yield key, a, b, rows[i][1], others[i][1]


def operations_table(folders, names, worst, by_name):
    errors, total, rows = collections.defaultdict(list), collections.defaultdict(lambda: [0.0, 0.0]), []
    used, lost = [], 0.0
    for name in names:
        paths = [os.path.join(folder, name + ".json.gz") for folder in folders]
        if not all(map(os.path.exists, paths)):
            continue
        used.append(name)
        a, b = map(operations, paths)
        lost += sum(r[0] for key, of in a.items() if key not in b for r in of)
        for key, us, other, kernels, others in operation_errors(a, b):
            c = class_of(key[0], OPERATIONS)
            total[c][0] += us
            total[c][1] += other
            rows.append((abs(other - us), name, key, us, other, kernels, others))
            if us >= LEAST_US:
                errors[c].append(abs(error(other, us)))
    if not used:
        return
    print("\nSingle operations of %s, those of %d us or more" % (", ".join(used), LEAST_US))
    print("%-14s %6s %8s %8s %11s %9s %7s" % ("class", "count", "median", "p90", "measured ms", "modelled", "error"))
    for c, both in sorted(total.items(), key=lambda row: -row[1][0]):
        if errors[c]:
            print("%-14s %6d %7.1f%% %7.1f%% %11.3f %9.3f %+6.1f%%"
                  % (c, len(errors[c]), 100 * statistics.median(errors[c]), 100 * p90(errors[c]), both[0] / 1000, both[1] / 1000, 100 * error(both[1], both[0])))
    every = [e for of in errors.values() for e in of]
    print("%-14s %6d %7.1f%% %7.1f%%" % ("all", len(every), 100 * statistics.median(every), 100 * p90(every)))
    if lost:
        print("not found on the modelled side: %.3f ms of measured operations, of all steps" % (lost / 1000))
    merged = collections.defaultdict(lambda: [0, 0.0, 0.0, None, None])
    for _, name, key, us, other, kernels, others in rows:
        row = merged[(name,) + key]
        row[0], row[1], row[2], row[3], row[4] = row[0] + 1, row[1] + us, row[2] + other, kernels, others
    for (name, *key), (n, us, other, kernels, others) in sorted(merged.items(), key=lambda r: -abs(r[1][2] - r[1][1]))[:worst]:
        print("%-22s %3d x %9.1f us, modelled %9.1f  %s %s" % (name, n, us / n, other / n, key[0], key[1][:100]))
        print("    %d: %s | %d: %s" % (len(kernels), kernels[0][:90], len(others), others[0][:60]))
    if by_name:
        names_table(rows)


def names_table(rows):
    """Of operations that launch one kernel, of the same name on either side."""
    of = collections.defaultdict(list)
    for _, _, _, us, other, kernels, others in rows:
        if len(kernels) == 1 and kernels == others:
            of[kernels[0]].append((us, other))
    print("\nKernels of one name on either side, alone in their operation: count, us, modelled, median and largest error")
    for name, pairs in sorted(of.items(), key=lambda r: -sum(p[0] for p in r[1])):
        e = [abs(error(b, a)) for a, b in pairs]
        print("%4d %9.1f %9.1f %6.1f%% %6.1f%%  %s" % (len(pairs), sum(p[0] for p in pairs), sum(p[1] for p in pairs),
              100 * statistics.median(e), 100 * max(e), re.sub(r"^void |at::native::|\(anonymous namespace\)::", "", name)[:150]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("measured")
    p.add_argument("modelled")
    p.add_argument("--traces", nargs=2, metavar="FOLDER", help="the profiler's traces of either side")
    p.add_argument("--by-name", action="store_true", help="also kernels by name")
    p.add_argument("--worst", type=int, default=0, metavar="N", help="also the N groups of equal operations that are most wrong in time")
    options = p.parse_args()
    measured, modelled = read_nets(options.measured), read_nets(options.modelled)
    names = [n for n in measured if n in modelled]
    if not names:
        sys.exit("no net is in both %s and %s" % (options.measured, options.modelled))
    nets_table(measured, modelled, names)
    classes_table(measured, modelled, names)
    if options.traces:
        operations_table(options.traces, names, options.worst, options.by_name)


if __name__ == "__main__":
    main()
