#!/usr/bin/env python3
"""What operators of PyTorch's profiler are worth by the sizes of their inputs, against counting: operators.py PMANALYZE.

A made-up trace has steps of operators whose multiplications and additions are counted here one by one, in loops as the definition has them,
and kernels of known lengths on an A100. What the profiler could write and is wrong must not be counted, and not end the program.
"""
import json
import os
import subprocess
import sys
import tempfile

PMANALYZE = os.path.abspath(sys.argv[1])
STEPS, GAP = 6, 5
A100 = {"fp32": 19.5e12, "tf32": 156e12, "bf16": 312e12, "bandwidth": 2039e9}
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)


def product(a, b):
    """[.., m, k] by [.., k, n]: an operation for each multiplication and for each addition."""
    batch = a[0] if len(a) == 3 else 1
    count = 0
    for _ in range(batch):
        for _ in range(a[-2]):
            for _ in range(b[-1]):
                count += 2 * a[-1]
    return count


def outputs(size, kernel, stride, padding, dilation):
    """Places at which the filter lies within the padded input."""
    return sum(1 for at in range(-padding, size + padding, stride) if at + dilation * (kernel - 1) < size + padding)


def convolution(x, w, stride, padding, dilation):
    rows, columns = outputs(x[2], w[2], stride, padding, dilation), outputs(x[3], w[3], stride, padding, dilation)
    return 2 * x[0] * w[0] * rows * columns * w[1] * w[2] * w[3], x[0] * w[0] * rows * columns


def elements(dims):
    count = 1
    for size in dims:
        count *= size
    return count


