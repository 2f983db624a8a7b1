#!/usr/bin/env python3
"""Formats of other profilers: what is read of each, and what is said of files that are none or have lost a part.

usage: importers.py PMANALYZE

The files are written here, event by event, with times that were chosen here: the figures that the report must give are sums of
them.
"""
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

from checking import check, verdict

program = os.path.abspath(sys.argv[1])
STEPS, STEP_US = 8, 1000


def run(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode in (0, 1, 2), f"{arguments}: exit status {done.returncode}")
    return done.stdout + done.stderr


def write(name, content):
    text = content if isinstance(content, (str, bytes)) else json.dumps(content)
    data = text.encode() if isinstance(text, str) else text
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as file:
        file.write(gzip.compress(data) if name.endswith(".gz") else data)
    return name


def says(text, *words):
    flat = " ".join(text.split())
    for word in words:
        check(word in flat, f"{word!r} is not in: {flat[-900:]}")


def silent(text, *words):
    flat = " ".join(text.split())
    for word in words:
        check(word not in flat, f"{word!r} is in: {flat[-900:]}")


# ---- JAX ----

def jax(devices=1, host_alone=False):
    """A step has 4 kernels forward of 50 us, 4 backward of 75 us, and an all-reduce of 100 us."""
    events = [{"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
              {"ph": "M", "pid": 701, "tid": 1, "name": "thread_name", "args": {"name": "python"}}]
    for device in range(0 if host_alone else devices):
        events += [{"ph": "M", "pid": 1 + device, "name": "process_name", "args": {"name": f"/device:GPU:{device} NVIDIA: A100"}},
                   {"ph": "M", "pid": 1 + device, "tid": 14, "name": "thread_name", "args": {"name": "Stream #14(Compute)"}},
                   {"ph": "M", "pid": 1 + device, "tid": 15, "name": "thread_name", "args": {"name": "Stream #15(Comm)"}},
                   {"ph": "M", "pid": 1 + device, "tid": 30, "name": "thread_name", "args": {"name": "XLA Modules"}},
                   {"ph": "M", "pid": 1 + device, "tid": 31, "name": "thread_name", "args": {"name": "XLA Ops"}}]
    number = 0
    for step in range(STEPS):
        start = 1000 + step * STEP_US
        events.append({"ph": "X", "pid": 701, "tid": 1, "name": "train", "ts": start, "dur": STEP_US - 10, "args": {"step_num": str(step)}})
        events.append({"ph": "X", "pid": 701, "tid": 1, "name": "$file.py:3 f", "ts": start + 1, "dur": 20})
        for device in range(0 if host_alone else devices):
            at = start + 40
            events.append({"ph": "X", "pid": 1 + device, "tid": 30, "name": "jit_step", "ts": at, "dur": 900})
            for k in range(8):
                number += 1
                path = "jvp(Net)" if k < 4 else "transpose(jvp(Net))"
                length = 50 if k < 4 else 75
                events.append({"ph": "X", "pid": 701, "tid": 1, "name": "cuLaunchKernel", "ts": start + 2 + k, "dur": 1, "args": {"correlation_id": number}})
                kernel = {"ph": "X", "pid": 1 + device, "tid": 14, "name": f"gemm_fusion_dot_{k}", "ts": at, "dur": length,
                          "args": {"correlation_id": number, "hlo_op": f"dot.{k}", "name": f"jit(step)/jit(main)/{path}/Dense_{k % 4}/dot_general"}}
                events += [kernel, dict(kernel, tid=31)]
                at += length
            events.append({"ph": "X", "pid": 1 + device, "tid": 15, "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ts": at, "dur": 100,
                           "args": {"correlation_id": 0}})
    return {"displayTimeUnit": "ns", "traceEvents": events}


def check_jax():
    write("jax/plugins/profile/day/host.trace.json.gz", jax())
    text = run("report", "jax")
    says(text, "recorded by JAX's profiler, 1 process, 1 GPU", "forward 200.00", "backward 300.00", "communication 100.00", "step markers")
    says(run("layers", "jax"), "Dense_3")
    write("jax2/host.trace.json.gz", jax(2))
    says(run("report", "jax2"), "2 processes, 2 GPUs", "forward 200.00", "backward 300.00")
    write("jaxcpu/host.trace.json.gz", jax(host_alone=True))
    says(run("report", "jaxcpu"), "a profile of the host alone", "/device:GPU:0")


# ---- XPlane: the same profile as protocol buffers ----

def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def xplane(trace):
    """tsl/profiler/protobuf/xplane.proto: a plane for each process, a line for each thread."""
    processes, threads, space = {}, {}, b""
    stats = {"correlation_id": 1, "name": 2, "step_num": 3, "hlo_op": 4}
    for event in trace["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "process_name":
            processes[event["pid"]] = event["args"]["name"]
        elif event["ph"] == "M":
            threads[event["pid"], event["tid"]] = event["args"]["name"]
    for pid, process in processes.items():
        names, lines, texts = {}, b"", dict(stats)
        for (owner, tid), thread in threads.items():
            line = field(1, tid) + field(2, thread) + field(3, 1000)
            for event in trace["traceEvents"]:
                if event["ph"] != "X" or (event["pid"], event.get("tid")) != (pid, tid) or owner != pid:
                    continue
                number = names.setdefault(event["name"], len(names) + 1)
                one = field(1, number) + field(2, (event["ts"] - 1) * 10**6) + field(3, event["dur"] * 10**6)
                for key, value in event.get("args", {}).items():
                    if key in ("correlation_id", "step_num"):
                        one += field(4, field(1, stats[key]) + field(4, int(value)))
                    else:
                        one += field(4, field(1, stats[key]) + field(7, texts.setdefault(value, len(texts) + 1)))
                line += field(4, one)
            lines += field(3, line)
        tables = b"".join(field(4, field(1, number) + field(2, field(1, number) + field(2, name))) for name, number in names.items())
        tables += b"".join(field(5, field(1, number) + field(2, field(1, number) + field(2, name))) for name, number in texts.items())
        space += field(1, field(2, process) + lines + tables)
    return space + field(4, "host")


def figures(text):
    return [line for line in text.splitlines() if line.split(" ")[0] in ("Step:", "forward", "backward", "communication", "iteration")]


def check_xplane():
    for devices in (1, 2):
        space = xplane(jax(devices))
        write(f"xplane{devices}/plugins/profile/day/host.xplane.pb", space)
        write(f"json{devices}/host.trace.json.gz", jax(devices))
        text = run("report", f"xplane{devices}")
        says(text, "recorded by JAX's profiler", "forward 200.00", "backward 300.00", "communication 100.00", f"{devices} GPU")
        check(figures(text) == figures(run("report", f"json{devices}")), "the JSON of the profile has other figures than its XPlane")
    # Beside its JSON it is one profile, not two ranks.
    write("xplane1/plugins/profile/day/host.trace.json.gz", jax())
    write("xplane1/plugins/profile/day/perfetto_trace.json.gz", jax())
    says(run("report", "xplane1"), "1 process, 1 GPU")
    space = xplane(jax())
    for cut in (1, 2, 40, len(space) // 2, len(space) - 7):
        text = run("report", write("cut.xplane.pb", space[:cut]))
        check("cut.xplane.pb: " in text, f"an XPlane cut at {cut} is not noticed: {text[-300:]}")
    for k in range(0, len(space), len(space) // 60):
        run("report", write("odd.xplane.pb", space[:k] + bytes([space[k] ^ 0x5a]) + space[k + 1:]))
    says(run("report", write("alone.xplane.pb", xplane(jax(host_alone=True)))), "a profile of the host alone")


# ---- Ascend ----

def ascend():
    events = [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}} for pid, name in
              ((11, "Python"), (12, "CANN"), (13, "Ascend Hardware"), (14, "Communication"), (15, "Overlap Analysis"))]
    number = 0
    for step in range(STEPS):
        start = 1000 + step * STEP_US
        events.append({"ph": "X", "pid": 11, "tid": 1, "cat": "cpu_op", "name": f"ProfilerStep#{step}", "ts": f"{start}.000", "dur": STEP_US - 10})
        for k in range(5):
            number += 1
            events.append({"ph": "X", "pid": 12, "tid": 2, "name": "Node@launch", "ts": f"{start + 10 + k}.000", "dur": 1, "args": {"connection_id": number}})
            events.append({"ph": "X", "pid": 13, "tid": 3, "name": "aclnnMatmul_MatMulV2", "ts": f"{start + 20 + 60 * k}.000", "dur": 60,
                           "args": {"Stream Id": 3, "connection_id": number}})
        for pid, tid in ((13, 9), (14, 1)):
            events.append({"ph": "X", "pid": pid, "tid": tid, "name": f"hcom_allReduce__203_{step}_1", "ts": f"{start + 400}.000", "dur": 200})
        events.append({"ph": "X", "pid": 15, "tid": 1, "name": "Computing", "ts": f"{start + 20}.000", "dur": 300})
    return events


def check_ascend():
    write("ascend/trace_view.json", ascend())
    says(run("report", "ascend"), "recorded by Ascend's profiler, 1 process, 1 GPU", "communication 200.00", "other 300.00")
    says(run("comm", "ascend"), "AllReduce")


# ---- rocprofv3 ----

def rocpd(name):
    """The tables that are read, with the columns that they have in schema 3; a step as Ascend's, a process of two GPUs."""
    base, u = sqlite3.connect(name), "_0000a1b2"
    for table, columns in (("string", "id, guid, string"), ("info_process", "id, guid, nid, ppid, pid, command"), ("info_thread", "id, guid, nid, pid, tid"),
                           ("info_agent", "id, guid, nid, pid, type, absolute_index, logical_index, type_index, name"),
                           ("info_kernel_symbol", "id, guid, nid, pid, code_object_id, kernel_name, display_name"),
                           ("event", "id, guid, category_id, stack_id, parent_stack_id, correlation_id"),
                           ("region", "id, guid, nid, pid, tid, start, end, name_id, event_id"),
                           ("kernel_dispatch", "id, guid, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end, event_id"),
                           ("memory_copy", "id, guid, nid, pid, tid, start, end, name_id, dst_agent_id, src_agent_id, size, queue_id, stream_id, event_id")):
        base.execute(f'CREATE TABLE "rocpd_{table}{u}" ({", ".join(chr(34) + column.strip() + chr(34) for column in columns.split(","))})')

    def add(table, **values):
        names = ", ".join(f'"{key}"' for key in values)
        base.execute(f'INSERT INTO "rocpd_{table}{u}" ({names}) VALUES ({", ".join("?" * len(values))})', list(values.values()))

    for number, text in enumerate(("HIP_RUNTIME_API", "MARKER_CORE_API", "HSA_CORE_API", "hipLaunchKernel", "hsa_signal_create", "MEMORY_COPY_HOST_TO_DEVICE")):
        add("string", id=number, string=text)
    add("info_process", id=1, pid=4444)
    add("info_thread", id=1, pid=1, tid=4445)
    for agent, kind in ((1, "CPU"), (2, "GPU"), (3, "GPU")):
        add("info_agent", id=agent, pid=1, type=kind, absolute_index=agent - 1, name="MI300")
    add("info_kernel_symbol", id=1, kernel_name="_Z4gemmv", display_name="gemm")
    add("info_kernel_symbol", id=2, kernel_name="ncclDevKernel_AllReduce_Sum_f32", display_name=None)
    number = 0
    for step in range(STEPS):
        start = 10**9 + step * STEP_US * 1000
        add("string", id=100 + step, string=f"step {step}")
        add("event", id=(number := number + 1), category_id=1, stack_id=number)
        add("region", pid=1, tid=1, start=start, end=start + STEP_US * 990, name_id=100 + step, event_id=number)
        for agent in (2, 3):
            for k in range(4):
                add("event", id=(number := number + 1), category_id=0, stack_id=number)
                call = number
                add("region", pid=1, tid=1, start=start + 1000 + 1000 * k, end=start + 1500 + 1000 * k, name_id=3, event_id=call)
                add("event", id=(number := number + 1), category_id=2, stack_id=number)
                add("region", pid=1, tid=1, start=start + 1100 + 1000 * k, end=start + 1200 + 1000 * k, name_id=4, event_id=number)
                add("event", id=(number := number + 1), stack_id=call)
                at, length, kernel = start + 100000 * (k + 1), 100000, 1
                if k == 3:
                    length, kernel = 50000, 2
                add("kernel_dispatch", pid=1, tid=1, agent_id=agent, kernel_id=kernel, queue_id=1, stream_id=k == 3, start=at, end=at + length, event_id=number)
            add("memory_copy", pid=1, tid=1, start=start + 50000, end=start + 60000, name_id=5, dst_agent_id=agent, src_agent_id=1, size=1000, stream_id=0)
    base.execute(f'CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM "rocpd_kernel_dispatch{u}"')
    base.commit()
    base.close()
    return name


def rocprof_json(alone=False):
    """The same run as rocpd's, as --output-format json has it."""
    kinds = [{"kind": "NONE", "operations": []}, {"kind": "HIP_RUNTIME_API", "operations": ["hipFree", "hipLaunchKernel"]}]
    kernels, copies, calls, ranges, texts, number = [], [], [], [], [], 0
    for step in range(STEPS):
        start = 10**9 + step * STEP_US * 1000
        number += 1
        texts.append({"key": number, "value": f"step {step}"})
        ranges.append({"kind": 0, "operation": 0, "thread_id": 4445, "correlation_id": {"internal": number, "external": 0}, "start_timestamp": start,
                       "end_timestamp": start + STEP_US * 990})
        for agent in (2, 3):
            for k in range(4):
                number += 1
                one = {"thread_id": 4445, "correlation_id": {"internal": number, "external": 0}}
                calls.append({**one, "kind": 1, "operation": 1, "start_timestamp": start + 1000 + 1000 * k, "end_timestamp": start + 1500 + 1000 * k})
                at = start + 100000 * (k + 1)
                kernels.append({**one, "start_timestamp": at, "end_timestamp": at + (50000 if k == 3 else 100000), "stream_id": {"handle": int(k == 3)},
                                "dispatch_info": {"agent_id": {"handle": agent}, "queue_id": {"handle": 1}, "kernel_id": 2 if k == 3 else 1}})
            copies.append({"correlation_id": {"internal": 0, "external": 0}, "start_timestamp": start + 50000, "end_timestamp": start + 60000, "bytes": 1000,
                           "dst_agent_id": {"handle": agent}, "src_agent_id": {"handle": 1}})
    process = {"metadata": {"pid": 4444}, "agents": [{"id": {"handle": 1}, "type": 1, "name": "CPU"}] +
               [{"id": {"handle": agent}, "type": 2, "name": "gfx942", "product_name": "MI300"} for agent in (3, 2)],
               "strings": {"buffer_records": kinds, "marker_api": texts},
               "kernel_symbols": [{"kernel_id": 1, "kernel_name": "_Z4gemmv", "demangled_kernel_name": "gemm"},
                                  {"kernel_id": 2, "kernel_name": "ncclDevKernel_AllReduce_Sum_f32"}],
               "callback_records": {}, "buffer_records": {"kernel_dispatch": kernels, "memory_copy": copies, "hip_api": calls, "marker_api": ranges}}
    return {"rocprofiler-sdk-tool": process if alone else [process]}


def check_rocprof_json():
    content = rocprof_json()
    for name, what in (("r/out_results.json", content), ("s/out_results.json", rocprof_json(alone=True)), ("t/out_results.json.gz", content)):
        text = run("report", write(name, what))
        says(text, "recorded by rocprofv3, 2 processes, 2 GPUs", "step markers", "communication 50.00", "other 300.00", "host to device 10.00")
        check(run("kernels", "--csv", name) == run("kernels", "--csv", "x_results.db"), f"{name}: other kernels than in the database of the same run")
    whole = json.dumps(content)
    for cut in (30, 200, len(whole) // 2, len(whole) - 1):
        says(run("report", write("cut.json", whole[:cut])), "cut.json: byte")
    says(run("report", write("empty.json", {"rocprofiler-sdk-tool": []})), "no kernel or copy in \"buffer_records\"", "--output-format json")
    for odd in (None, 5, "x", [[]], [None], [{"buffer_records": {"kernel_dispatch": [1, {}, {"dispatch_info": 3}]}}]):
        says(run("report", write("odd.json", {"rocprofiler-sdk-tool": odd})), "no kernel or copy")
    wrong_times = rocprof_json()
    for record in wrong_times["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"]:
        record["end_timestamp"] = 1e300
    check("Traceback" not in run("report", write("times.json", wrong_times)), "times beyond all numbers")


def check_rocpd():
    text = run("report", rocpd("x_results.db"))
    says(text, "recorded by rocprofv3, 2 processes, 2 GPUs", "step markers", "communication 50.00", "other 300.00", "host to device 10.00")
    with open("x_results.db", "rb") as file:
        whole = file.read()
    for cut in (100, 5000, len(whole) // 2):
        check("cut.db: " in run("report", write("cut.db", whole[:cut])), f"a database cut at {cut} is not noticed")
    base = sqlite3.connect("empty.db")
    base.execute('CREATE TABLE "rocpd_kernel_dispatch_a;b" (x)')
    base.commit()
    base.close()
    says(run("report", "empty.db"), "no kernel or copy in the database")


# ---- Kineto: records that are lost, communication by name ----

def kineto(rank=0, world=1, lost=lambda step, k: False, no_time=lambda step, k: False, kernel="gemm", exchange=None, collective=False):
    """A step has 6 kernels of 100 us, of which the last is the exchange where there is one."""
    events, number = [], 0
    for step in range(STEPS):
        start = 5_000_001_000 + step * STEP_US
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 9, "ts": start, "dur": STEP_US - 10})
        for k in range(6):
            number += 1
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": start + 5 + 3 * k, "dur": 2,
                           "args": {"correlation": number}})
            name = exchange if exchange and k == 5 else f"{kernel}_{k}"
            event = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start + 20 + 100 * k, "dur": 100,
                     "args": {"device": 0, "stream": 7, "correlation": number}}
            if collective and k == 5:
                event["args"].update({"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float",
                                      "Group size": world, "Process Group Name": "0"})
            if no_time(step, k):
                event.update({"ts": 0, "dur": 0})
            if not lost(step, k):
                events.append(event)
    return {"distributedInfo": {"rank": rank, "world_size": world}, "deviceProperties": [{"id": 0, "name": "A100"}], "traceEvents": events}


