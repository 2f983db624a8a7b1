#!/bin/sh
# The iterations of PyTorch scripts (iterations.py), which mark their own, found without the marks: iterations.sh [CASE...]. Each must be
# found exactly, and nothing else be used. Two run at a time, the second with PM_TORCH_OLDER (find_torch.sh), where it is. PM_KEEP=1 keeps the traces.
set -u
. "$SOURCE/tests/pytorch/find_torch.sh"
newest=$PYTHON newest_gpu=$GPU
OLDER=1
. "$SOURCE/tests/pytorch/find_torch.sh"
here=$SOURCE/tests/pytorch
bin=$BUILD/bin
failed=0
# what the older one on its GPU does not run, or pmanalyze not find there yet
newest_only=' mixed_precision generation graph '
[ $# -gt 0 ] || set -- $("$newest" "$here/iterations.py")

# one CASE PYTHON GPU: its row into row.CASE; status 1: not as it should be
one() {
	bad=0
	# Whether it did its work it says itself: this torch now and then aborts at exit, without the hook as well.
	OMP_NUM_THREADS=1 "$bin/pmrun" -q --softgpu="$3" -o "run.$1" -- "$2" "$here/iterations.py" "$1" "$1.truth" >"$1.out" 2>&1
	if grep -q '^done' "$1.out"; then
		python3 "$here/check_iterations.py" "$bin/pmanalyze" "$1" "run.$1" "$1.truth" >"row.$1" || bad=1
	else
		echo "$1: the script fails"
		cat "$1.out"
		bad=1
	fi
	[ -n "${PM_KEEP:-}" ] || rm -rf "run.$1"
	return $bad
}

printf '%-26s%8s%7s%6s%7s%7s  %-8s\n' case marked found used exact conf. by
: >rows
while [ $# -gt 0 ]; do
	one "$1" "$newest" "$newest_gpu" &
	first=$! second=
	case $newest_only in
	*" ${2:-} "*) one "$2" "$newest" "$newest_gpu" & second=$! ;;
	*) [ $# -lt 2 ] || { one "$2" "$PYTHON" "$GPU" & second=$!; } ;;
	esac
	wait $first || failed=1
	[ -z "$second" ] || wait $second || failed=1
	for name in "$1" ${second:+"$2"}; do
		[ ! -e "row.$name" ] || { tail -n 1 "row.$name" && cat "row.$name" >>rows; }
	done
	shift ${second:+2}
done
echo
python3 "$here/check_iterations.py" --table <rows
exit $failed
