"""Makes the seeds of the fuzz targets: fuzz_seeds.py BUILD FOLDER. Small files that the readers take, by the tests' own makers and
by hand; and those that once broke a reader. Each target has a folder of its own."""
import gzip
import json
import os
import pickle
import sqlite3
import subprocess
import sys
import zlib

build, folder = sys.argv[1:]


def program(name, *arguments):
    return subprocess.run([os.path.join(build, "bin", name), *arguments], check=True, capture_output=True, text=True).stdout


def path(target, name):
    os.makedirs(os.path.join(folder, target), exist_ok=True)
    return os.path.join(folder, target, name)


def write(target, name, data):
    with open(path(target, name), "wb") as out:
        out.write(data.encode() if isinstance(data, str) else data)


def database(target, name, statements):
    file = path(target, name)
    if os.path.exists(file):
        os.unlink(file)
    base = sqlite3.connect(file)
    base.executescript("PRAGMA page_size = 512;" + statements)
    base.close()


# Our own traces, whole and short, and what is made of them
for name in ("one", "overlap", "graph", "modules", "windows", "killed"):
    at = path("made", name)
    os.makedirs(at, exist_ok=True)
    program("make_trace", at, name)
    for file in sorted(os.listdir(at)):
        with open(os.path.join(at, file), "rb") as trace:
            write("trace", name + file, trace.read())
program("pmanalyze", "export", "--kineto", "-o", path("made", "kineto"), path("made", "one"))
program("pmanalyze", "reduce", "-o", path("made", "sums"), path("made", "overlap"))
for file in os.listdir(path("made", "sums")):
    with open(os.path.join(path("made", "sums"), file), "rb") as summary:
        data = summary.read()
        write("summary", file, data)
        write("summary", file + ".unpacked", zlib.decompress(data[32:]))
for file in os.listdir(path("made", "kineto")):
    with gzip.open(os.path.join(path("made", "kineto"), file)) as trace:
        write("imported", file[:-3], trace.read()[:20000])

# rocprofv3's JSON
rocprof = {"metadata": {"pid": 1}, "agents": [{"id": {"handle": 2}, "type": 2, "name": "gfx942"}], "kernel_symbols": [{"kernel_id": 1, "kernel_name": "gemm"}],
           "strings": {"buffer_records": [{"kind": "HIP", "operations": ["hipLaunchKernel"]}], "marker_api": [{"key": 3, "value": "step 0"}]},
           "buffer_records": {"kernel_dispatch": [{"correlation_id": {"internal": 3}, "start_timestamp": 1000, "end_timestamp": 2000, "stream_id": {"handle": 0},
                                                   "dispatch_info": {"agent_id": {"handle": 2}, "kernel_id": 1}}],
                              "memory_copy": [{"start_timestamp": 1000, "end_timestamp": 2000, "dst_agent_id": {"handle": 2}, "src_agent_id": {"handle": 1}}],
                              "hip_api": [{"kind": 0, "operation": 0, "thread_id": 7, "correlation_id": {"internal": 3}, "start_timestamp": 900, "end_timestamp": 950}],
                              "marker_api": [{"thread_id": 7, "correlation_id": {"internal": 3}, "start_timestamp": 800, "end_timestamp": 3000}]}}
write("imported", "rocprof.json", json.dumps({"rocprofiler-sdk-tool": [rocprof]}))

# PyTorch's memory snapshots
snapshot = {"segments": [{"device": 0, "address": 4096, "total_size": 8192, "blocks": [
    {"address": 4096, "size": 512, "state": "active_allocated", "frames": [{"filename": "a.py", "line": 3, "name": "f"}]}]}],
            "device_traces": [[{"action": "alloc", "addr": 8192, "size": 1024, "time_us": 5, "frames": [{"filename": "/torch/nn/modules/linear.py", "line": 1, "name": "forward"}]},
                               {"action": "free_requested", "addr": 8192, "size": 1024, "time_us": 6}, {"action": "segment_alloc", "addr": 4096, "size": 8192},
                               {"action": "free_requested", "addr": 99, "size": 7}, {"action": "oom", "size": 1 << 33}]]}