def check_lost():
    whole = run("report", write("whole.json", kineto()))
    says(whole, "7 of 8 used")
    silent(whole, "Lost", "no kernel with a time")
    one = run("report", write("one.json", kineto(lost=lambda step, k: step == 4 and k == 2)))
    says(one, "Lost: 1 device times", "1 launches have no kernel with a time", "without device times", "other 600.00")
    for name, how in (("all.json", {"lost": lambda step, k: k == step % 5}), ("zero.json", {"no_time": lambda step, k: k == step % 5})):
        text = run("report", write(name, kineto(**how)))
        says(text, "Lost: 8 device times", "8 launches have no kernel with a time", "no iterations found")
        silent(text, "idle", "Step:")
    says(run("report", "zero.json"), "8 device events have no time (0)")


EXCHANGES = ("oneccl_allreduce_large", "void deep_ep::intranode::dispatch<768, 8>(int*)", "nvshmemi_transfer_kernel",
             "void multimem_all_reduce_kernel<c10::BFloat16>(c10::BFloat16*)", "void vllm::cross_device_reduce_1stage<__half, 2>(int)",
             "void (anonymous namespace)::two_shot_all_reduce_kernel<float>(int)", "mscclpp::allreduce7<int>",
             "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half>(int)")
COMPUTES = ("void deep_ep::layout::get_dispatch_layout<256>(int)", "void softmax<WarpAllReduce<float>>(float*)", "blockAllReduceSum",
            "void at::native::reduce_kernel<512, 1>(int)")


