"""Inputs that are small and would cost much: limits.py BUILD SANITIZER. Each must end in time, within its memory, and with a
sentence that has the pattern."""
import gzip
import os
import re
import resource
import sqlite3
import struct
import subprocess
import sys
import zlib

build, sanitizer = sys.argv[1:]
bad = 0
SECONDS, BYTES = 10, 1 << 30


def run(name, pattern, status, program, *arguments, at_most=SECONDS, **variables):
    """Runs it; `pattern` is what the messages must have, `status` may be several."""
    global bad
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [os.path.join(build, "bin", program), *arguments]
    with subprocess.Popen(command, env=dict(os.environ, **variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            out, errors = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            print(f"not ok: {name}: no end")
            bad = 1
            return
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with open("usage", "w") as usage:
        usage.write(f"{name} {seconds}")
    text = (out + errors).decode(errors="replace")
    print(f"{name}: {seconds:.2f} s: {errors.decode(errors='replace').strip()[:160]}")
    if process.returncode not in (status if isinstance(status, tuple) else (status,)):
        print(f"not ok: {name}: exit status {process.returncode}: {text[-400:]}")
        bad = 1
    elif not re.search(pattern, text):
        print(f"not ok: {name}: no '{pattern}' in {text[:400]}")
        bad = 1
    if seconds > at_most * (5 if sanitizer else 1):
        print(f"not ok: {name}: took {seconds:.1f} s")
        bad = 1


def write(name, data):
    with open(name, "wb") as out:
        out.write(data.encode() if isinstance(data, str) else data)
    return name


def database(name, script, *many):
    base = sqlite3.connect(name)
    base.executescript(script)
    for statement, rows in many:
        base.executemany(statement, rows)
    base.commit()
    base.close()
    return name


if not sanitizer:
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))

columns = "(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER"
kernels = f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL {columns}); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 7, 1, 1, 5);"

# Databases that compute what they seem to hold
run("view for a table", "KERNEL is a view or a virtual table", 1, "pmanalyze", "report", database("view.sqlite",
    "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS start, "
    "x + 1 AS end, 0 AS deviceId, 7 AS streamId, x AS correlationId, 1 AS globalPid, 1 AS shortName FROM c;"))
run("view of a long text", "StringIds is a view or a virtual table", 1, "pmanalyze", "report", database("long.sqlite",
    kernels + "CREATE VIEW StringIds AS SELECT 5 AS id, hex(zeroblob(400000000)) AS value;"))
try:
    run("virtual table", "StringIds is a view or a virtual table", 1, "pmanalyze", "report", database("virtual.sqlite",
        kernels + "CREATE VIRTUAL TABLE StringIds USING fts5(id, value);"))
except sqlite3.OperationalError:
    print("virtual table: not with this SQLite")
run("computed columns", "Iterations", (0, 1), "pmanalyze", "report", database("computed.sqlite",
    kernels.replace("shortName INTEGER", "shortName AS (length(hex(zeroblob(100000000 + start))))")
    .replace(", 1, 1, 5)", ", 1, 1)").replace("VALUES", "(start, end, deviceId, streamId, correlationId, globalPid) VALUES")))
run("a GPU for each row", "PM_READ_(SECONDS|MEGABYTES)", 1, "pmanalyze", "report", database("gpus.sqlite",
    f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL {columns});",
    ("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1, ?1 + 1, ?1, 7, ?1, 1, 5)", ((i,) for i in range(200000)))),
    PM_READ_SECONDS="3")
run("4000 GPUs", "4000 GPUs", 0, "pmanalyze", "report", database("described.sqlite",
    f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL {columns}); CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);",
    ("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100 * ?1, 100 * ?1 + 50, 1000003 * ?1, 7, ?1, 1, 5)", ((i,) for i in range(4000))),
    ("INSERT INTO TARGET_INFO_GPU VALUES (1000003 * ?1, 'GPU')", ((i,) for i in range(4000)))), at_most=3)

# What unpacks to very much
blanks = write("blanks.json.gz", gzip.compress(b'{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,'
               b'"args":{"stream":7,"device":0}}' + b" " * (100 << 20) + b"]}", mtime=0))
run("gzip of blanks", r"blanks.json.gz: byte \d+: the data decompress to more than 100. their size.*PM_READ_RATIO", 1, "pmanalyze", "report",
    blanks)