X, W = [2, 6, 17, 13], [8, 3, 3, 3]  # of two groups
CONV, PLACES = convolution(X, W, 2, 1, 2)
DY = [2, 8, PLACES // 16 // 6, 6]
T, U = [2, 4, 5, 5], [4, 6, 3, 3]  # transposed: 4 channels to 6; each element of the input meets each of the filter's 6 x 3 x 3
Q, K = [2, 4, 10, 16], [2, 4, 14, 16]
F, B = "float", "c10::BFloat16"
LISTS = ["", "", "", "[2, 2]", "[1, 1]", "[2, 2]", "False", "[0, 0]", "2"]

# name, inputs, type, values, kernels with their times in us, FLOP (None: unknown), bytes, arithmetic
CASES = [
    ("aten::mm", [[32, 48], [48, 64]], F, [], [("ampere_sgemm_128x64_tn", 20)], product([32, 48], [48, 64]),
     4 * (32 * 48 + 48 * 64 + 32 * 64), "fp32"),
    ("aten::mm", [[64, 48], [48, 64]], F, [], [("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n", 20)], product([64, 48], [48, 64]),
     4 * (2 * 64 * 48 + 64 * 64), "tf32"),
    ("aten::addmm", [[64], [32, 48], [48, 64], [], []], B, [], [("gemm", 9), ("splitKreduce", 3)], product([32, 48], [48, 64]),
     2 * (64 + 32 * 48 + 48 * 64 + 32 * 64), "bf16"),
    ("aten::bmm", [[3, 8, 5], [3, 5, 7]], B, [], [("gemm", 4)], product([3, 8, 5], [3, 5, 7]), 2 * (3 * 8 * 5 + 3 * 5 * 7 + 3 * 8 * 7), "bf16"),
    ("aten::linear", [[2, 5, 12], [9, 12], [9]], B, [], [("gemm", 4)], product([10, 12], [12, 9]), 2 * (120 + 108 + 9 + 90), "bf16"),
    ("aten::convolution", [X, W, [8], [], [], [], [], [], []], B, LISTS, [("implicit_gemm", 30)], CONV,
     2 * (elements(X) + elements(W) + PLACES), "bf16"),
    ("aten::cudnn_convolution", [X, W] + [[]] * 6, F, ["", "", "[1, 1]", "[2, 2]", "[2, 2]", "2", "False", "False"],
     [("xmma_fprop_implicit_gemm_tf32f32", 31)], CONV, 4 * (elements(X) + elements(W) + PLACES), "tf32"),
    ("aten::convolution", [T, U] + [[]] * 7, B, ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[1, 1]", "1"], [("dgrad", 12)],
     2 * elements(T) * 6 * 3 * 3, 2 * (elements(T) + elements(U) + 2 * 6 * 10 * 10), "bf16"),
    ("aten::convolution_backward", [DY, X, W] + [[]] * 8, B, LISTS[:3] + [""] + LISTS[3:] + ["[True, True, False]"], [("dgrad", 30), ("wgrad", 40)],
     2 * CONV, 4 * (elements(DY) + elements(X) + elements(W)), "bf16"),
    ("aten::convolution_backward", [DY, X, W] + [[]] * 8, B, LISTS[:3] + [""] + LISTS[3:] + ["[False, True, False]"], [("wgrad", 40)],
     CONV, 2 * (elements(DY) + elements(X) + elements(W)), "bf16"),
    ("aten::_scaled_dot_product_flash_attention", [Q, K, K, [], []], B, ["", "", "", "0.", "True"], [("flash_fwd_kernel", 7)],
     product([8, 10, 16], [8, 16, 14]) + product([8, 10, 14], [8, 14, 16]), 2 * (2 * elements(Q) + 2 * elements(K)), "bf16"),
    ("aten::_scaled_dot_product_flash_attention_backward", [Q, Q, K, K, Q], B, [], [("flash_bwd_kernel", 17)],
     2 * (product([8, 10, 16], [8, 16, 14]) + product([8, 10, 14], [8, 14, 16])), 4 * (2 * elements(Q) + 2 * elements(K)), "bf16"),
    ("aten::add_", [[16, 8], [8]], F, [], [("elementwise_kernel", 2)], 128, 4 * (128 + 128 + 8), "fp32"),
    ("aten::copy_", [[16, 8], [16, 8]], F, [], [("elementwise_kernel", 2)], 0, 4 * 256, ""),
    # what does not tell: no values, a list of tensors, other sizes, no types, beyond all numbers, broken off
    ("aten::cudnn_convolution", [X, W], F, [], [("fprop", 3)], None, None, ""),
    ("aten::_foreach_add_", [[[4], [5]], []], F, [], [("multi_tensor_apply_kernel", 3)], None, None, ""),
    ("aten::mm", [[32, 48], [47, 64]], F, [], [("gemm", 3)], None, None, ""),
    ("aten::mm", [[32, 48], [48, 66]], "Alien", [], [("gemm", 3)], None, None, ""),
    ("aten::mm", [[-5, 48], [48, 65]], F, [], [("gemm", 3)], None, None, ""),
    ("aten::convolution", [X, W, [8]] + [[]] * 6, B, LISTS[:3] + ["[0, 0]"] + LISTS[4:], [("fprop", 3)], None, None, ""),
    ("aten::convolution", [X, W, [9]] + [[]] * 6, B, LISTS[:3] + ["[99999999999999999999"] + LISTS[4:], [("fprop", 3)], None, None, ""),
    ("aten::convolution", [X[:3] + [2**62], W, [7]] + [[]] * 6, B, LISTS, [("fprop", 3)], None, None, ""),
    ("aten::convolution", [X[:3] + [2**39], W, [7]] + [[]] * 6, B, LISTS, [("fprop", 3)], None, None, ""),
    ("aten::convolution", [[2] * 9, [2] * 9], B, LISTS, [("fprop", 3)], None, None, ""),
]


def write(folder):
    events, host, device, correlation = [], 1000.0, 1000.0, 0

    def event(category, name, begin, duration, track, **arguments):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if track < 100 else 1, "tid": track, "ts": begin, "dur": duration, "args": arguments})

    for step in range(STEPS):
        start = host
        for name, dims, kind, values, kernels, *_ in CASES:
            begin = host
            for kernel, duration in kernels:
                correlation += 1
                event("cuda_runtime", "cudaLaunchKernel", host + 1, 2, 1, correlation=correlation)
                device = max(device, host + 3)
                event("kernel", kernel, device, duration, 107, stream=7, correlation=correlation, device=0, context=1)
                device += duration
                host += 4
            event("cpu_op", name, begin, host - begin, 1, **{"Input Dims": dims, "Input type": [kind if row or name == "aten::convolution" else "" for row in dims],
                                                             **({"Concrete Inputs": values} if values else {})})
            host += GAP
        event("user_annotation", f"ProfilerStep#{step}", start, host - start, 1)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "rank0.json"), "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}],
                   "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events}, file)


