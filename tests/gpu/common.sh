# shellcheck shell=sh disable=SC2034,SC2154
# What the GPU tests share. Sourced; needs $BUILD (the build folder), and takes $SOURCE and $HOOK from it where they are not set.
#
# GPU_LIBRARIES names folders with the vendor's libraries, colons between them; without it the system's, the toolkit's and
# those of Python's packages are looked through. With softgpu's folder the tests run on the stand-ins: that tests the tests.

here=$(cd "$(dirname "$0")" && pwd)
SOURCE=${SOURCE:-$(cd "$here/../.." && pwd)}
HOOK=${HOOK:-$BUILD/lib/libpmhook.so}
PYTHON=${PYTHON:-python3}
bin=$BUILD/bin

skip() {
	echo "skipped: $*"
	exit 77
}

# The folders of NVIDIA's Python packages, without importing anything.
python_folders() {
	"$PYTHON" -c '
import glob, os, sys
for path in sys.path:
    for folder in sorted(glob.glob(os.path.join(path, "nvidia", "*", "lib"))):
        print(folder)' 2>/dev/null || true
}

# as_path: lines to a list with colons
as_path() {
	tr '\n' ':' | sed 's/:$//'
}

# has_all PATH SONAME...: whether the loader finds all of them, given the path
has_all() {
	path=$1
	shift
	! LD_LIBRARY_PATH=$path "$bin/gpu_probe" "$@" | grep -q ' none$'
}

# Sets LD_LIBRARY_PATH so that the given libraries come from one place, if one has them all, else from whatever has
# them; exits with 77 where there is no GPU or a library is missing.
need_gpu() {
	[ -z "${PM_SANITIZE:-}" ] || skip "times under a sanitizer say nothing"
	[ -x "$bin/gpu_probe" ] || skip "$bin/gpu_probe is not built"
	found=$(LD_LIBRARY_PATH=${GPU_LIBRARIES:-${LD_LIBRARY_PATH:-}} "$bin/gpu_probe") || skip "$found"
	[ $# -gt 0 ] || return 0
	toolkit=${CUDA_HOME:-/usr/local/cuda}
	packages=$(python_folders | as_path)
	all="${LD_LIBRARY_PATH:-}:$toolkit/lib64:$toolkit/extras/CUPTI/lib64:$packages"
	for path in "${GPU_LIBRARIES:-${LD_LIBRARY_PATH:-}}" "$toolkit/lib64:$toolkit/extras/CUPTI/lib64" "$packages" "$all"; do
		if has_all "$path" "$@"; then
			LD_LIBRARY_PATH=$path
			export LD_LIBRARY_PATH
			return 0
		fi
		[ -z "${GPU_LIBRARIES:-}" ] || break
	done
	skip "not all libraries are there: $(LD_LIBRARY_PATH=$path "$bin/gpu_probe" "$@" | grep none | tr '\n' ' ')"
}

# hooked SOURCE FOLDER COMMAND...: with the hook, device times from SOURCE (cupti, events, none), traces in FOLDER. What lay
# there from an earlier run is the caller's to remove: several processes may share it.
hooked() {
	device=$1 folder=$2
	shift 2
	mkdir -p "$folder"
	env LD_PRELOAD="$HOOK${LD_PRELOAD:+:$LD_PRELOAD}" PMHOOK_OUT="$folder" PMHOOK_DEVICE="$device" "$@"
}

# The first value of a key in JSON on standard input, as pmanalyze prints it: one key a line.
json_value() {
	sed -n "s/^[[:space:]]*\"$1\":[[:space:]]*\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" | head -n 1
}

# What the trace says of itself, for whoever reads a failure.
notes() {
	"$bin/pmanalyze" dump "$@" 2>&1 | grep -i 'note\|device\|lost\|unseen\|warn' | head -n 20
}

# The largest trace of a folder, "" if there is none: that of the process that trained.
set_trace() {
	trace=$(find "$1" -name '*.pmtrace' -size +0 -exec ls -S {} + 2>/dev/null | head -n 1)
}

. "$SOURCE/tests/complain.sh"

# nearly_same A B [SHARE]: the same text but for the numbers, and those within SHARE (0.001): for libraries whose sums have no
# fixed order.
nearly_same() {
	paste -d '\n' "$1" "$2" | awk -v share="${3:-0.001}" '
		function number(w) { return w ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ }
		NR % 2 { line = $0; n = split($0, a, " "); next }
		{
			if (split($0, b, " ") != n) { print "other words:", line, "|", $0; exit bad = 1 }
			for (i = 1; i <= n; i++) {
				d = a[i] - b[i]; if (d < 0) d = -d
				m = a[i] < 0 ? -a[i] : a[i]
				if (a[i] != b[i] && !(number(a[i]) && number(b[i]) && d <= share * m + 1e-6)) {
					print "other numbers:", line, "|", $0; exit bad = 1
				}
			}
		}
		END { exit bad }' && [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ]
}
