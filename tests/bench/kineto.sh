#!/bin/sh
# Traces of another profiler: seconds and peak memory of pmanalyze window beside HolisticTraceAnalysis on the same files, in one
# run, for 1 to 64 ranks. The ranks are copies of one real trace of Kineto (below PM_TRACES),
# 35 MB of JSON each, relabelled; packed ones for pmanalyze alone. Needs python3, 2.3 GB in TMPDIR for 64 ranks, and
# for HTA a network or a Python that has it (HTA_PYTHON; HTA_VERSION says which to install). Both do the same: idle, compute and overlap,
# kernel types, idle per stream.
#
#     tests/bench/kineto.sh BUILD [RANKS]...
set -eu
build=$(cd "${1:?usage: kineto.sh BUILD [RANKS]...}" && pwd)
shift
trace=${PM_TRACES:-}/kineto-resnet50-v100-workers0/traces
[ -d "$trace" ] || {
	echo "no traces in $trace (PM_TRACES says where)" >&2
	exit 77
}
trace=$(realpath "$trace")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
[ $# -gt 0 ] || set -- 1 2 4 8 16 32 64

# make FOLDER RANKS: adds what is missing
cat >make.py <<'END'
import glob, gzip, os, sys
folder, ranks, trace, packed = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4] == "packed"
text = gzip.open(glob.glob(trace + "/*.gz")[0]).read()
place = text.index(b'"schemaVersion"')
os.makedirs(folder, exist_ok=True)
for rank in range(ranks):
    path = f"{folder}/rank{rank}.json" + (".gz" if packed else "")
    if os.path.exists(path):
        continue
    label = b'"distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d},\n  ' % (rank, ranks)
    with (gzip.open(path, "wb", 6) if packed else open(path, "wb")) as file:
        file.write(text[:place] + label + text[place:])
END
# Seconds, and the greatest sum of the processes' proportional set sizes, looked at every 20 ms.
cat >measure.py <<'END'
import os, subprocess, sys, time
def tree(root):
    children, found = {}, [root]
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as text:
                    parent = int(text.read().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(entry))
            except OSError:
                pass
    for process in found:
        found.extend(children.get(process, []))
    return found
def memory(process):
    try:
        with open(f"/proc/{process}/smaps_rollup") as text:
            return sum(int(line.split()[1]) for line in text if line.startswith("Pss:"))
    except OSError:
        return 0
begin, peak = time.monotonic(), 0
program = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while program.poll() is None:
    peak = max(peak, sum(memory(process) for process in tree(program.pid)))
    time.sleep(0.02)
print("%8.2f s %8.0f MB" % (time.monotonic() - begin, peak / 1024) + ("" if program.returncode == 0 else "  failed"))
END
cat >run_hta.py <<'END'
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1])
analysis.get_temporal_breakdown(visualize=False)
analysis.get_comm_comp_overlap(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=True)
analysis.get_idle_time_breakdown(ranks=sorted(analysis.t.traces), visualize=False)
END

hta=${HTA_PYTHON-}
if [ -z "$hta" ]; then
	python3 -m venv hta && hta/bin/pip install -q HolisticTraceAnalysis"${HTA_VERSION:+==$HTA_VERSION}" >pip.log 2>&1 &&
		hta=$scratch/hta/bin/python || hta=
fi
version=none
[ -z "$hta" ] || version=$("$hta" -c 'import importlib.metadata as m; print(m.version("HolisticTraceAnalysis"))')
echo "processors: $(nproc); HTA: $version"
printf '%6s %8s   %-24s %-24s %s\n' ranks MB "pmanalyze window" "the same, gzip files" HTA
for ranks in "$@"; do
	rm -rf plain packed
	python3 make.py plain "$ranks" "$trace" plain
	megabytes=$(du -sm plain | cut -f 1)
	own=$(python3 measure.py "$build/bin/pmanalyze" window --streams plain)
	other=-
	[ -z "$hta" ] || other=$(python3 measure.py "$hta" run_hta.py plain)
	rm -rf plain
	python3 make.py packed "$ranks" "$trace" packed
	gzip=$(python3 measure.py "$build/bin/pmanalyze" window --streams packed)
	printf '%6s %8s   %-24s %-24s %s\n' "$ranks" "$megabytes" "$own" "$gzip" "$other"
done