def shape_of(dims):
    return ["x".join(map(str, row)) for row in dims if row and not isinstance(row[0], list)]


def check_case(rows, case, number):
    name, dims, _, _, kernels, flops, moved, arithmetic = case
    time_ns = 1000 * sum(duration for _, duration in kernels)
    place = f"case {number}: {name} {dims}"
    found = [row for row in rows if row["operator"] == name and row["kernels"] == len(kernels) and
             abs((row["time_ns"] if flops is not None else row["uncounted_ns"]) - time_ns) < 1 and
             (flops is None or row["bytes"] == moved)]
    check(bool(found), f"{place}: no row with {len(kernels)} kernels, {time_ns} ns, {moved} bytes")
    for row in found[:1]:
        if flops is None:
            check(not row.get("flops") and not row.get("bytes"), f"{place}: {row.get('flops')} FLOP though nothing tells")
            continue
        check(row["flops"] == flops, f"{place}: {row['flops']} FLOP, counted {flops}")
        check(row["arithmetic"] == arithmetic, f"{place}: {row['arithmetic']}, not {arithmetic}")
        roof = 1e9 * max(flops / A100[arithmetic] if flops else 0, moved / A100["bandwidth"])
        check(abs(row["roof_ns"] - roof) < 1e-6 * roof, f"{place}: at the roof {row['roof_ns']} ns, not {roof}")
        check(abs(row["roof_share"] - roof / time_ns) < 1e-6, f"{place}: {row['roof_share']} of the roof")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        write(scratch)
        result = subprocess.run([PMANALYZE, "roofline", "--json", scratch], capture_output=True, check=False)
        check(result.returncode == 0, f"exit status {result.returncode}: {result.stderr.decode()}")
        report = json.loads(result.stdout)
        for number, case in enumerate(CASES):
            check_case(report["operators"], case, number)
        known = sum(case[5] or 0 for case in CASES)
        check(sum(row["flops"] or 0 for row in report["operators"]) == known, "the operators' FLOP do not add up")
        check(sum(kind["flops"] or 0 for kind in report["kinds"]) == known, f"kinds have {sum(kind['flops'] or 0 for kind in report['kinds'])} FLOP, operators {known}")
        text = subprocess.run([PMANALYZE, "roofline", "--operators", scratch], capture_output=True, check=False).stdout.decode()
        time = sum(duration for case in CASES for _, duration in case[4])
        share = sum(duration for case in CASES if case[5] is not None for _, duration in case[4]) / time
        check(f"{100 * share:.1f}% of the devices' {time:.3f} us" in " ".join(text.split()), f"no share of {100 * share:.1f}%: {text[-200:]}")
        rows = subprocess.run([PMANALYZE, "roofline", "--operators", "--csv", scratch], capture_output=True, check=False).stdout.decode().splitlines()
        check(len(rows) == len(report["operators"]) + 1, f"CSV has {len(rows) - 1} rows, JSON {len(report['operators'])}")
    print("\n".join(failures + [f"{len(CASES)} operators, {len(failures)} wrong"]))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