for protocol in (2, 4):
    write("memory", f"pickle{protocol}", pickle.dumps(snapshot, protocol))
write("memory", "snapshot.json", json.dumps(snapshot))

# NCCL Inspector's logs
write("inspector", "log", "".join(json.dumps({"header": {"id": "0x7f", "rank": rank, "n_ranks": 2}, "metadata": {"dump_timestamp_us": 5}, "coll_perf": {
    "coll": "AllReduce", "coll_sn": number, "coll_msg_size_bytes": 4096, "coll_exec_time_us": 7 + rank, "coll_algobw_gbs": 0.5}}) + "\n"
    for rank in range(2) for number in range(3)))

# Flight Recorder: pickles of old and new protocols, and JSON
flight = {"version": "2.10", "entries": [{"process_group": ("0", "default_pg"), "collective_seq_id": 1, "profiling_name": "nccl:all_reduce",
          "input_sizes": [[4, 3]], "input_dtypes": ["Float"], "state": "started", "is_p2p": False,
          "frames": [{"name": "f", "filename": "a.py", "line": 3}]}] * 2, "pg_config": {"0": {"name": "0", "desc": "", "ranks": "[0, 1]"}}}
for protocol in (2, 4):
    write("flight", f"pickle{protocol}", pickle.dumps(flight, protocol))
write("flight", "dump.json", json.dumps(flight))

# XPlane: a device with a stream and a kernel
write("imported", "plane.xplane.pb", bytes.fromhex(
    "0a40120d2f6465766963653a4750553a301a19080112095374726561" "6d202331180a220808011080801818c03e220f0801120b080112076b65726e656c31"
    "2a03080112"))

# Kineto, Chrome and Nsight Systems
kineto = """{"distributedInfo": {"rank": 0, "world_size": 2}, "baseTimeNanoseconds": 1700000000000000000,
"deviceProperties": [{"id": 0, "name": "A", "computeMajor": 8, "numSms": 108}], "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9, "ts": 0, "dur": 500},
{"ph": "X", "cat": "cpu_op", "name": "aten::conv2d", "pid": 9, "tid": 9, "ts": 1, "dur": 50, "args": {"External id": 3,
 "Sequence number": 4, "Input Dims": [[1, 3, 8, 8], [6, 3, 5, 5]]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 10, "dur": 5, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "void gemm<128>(float const*)", "pid": 0, "tid": 7, "ts": 30.5, "dur": 150,
 "args": {"device": 0, "stream": 7, "correlation": 1, "External id": 3}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": 20, "ts": 200, "dur": 9,
 "args": {"device": 0, "stream": 20, "correlation": 2, "Collective name": "allreduce", "In msg nelems": 4}},
{"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "a\\u001b\\ud83d\\ude00"}}]}
"""
write("imported", "kineto.json", kineto)
write("imported", "devices.json", '{"traceEvents": [], "deviceProperties": [%s]}' % ",".join(
    '{"id": %d, "name": "device %d"}' % (i, i) for i in range(40)))
write("imported", "kineto.json.gz", gzip.compress(kineto.encode(), mtime=0))
labelled = ['{"ph":"M","name":"process_name","pid":0,"args":{"name":"DP rank 0"}}']
for step in range(2):
    for stage in range(2):
        for i, name in enumerate(("forward-recv", "forward-compute", "forward-send", "backward-compute", "optimizer")):
            begin = 100 * step + 10 * stage + 10 * i
            labelled.append('{"name":"%s","ph":"X","pid":0,"tid":%d,"ts":%d,"dur":9.5,"args":{"step":%d,"pp_rank":%d,"mb_id":0}}'
                            % (name, stage, begin, step, stage))
labelled.append('{"name":"gc","ph":"B","pid":0,"tid":1,"ts":7},{"name":"","ph":"E","pid":0,"tid":1,"ts":8}')
labelled.append('{"name":"clip grad","ph":"b","id":"x","pid":0,"tid":1,"ts":7},{"name":"","ph":"e","id":"x","pid":0,"tid":1,"ts":8}')
for target in ("labelled", "imported"):
    write(target, "labelled.json", '{"traceEvents":[' + ",\n".join(labelled) + "]}")
    write(target, "list.json", "[" + ",".join(labelled) + "]")
