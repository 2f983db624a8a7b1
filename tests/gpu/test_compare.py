"""compare.py and kernel_table.py on made-up runs whose answer is known: what agrees passes, and each single thing that is wrong
is found. Usage: test_compare.py, in an empty folder."""
import copy
import csv
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import kernel_table  # noqa: E402

STEPS, US = 10, 1000
# kernels of one step: mangled name as CUPTI says it, the name that people read, phase, ns
KERNELS = [
    ("_Z7forwardPf", "forward(float*)", "forward", 300 * US),
    ("_ZN3net8backwardIfEEvPT_", "void net::backward<float>(float*)", "backward", 600 * US),
    ("sgemm_32x32", "sgemm_32x32", "backward", 50 * US),
    ("_Z6updatePf", "update(float*)", "optimizer", 100 * US),
]
COPY_NS = 20 * US


def reference():
    rows = [{"kind": "kernel", "name": n, "count": STEPS, "ns": STEPS * ns} for _, n, _, ns in KERNELS]
    rows.append({"kind": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "count": STEPS, "ns": STEPS * COPY_NS})
    phases = {"forward": 0, "backward": 0, "optimizer": 0, "other": STEPS * COPY_NS}
    for _, _, phase, ns in KERNELS:
        phases[phase] += STEPS * ns
    return {
        "steps": STEPS,
        "device_ns": sum(r["ns"] for r in rows),
        "device_count": 5 * STEPS,
        "phases_ns": phases,
        "kernels": rows,
    }


def run_of(iterations):
    """A hooked run: each iteration is 2 ms long; the device is 5 ms behind the host, so it works in later iterations. All but
    the last ones, which are compared, are slower."""
    ops = [("1", "cudaLaunchKernel", ""), ("2", "memcpy", "bytes=4096 dir=H2D")]
    for i, (name, _, _, _) in enumerate(KERNELS):
        values = 'name="%s" grid_x=1 grid_y=1 grid_z=1 block_x=1 block_y=1 block_z=1 shared=0' % name
        ops.append((str(10 + i), "kernel", values))
    records, correlation = [], 0
    for k in range(iterations):
        at = 1000 * US + k * 2000 * US
        for i, op in enumerate(["2"] + [str(10 + i) for i in range(len(KERNELS))]):
            ns = COPY_NS if op == "2" else KERNELS[int(op) - 10][3]
            ns *= 1 if k >= iterations - STEPS else 2
            correlation += 1
            records.append(["1", "call", at + i * US, 500, 1, correlation, 0, "", "", "", "1", "cudaLaunchKernel"])
            function = "memcpy" if op == "2" else "kernel"
            records.append(["2", "device", at + 5000 * US + i * 400 * US, ns, 1, correlation, 0, "", "", "a", op, function])
    spans = [(1000 * US + k * 2000 * US, 1000 * US + (k + 1) * 2000 * US) for k in range(iterations)]
    busy = {"forward": 300 * US, "backward": 650 * US, "update": 100 * US, "h2d": COPY_NS, "other": 0}
    report = {
        "device_times": "cupti",
        "iterations_found": iterations,
        "found_by": "updates",
        "phases": [{"phase": p, "busy_ns": ns} for p, ns in busy.items()] + [{"phase": "idle: host", "busy_ns": None}],
    }
    return {"ops": ops, "records": records, "spans": spans, "report": report, "reference": reference()}


def write_csv(path, header, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header.split(","))
        writer.writerows(rows)


def compare(run, *options):
    for name in ("reference", "report"):
        with open(name + ".json", "w") as file:
            json.dump(run[name], file)
    write_csv("ops.csv", "number,calls,device_intervals,function,values,site", [(n, 1, 1, f, v, "") for n, f, v in run["ops"]])
    write_csv(
        "records.csv",
        "thread,kind,start_ns,duration_ns,queue,correlation,result,sequence,group,flags,op,function",
        run["records"],
    )
    write_csv(
        "iterations.csv",
        "run,rank,device,iteration,kind,start_ns,end_ns,phase,busy_ns,exclusive_ns",
        [
            ("run", 0, 0, k, "used" if k else "warmup", b, e, phase, 1, 1)
            for k, (b, e) in enumerate(run["spans"])
            for phase in ("forward", "iteration")
        ],
    )
    command = [sys.executable, os.path.join(HERE, "compare.py"), *options]
    command += ["reference.json", "report.json", "iterations.csv", "records.csv", "ops.csv"]
    return subprocess.run(command, capture_output=True, text=True)


