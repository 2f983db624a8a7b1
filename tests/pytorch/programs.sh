#!/bin/sh
# Programs of PyTorch on modelled A100s: what pmanalyze finds is held against what the programs' own hooks said (truth.py,
# against_truth.py), within the limits of programs.txt. Arguments: names of programs (all). PM_TORCH as in find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
here=$SOURCE/tests/pytorch
names=" $* "
bad=0

# one NAME RANKS OPTIONS LIMITS
one() {
	launcher=
	needs=$(printf '%s' "$4" | sed -n 's/.*needs=\([a-z_]*\).*/\1/p')
	if ! "$PYTHON" -c "import ${needs:-sys}" 2>/dev/null; then
		echo "$1: skipped: $PYTHON has no $needs"
		return
	fi
	[ "$2" = 1 ] || launcher="-m torch.distributed.run --nproc-per-node $2"
	# shellcheck disable=SC2086
	if ! SOFTGPU_TRUTH=$1.truth.%r "$BUILD/bin/pmrun" -q --softgpu=a100 -o "$1" -- "$PYTHON" $launcher "$here/train.py" $3 --truth \
		>"$1.out" 2>&1; then
		why=$(grep -v '^ *$' "$1.out" | tail -n 1)
		case $4 in
		*runs=no*) echo "$1: does not run yet: $why" ;;
		*) echo "not ok: $1 does not run: $why" && bad=1 ;;
		esac
		return
	fi
	printf '%s: ' "$1"
	# shellcheck disable=SC2086
	"$PYTHON" "$here/against_truth.py" "$BUILD/bin" "$1" "$1.truth.0" 12 $(echo "$4" | sed 's/.*runs=no//; s/needs=[a-z_]*//') || bad=1
	rm -rf "$1" "$1".truth.* inductor
}

export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 TORCHINDUCTOR_CACHE_DIR="$PWD/inductor"
while IFS=';' read -r name ranks options limits; do
	case $name in '#'* | '') continue ;; esac
	case $names in "  " | *" $name "*) one "$name" $ranks "${options# }" "$limits" ;; esac
done <"$here/programs.txt"
exit $bad
