"""A program of testapps/frameworks under its framework's own profiler: profiled.py pytorch|jax|tensorflow STEPS TRACE NET [OPTION...].

Prints a line of JSON: phase, kernel, operation and times in ns, as the profiler's names say it; what they say nothing of is "unknown". TRACE is a folder
for the profiler. Copies from and to the host are left out. XLA's profiler names a fusion by what its operations' names begin with, which may be the
program alone: in the text of the compiled program, which XLA writes, each has that of its result.
"""
import collections
import glob
import json
import os
import re
import sys

framework, steps, trace = sys.argv[1], int(sys.argv[2]), sys.argv[3]
sys.argv = [f"train_{framework}.py", *sys.argv[4:], "--steps", str(steps)]
sys.path.insert(0, os.path.join(os.environ["SOURCE"], "testapps", "frameworks"))


def pytorch():
    from torch.profiler import ProfilerActivity, profile

    import train_pytorch
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        train_pytorch.main()
    os.makedirs(trace, exist_ok=True)
    profiler.export_chrome_trace(os.path.join(trace, "trace.json"))
    with open(os.path.join(trace, "trace.json")) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    ranges = [e for e in events if e.get("cat") in ("cpu_op", "user_annotation") and e["name"].startswith(("autograd::engine", "Optimizer.step"))]
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memset", "gpu_memcpy") or event["name"].startswith(("Memcpy HtoD", "Memcpy DtoH")):
            continue
        call = calls[event["args"]["correlation"]]
        around = [r["name"] for r in ranges if r["tid"] == call["tid"] and r["ts"] <= call["ts"] <= r["ts"] + r["dur"]]
        phase = "update" if any(n.startswith("Optimizer") for n in around) else "backward" if around else "forward"
        yield phase, event["name"], "", 1000 * float(event["dur"])


def planes(read):
    """Name, statistics and ns of what the GPUs did, of XLA's profiler."""
    plugin = glob.glob(os.path.join(trace, "plugins", "profile", "*", "*.xplane.pb"))
    for plane in read(plugin[0]):
        for line in plane[1] if "GPU" in plane[0] else []:
            for event in line:
                if event[0] not in ("MemcpyH2D", "MemcpyD2H"):
                    yield event


def operations_of(path):
    """By instruction of a compiled program: the operation whose result it is."""
    with open(path) as file:
        return dict(found.groups() for found in map(re.compile(r'\s+(?:ROOT )?%(\S+) = .*op_name="([^"]*)"').match, file) if found)


def jax():
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={trace}/xla --xla_dump_hlo_as_text --xla_dump_hlo_module_re=.*train_step"
    import jax

    import train_jax
    with jax.profiler.trace(trace):
        train_jax.main()

    def read(path):
        for plane in jax.profiler.ProfileData.from_file(path).planes:
            yield plane.name, [[(e.name, dict(e.stats), e.duration_ns) for e in line.events] for line in plane.lines]
    program = operations_of(glob.glob(os.path.join(trace, "xla", "*train_step*gpu_after_optimizations.txt"))[0])
    for name, stats, ns in planes(read):
        if "hlo_module" in stats and "train_step" not in stats["hlo_module"]:
            continue
        operation = program.get(str(stats.get("hlo_op", "")), str(stats.get("name", "")))
        phase = "backward" if "transpose(" in operation else "forward" if "jvp(" in operation else "update" if "/" in operation else "unknown"
        yield phase, name, operation, ns


def tensorflow():
    import tensorflow as tf
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    import train_tensorflow
    tf.profiler.experimental.start(trace)
    train_tensorflow.main()
    tf.profiler.experimental.stop()

    def read(path):
        space = xplane_pb2.XSpace()
        with open(path, "rb") as file:
            space.ParseFromString(file.read())
        for plane in space.planes:
            names = {key: value.name for key, value in plane.stat_metadata.items()}
            lines = []
            for line in plane.lines:
                lines.append([(plane.event_metadata[e.metadata_id].name,
                               {names[s.metadata_id]: s.str_value or names.get(s.ref_value, "") for s in e.stats}, e.duration_ps / 1000)
                              for e in line.events])
            yield plane.name, lines
    for name, stats, ns in planes(read):
        operation = stats.get("tf_op", "")
        if operation.count("/") == 1:  # in no scope of model, loss or optimizer: Keras' metrics
            operation = ""
        phase = "backward" if "gradient_tape/" in operation else "update" if "/sgd/" in operation.lower() else "forward" if operation else "unknown"
        yield phase, name, operation, ns


def main():
    kinds = collections.defaultdict(list)
    for phase, name, operation, ns in {"pytorch": pytorch, "jax": jax, "tensorflow": tensorflow}[framework]():
        kinds[phase, name, operation].append(ns)
    print(json.dumps([[*key, times] for key, times in kinds.items()]))


main()