event = "(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER"
tables = f"""CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (5, 'gemm'), (6, 'ncclDevKernel_SendRecv(x)'), (8, 'cudaLaunchKernel'), (9, 'step');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL {event}, demangledName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 1, 7, 7, 281477437390848, 5), (150, 300, 0, 13, 7, 281477454168064, 6);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY {event}, bytes INTEGER, copyKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 1, 7, 1, 281477437390848, 4, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (90, 95, 281477437390865, 7, 8);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER);
INSERT INTO NVTX_EVENTS VALUES (5, 500, 59, 'forward', 281477437390865, NULL), (6, 60, 60, NULL, 281477437390865, 9);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779782330176752435);"""
database("nsys", "recent.sqlite", tables)
database("nsys", "view.sqlite", f"""CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
SELECT x AS start, x + 1 AS end, 0 AS deviceId, 7 AS streamId, x AS correlationId, 1 AS globalPid, 1 AS demangledName FROM c;""")
database("nsys", "long.sqlite", f"""CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL {event}, demangledName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 1, 7, 7, 1, 5);
CREATE VIEW StringIds AS SELECT 5 AS id, hex(zeroblob(400000000)) AS value;""")

# pmfit's tables, descriptions, spaces, models and clusters
rows = "".join(f"{gpus},{batch},{'ab'[batch % 2]},{3 + batch * 0.5 / gpus:.3f}\n" for gpus in (1, 2, 4) for batch in (8, 16, 33, 64))
write("table", "runs.csv", "gpus,batch,kind,time\n" + rows)
write("table", "semicolon.csv", 'gpus;batch;kind;time\n1;2;"a;""b\nc";3\n')
write("made", "runs.csv", "gpus,batch,kind,time\n" + rows)
space = """time time ms
intrinsic batch lr
extrinsic gpus
categorical kind
levels batch 8 16 32
range lr 0.00001 0.1 log
levels gpus 1 2 4
levels kind a b
words kind a=x b=y
let left = floor(batch / gpus) + max(1, 2) # rest
require left > 3 && !(kind == 'b' || gpus >= 4)
refusal 2 does not fit
command train {batch} {gpus}
time-from regex:took ([0-9.]+) ms
"""
write("space", "all.space", space)
write("space", "escape.txt", b"time time s\nintrinsic s1ze\nextrinsi\x1b gpus\ncategoricalize\nextrinsi")
write("space", "deep.space", "time t\nlevels a 1 2\nrequire " + "(" * 500 + "a" + ")" * 500 + "\n")
with open(path("made", "runs.space"), "w") as out:
    out.write("time time ms\nintrinsic batch\nextrinsic gpus\ncategorical kind\n")
fit = [path("made", "runs.csv"), "-d", path("made", "runs.space"), "-q"]
program("pmfit", "fit", *fit, "-o", path("model", "fit.json"))
program("pmfit", "search", *fit, "--seconds", "1", "-o", path("model", "search.json"))
steps = "".join(f"{place},{batch},{(8 + batch / 2 + 10 * len(place)) / 1000:.6f},0.001\n" for place in ("1", "2", "11", "22")
                for batch in (8, 16, 32))
write("table", "steps.csv", "placement,local_bsz,step_time,sync_time\n" + steps)
write("made", "steps.csv", "placement,local_bsz,step_time,sync_time\n" + steps)
program("pmfit", "step", path("made", "steps.csv"), "-o", path("model", "step.json"))
write("cluster", "cluster.txt", """workers 4
workers_per_node 2
link_gb_s 20
link_latency_us 5
network_gb_s 5
link 0-1 3 4
slow 2 1.5
memory_gb_s 900
""")
write("cluster", "layers.json", """{"layers": [{"layer": "conv1", "kind": "conv", "input": "64x3x32x32", "output": "64x6x28x28",
"forward_ns": 5, "backward_ns": 9, "update_ns": 1, "communication_ns": 0, "parameter_bytes": 400},
{"layer": "add1", "kind": "add", "input": "64x6x28x28", "forward_ns": 1, "backward_ns": 2, "update_ns": 0}]}""")
