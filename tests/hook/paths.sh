#!/bin/sh
# Every way in which a program can reach a function of CUDA's libraries: what it prints is the same with and without the hook
# (results, which look-ups find something, libc's error texts), and the trace has exactly the calls that it says it made.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_STRICT=on
unset PATHS_FILES
"$bin/pmrun" --hooks | awk '$2 != "-" { print $3 }' >hooked

. "$SOURCE/tests/complain.sh"

# calls FILE: the lines `call NAME COUNT` of functions that are hooked, sorted, added up; static_runtime prints `NAME COUNT`
calls() {
	awk 'NR == FNR { hooked[$1]; next } /^cu[A-Z][^ ]* [0-9]+$/ && ARGV[2] ~ /static/ { $0 = "call " $0 }
		$1 == "call" && $2 in hooked && $3 { n[$2] += $3 }
		END { for (name in n) print name, n[name] }' hooked "$1" | sort
}

# same NAME COMMAND...: the same output and status; what the trace says is then in NAME.look
same() {
	name=$1 plain=0 with=0
	shift
	"$@" >"$name.plain" 2>&1 || plain=$?
	mkdir "$name"
	PMHOOK_OUT=$SCRATCH/$name with_hook "$@" >"$name.with" 2>&1 || with=$?
	cmp "$name.plain" "$name.with" || complain "prints something else: $(diff "$name.plain" "$name.with" | head -n 5)"
	[ $plain = $with ] || complain "ends with $with instead of $plain"
	"$bin/trace_look" $(find "$name" -name '*.pmtrace') >"$name.look"
}

# agree NAME LEAST COMMAND...: and the calls are those that the program printed, LEAST of them at least
agree() {
	least=$2
	name=$1
	shift 2
	same "$name" "$@"
	calls "$name.plain" >"$name.said"
	calls "$name.look" >"$name.seen"
	cmp -s "$name.said" "$name.seen" || complain "calls said and seen: $(diff "$name.said" "$name.seen" | tr '\n' ' ')"
	[ "$(awk '{ n += $2 } END { print n + 0 }' "$name.said")" -ge "$least" ] || complain "hardly a call: $(cat "$name.said")"
	grep -q '^footer [0-9]* 0 [0-9]* 0 ' "$name.look" || complain "lost or unseen: $(grep '^footer' "$name.look")"
}

has() {
	grep -q "^$1" "$name.look" || complain "no '$1'"
}

for path in local global default process versioned versioned_default; do
	[ -z "$PM_SANITIZE" ] || [ $path = local ] || [ $path = versioned_default ] || continue
	agree "$path" 30 "$bin/paths_host" "$path"
done
for device in auto events; do
	export PMHOOK_DEVICE=$device
	agree "linked_$device" 30 "$bin/paths_linked" linked
	has 'device' # softgpu's times, of either source
done
agree driver 9 "$bin/paths_host" driver
agree driver_1 7 "$bin/paths_host" driver_1
agree entry 13 "$bin/paths_host" entry
same absent "$bin/paths_host" absent
[ ! -s absent/* ] 2>/dev/null || complain "a program without CUDA left a trace"
[ ! -x "$bin/paths_ptsz" ] || agree ptsz 10 "$bin/paths_ptsz"
[ ! -x "$bin/paths_ptsz" ] || has 'call cudaMemcpyAsync_ptsz 1'

# as packages rename and place them
mkdir -p site/nvidia/cudnn/lib site/nvidia/cublas/lib
for library in cudart cudnn cublas nccl; do
	cp "$BUILD"/softgpu/lib$library.so.[0-9]* site/
done
mv site/libcudnn.so.9 site/nvidia/cudnn/lib/
mv site/libcublas.so.13 site/nvidia/cublas/lib/libcublas-4f2a.so.13
mv site/libcudart.so.13 site/libcudart-0123abcd.so.13
export PATHS_FILES="cudart=$SCRATCH/site/libcudart-0123abcd.so.13 cudnn=$SCRATCH/site/nvidia/cudnn/lib/libcudnn.so.9 \
cublas=$SCRATCH/site/nvidia/cublas/lib/libcublas-4f2a.so.13 nccl=$SCRATCH/site/libnccl.so.2"
agree renamed 30 "$bin/paths_host" local
agree renamed_global 30 "$bin/paths_host" default
# opened by the name without a version
export PATHS_FILES="cudart=libcudart.so cudnn=libcudnn.so cublas=libcublas.so nccl=libnccl.so cuda=libcuda.so"
agree plain_name 30 "$bin/paths_host" local
unset PATHS_FILES

# a runtime that is linked statically: everything is found through one function of the driver
for device in auto events none; do
	[ -z "$PM_SANITIZE" ] || [ $device = events ] || continue
	PMHOOK_DEVICE=$device agree "static_$device" 120 "$bin/static_runtime"
	case $device in
	auto) ! grep -q "^source 2" "$name.look" || { has "device kernel 51$" && has "device memcpy 51$" && has "device memset 11$"; } ;;
	events) has 'footer [0-9]* 0 0 '
		# two of them were captured
		has 'device cuLaunchKernel_ptsz 10' && has 'device cuGraphLaunch_ptsz 30' ;;
	none) ! grep '^device' "$name.look" || complain "times that nobody wanted" ;;
	esac
done

# the vendor's own libraries, which load without a GPU
if [ -n "${VENDOR_LIBRARIES:-}" ] && [ -z "$PM_SANITIZE" ]; then
	export LD_LIBRARY_PATH="$VENDOR_LIBRARIES"
	for path in local default versioned versioned_default entry driver; do
		agree "vendor_$path" 0 "$bin/paths_host" "$path"
	done
	agree vendor_ptsz 1 "$bin/paths_ptsz"
fi
exit $bad
