"""Device work in a trace that torch.profiler has exported (Chrome's form): by name, and by the phase that launched it."""

PHASES = ("forward", "backward", "optimizer")
DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def kernel_table(trace):
    """A kernel belongs to the range of the training program in which it was launched, from whatever thread: autograd has its
    own. Times in the trace are in us; older versions of PyTorch than 2.4 have cut them to whole ones."""
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    ranges = [
        (float(e["ts"]), float(e["ts"]) + float(e["dur"]), e["name"])
        for e in events
        if e.get("cat") == "user_annotation" and e["name"] in PHASES
    ]
    launched = {
        e["args"]["correlation"]: float(e["ts"])
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})
    }
    kernels, phases, count = {}, dict.fromkeys(PHASES + ("other",), 0.0), 0
    for e in events:
        if e.get("cat") not in DEVICE_WORK:
            continue
        ns = float(e["dur"]) * 1000
        at = launched.get(e.get("args", {}).get("correlation"))
        phase = next((n for b, f, n in ranges if at is not None and b <= at < f), "other")
        row = kernels.setdefault((e["cat"], e["name"]), {"kind": e["cat"], "name": e["name"], "count": 0, "ns": 0.0})
        row["count"] += 1
        row["ns"] += ns
        phases[phase] += ns
        count += 1
    rows = sorted(kernels.values(), key=lambda r: -r["ns"])
    return {"device_ns": sum(r["ns"] for r in rows), "device_count": count, "phases_ns": phases, "kernels": rows}