def slower_kernel(run):
    for r in run["records"]:
        if r[1] == "device" and r[10] == "11":
            r[3] = int(r[3] * 1.03)


def other_phase(run):
    run["report"]["phases"][0]["busy_ns"] *= 1.04
    run["report"]["phases"][1]["busy_ns"] -= 0.04 * 300 * US


def renamed(run):
    run["ops"] = [(n, f, v.replace("_Z6updatePf", "_Z7anotherPf")) for n, f, v in run["ops"]]


def lost(run):
    """One of the intervals of two iterations in three, short as it is."""
    records = [r for r in run["records"] if not (r[1] == "device" and r[10] == "12" and r[5] % 3)]
    run["records"] = records


def too_few(run):
    run["spans"] = run["spans"][:3]


def no_times(run):
    run["records"] = [r for r in run["records"] if r[1] == "call"]


def two_ranks(run):
    run["spans"] = run["spans"] * 2


CASES = [
    # what is wrong, options, exit status, what is said
    (lambda run: None, (), 0, "4 of 4 kernels"),
    (lambda run: None, ("--made", "30"), 0, "30 iterations found"),
    (lambda run: None, ("--made", "33"), 1, "NOT OK: 30 iterations found"),
    (slower_kernel, (), 1, "device time, us"),
    (slower_kernel, ("--total", "0.05"), 0, ""),
    (other_phase, (), 1, "forward, us"),
    (other_phase, ("--phase", "0.1"), 0, ""),
    (renamed, (), 1, "not in the trace"),
    (lost, ("--total", "0.5"), 1, "another number"),
    (too_few, (), 2, "cannot compare"),
    (no_times, (), 2, "no device times"),
    (lambda run: run["reference"].update(device_ns=0), (), 2, "no device time"),
    (lambda run: run["report"].pop("device_times"), (), 2, "device_times"),
    (lambda run: run["report"].update(device_times="events"), (), 0, "not compared by name"),
    (lambda run: run["reference"].update(phases_ns={"forward": 0, "backward": 0, "optimizer": 0, "other": 1}), (), 0, "captured"),
]


def check_compare():
    bad, good = 0, run_of(30)
    for change, options, status, said in CASES:
        run = copy.deepcopy(good)
        change(run)
        result = compare(run, *options)
        if result.returncode != status or said not in result.stdout + result.stderr:
            print("not ok: %s %s: status %d\n%s%s" % (change, options, result.returncode, result.stdout, result.stderr))
            bad += 1
    return bad


def check_table():
    """A launch in each range, one from another thread, one from a graph outside of all, one whose launch is not known."""

    def event(cat, name, ts, dur, correlation=None, tid=1):
        args = {} if correlation is None else {"correlation": correlation}
        return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "tid": tid, "args": args}

    events = [
        event("user_annotation", "forward", 0, 10),
        event("user_annotation", "backward", 10, 10),
        event("user_annotation", "optimizer", 20, 10),
        event("user_annotation", "ProfilerStep#1", 0, 100),
        event("cuda_runtime", "cudaLaunchKernel", 1, 1, 1),
        event("cuda_runtime", "cudaLaunchKernel", 12, 1, 2, tid=2),
        event("cuda_driver", "cuLaunchKernelEx", 21, 1, 3),
        event("cuda_runtime", "cudaGraphLaunch", 50, 1, 4),
        event("gpu_user_annotation", "forward", 15, 100),
        event("kernel", "a", 101, 2.5, 1),
        event("kernel", "b", 104, 3, 2),
        event("kernel", "c", 108, 4, 3),
        event("kernel", "a", 113, 5, 4),
        event("gpu_memset", "Memset (Device)", 120, 1, 9),
        {"ph": "s", "cat": "ac2g", "name": "ac2g", "ts": 1},
    ]
    table = kernel_table.kernel_table({"traceEvents": events})
    wanted = {
        "device_ns": 15500.0,
        "device_count": 5,
        "phases_ns": {"forward": 2500.0, "backward": 3000.0, "optimizer": 4000.0, "other": 6000.0},
    }
    for key, value in wanted.items():
        if table[key] != value:
            print("not ok: kernel_table: %s is %s instead of %s" % (key, table[key], value))
            return 1
    return 0 if [k["count"] for k in table["kernels"] if k["name"] == "a"] == [2] else 1


if __name__ == "__main__":
    sys.exit(1 if check_compare() + check_table() else 0)
