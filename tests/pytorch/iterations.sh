#!/bin/sh
# The iterations of PyTorch scripts (iterations.py), which mark their own, found without the marks: iterations.sh [CASE...]. Each must be
# found exactly, and nothing else be used. PM_KEEP=1 keeps the traces.
set -u
. "$SOURCE/tests/pytorch/find_torch.sh"
here=$SOURCE/tests/pytorch
bin=$BUILD/bin
bad=0
[ $# -gt 0 ] || set -- $("$PYTHON" "$here/iterations.py")
printf '%-26s%8s%7s%6s%7s%7s  %-8s\n' case marked found used exact conf. by
for name in "$@"; do
	# Whether it did its work it says itself: this torch now and then aborts at exit, without the hook as well.
	OMP_NUM_THREADS=1 "$bin/pmrun" -q --softgpu=a100 -o "run.$name" -- "$PYTHON" "$here/iterations.py" "$name" "$name.truth" \
		>"$name.out" 2>&1
	if grep -q '^done' "$name.out"; then
		python3 "$here/check_iterations.py" "$bin/pmanalyze" "$name" "run.$name" "$name.truth" >>rows || bad=1
		tail -n 1 rows
	else
		echo "$name: the script fails"
		cat "$name.out"
		bad=1
	fi
	[ -n "${PM_KEEP:-}" ] || rm -rf "run.$name"
done
echo
python3 "$here/check_iterations.py" --table <rows
exit $bad