run("the same, as the labelled reader has it", "PM_READ_RATIO", 1, "pmanalyze", "slowdown", blanks)
run("a ratio that is allowed", "1 process", 0, "pmanalyze", "report", blanks, PM_READ_RATIO="0")
packed = zlib.compress(b"\0" * (15 << 20), 9)
run("summary of zeros", "PM_READ_RATIO", 1, "pmanalyze", "report", write("zeros.pmsum", open(subprocess.run(
    ["sh", "-c", f"mkdir job && {build}/bin/make_summaries job 2 none >&2 && ls job/* | head -n 1"], check=True, stdout=subprocess.PIPE,
    text=True).stdout.strip(), "rb").read()[:16] + struct.pack("<IIII", len(packed), 15 << 20, zlib.crc32(packed), 0) + packed))

# Much of one kind
event = '{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":%d,"ts":%d,"dur":1,"args":{"stream":%d,"device":0}}'
for name, form in (("streams", lambda i: (i, i, i)), ("events at one time", lambda i: (1, 1, 7))):
    run(name, "", (0, 1), "pmanalyze", "report", write("many.json", '{"traceEvents":[' + ",\n".join(
        event % form(i) for i in range(95000)) + "]}"))
phase = '{"name":"%s","ph":"%s","pid":0,"tid":%d,"ts":%d,"dur":1,"args":{"step":1,"pp_rank":%d,"dp_rank":%d}}'
for name, form in (("stages", lambda i: ("forward", "X", i, i, i, 0)), ("one worker", lambda i: ("backward", "X", 0, i, 0, 0)),
                   ("never ended", lambda i: ("forward", "BE"[i > 50000], i, i, i, 0)),
                   ("meetings", lambda i: ("clip grad" if i else "forward", "X", i % 300, i, i % 300, 0))):
    file = write("phases.json", "[" + ",\n".join(phase % form(i) for i in range(100000)) + "]")
    run("phases: " + name, "", (0, 1), "pmanalyze", "slowdown", file)
    run("the same in report: " + name, "", (0, 1), "pmanalyze", "report", file, PM_READ_SECONDS="3")
run("a grid of ranks", "more than 1000000 ranks.*PM_READ_RANKS", 1, "pmanalyze", "slowdown", write("grid.json",
    "[" + phase % ("forward", "X", 0, 0, 9999999, 0) + "," + phase % ("forward", "X", 1, 0, 0, 9999999) + "]"))
run("deep JSON", "", (0, 1), "pmanalyze", "report", write("deep.json", '{"traceEvents":' + "[" * 10000000))
run("numbers", "", (0, 1), "pmanalyze", "report", write("numbers.json", "[" + ",".join(
    event.replace('"ts":%d', '"ts":%s') % (1, number, 7) for number in ("1e308", "-1e308", "NaN", "9" * 400, "1e-400", "0." + "9" * 99,
                                                                       "-9223372036854775808", "9223372036854775.807")) + "]"))

# pmfit's files
table = write("runs.csv", "a,t\n1,2\n")
run("columns", "more than 4096 columns.*PM_READ_COLUMNS", 1, "pmfit", "fit", "--time", "t", write("columns.csv",
    ",".join(f"c{i}" for i in range(1200000)) + "\n"))
run("cells", "", 1, "pmfit", "fit", "--time", "t", write("cells.csv", "t\n" + "x\n" * 5000000))
run("levels", "PM_READ_SECONDS|levels|expected", (1, 2), "pmfit", "sweep", "-o", "t.csv", write("levels.space",
    "levels a " + " ".join(f"l{i}" for i in range(1200000)) + "\n"), PM_READ_SECONDS="2")
run("commands", "PM_READ_SECONDS", (1, 2), "pmfit", "sweep", "-o", "t.csv", write("commands.space", "command xxxx\n" * 700000),
    PM_READ_SECONDS="2")
run("a rule in parentheses", "deep.space", (1, 2), "pmfit", "sweep", "-o", "t.csv", write("deep.space",
    "time t\nlevels a 1\nrequire " + "(" * 5000000 + "a\n"))
run("a deep model", "nested deeper than 200.*PM_READ_DEPTH", 1, "pmfit", "predict", write("deep.model", '{"a":' * 2000000), table)
run("a model of lists", "deep.model", 1, "pmfit", "predict", write("deep.model", "[" + "[]," * 3300000 + "[]]"), table)
run("no JSON", "byte 12: invalid JSON", 1, "pmfit", "predict", write("no.model", '{"format": 1x}'), table)
run("without end", "/dev/zero.*PM_READ_MEGABYTES" if not sanitizer else "PM_READ", 1, "pmfit", "predict", "/dev/zero", table,
    PM_READ_MEGABYTES="200", PM_READ_SECONDS="5")
run("a limit that is none", "PM_READ_DEPTH: expected a number", 2, "pmfit", "fit", "x", PM_READ_DEPTH="deep")
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(f"at most {peak >> 20} MiB")
if peak > BYTES and not sanitizer:
    print("not ok: too much memory")
    bad = 1
sys.exit(bad)