def check_exchanges():
    for name in EXCHANGES:
        says(run("report", write("named.json", kineto(exchange=name))), "communication 100.00")
    for name in COMPUTES:
        says(run("report", write("named.json", kineto(exchange=name))), "No time: host to device, communication")
    # What the profiler itself recorded of the collective comes first.
    says(run("report", write("said.json", kineto(exchange="my_kernel", collective=True, world=1))), "communication 100.00")
    ranks = [write(f"swap/rank-{rank}.json", kineto(rank, 2, exchange="peer_swap")) for rank in range(2)]
    says(run("report", "swap"), "2 ranks and no communication", "peer_swap", "--comm-pattern")
    says(run("report", "--comm-pattern", "peer_", "swap"), "communication 100.00")
    silent(run("report", "--comm-pattern", "peer_", "swap"), "no communication")
    write("patterns", "# ours\npeer_\n\nanother_[0-9]+\n")
    says(run("report", "--comm-pattern", "@patterns", *ranks), "communication 100.00")
    says(run("report", "--comm-pattern", "@none", *ranks), "none: No such file")
    write("patterns", "# ours\npeer_\n\n\n(\n")
    says(run("report", "--comm-pattern", "@patterns", *ranks), "patterns: line 5")


# ---- What is none ----

def check_refused():
    for content, words in ((b"", "an empty file"), (b"hello there\n", "text, neither"), (b"\x7fELF\2\1\1", "an ELF program"),
                           (b"PK\3\4abc", "a ZIP archive"), (b"\x28\xb5\x2f\xfdabc", "zstd -d"), (b"\1\2\3\4\5", "of no format that is known")):
        for name in ("odd", "odd.json"):
            text = run("report", write(name, content))
            says(text, "byte 0: not a trace", words, *(["Nsight Systems", "*.pmtrace"] if content else []))
    says(run("report", write("x.nsys-rep", b"\1\2\3")), "nsys export --type sqlite")
    other = [{"ph": "X", "pid": 1, "tid": 1, "name": "TabStrip::paint", "ts": 1, "dur": 2}]
    says(run("report", write("chrome.json", other)), "Chrome-trace JSON of no profiler that is known", "TabStrip::paint")
    # A host's process is no GPU, by whatever name.
    host = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "python train.py"}}] + [
        {"ph": "X", "pid": 1, "tid": 1, "name": "hipLaunchKernel", "ts": 10 * k, "dur": 2} for k in range(9)]
    silent(run("report", write("host.json", host)), "GPU,", "1 GPU", "Step:")


def main():
    with tempfile.TemporaryDirectory(prefix="pm_importers.") as folder:
        os.chdir(folder)
        check_refused()
        check_jax()
        check_xplane()
        check_ascend()
        check_rocpd()
        check_rocprof_json()
        check_lost()
        check_exchanges()
        os.chdir("/")
    sys.exit(verdict("importers"))


main()
