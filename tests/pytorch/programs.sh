#!/bin/sh
# Programs of PyTorch on modelled A100s: what pmanalyze finds is held against what the programs' own hooks said (truth.py,
# against_truth.py), within the limits of programs.txt. Those of one rank run two at a time. Arguments: names of programs (all). PM_TORCH as
# in find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
here=$SOURCE/tests/pytorch
names=" $* "

# try_one NAME RANKS OPTIONS LIMITS; its status: 1, not as it should be
try_one() {
	bad=0
	launcher=
	needs=$(printf '%s' "$4" | sed -n 's/.*needs=\([a-z_]*\).*/\1/p')
	if ! "$PYTHON" -c "import ${needs:-sys}" 2>/dev/null; then
		echo "$1: skipped: $PYTHON has no $needs"
		return 0
	fi
	export TORCHINDUCTOR_CACHE_DIR="$PWD/$1.inductor"
	[ "$2" = 1 ] || launcher="-m torch.distributed.run --nproc-per-node $2"
	# shellcheck disable=SC2086
	if ! SOFTGPU_TRUTH=$1.truth.%r "$BUILD/bin/pmrun" -q --softgpu=a100 -o "$1" -- "$PYTHON" $launcher "$here/train.py" $3 --truth \
		>"$1.out" 2>&1; then
		why=$(grep -v '^ *$' "$1.out" | tail -n 1)
		case $4 in
		*runs=no*) echo "$1: does not run yet: $why" ;;
		*) echo "not ok: $1 does not run: $why" && bad=1 ;;
		esac
		return $bad
	fi
	printf '%s: ' "$1"
	# shellcheck disable=SC2086
	"$PYTHON" "$here/against_truth.py" "$BUILD/bin" "$1" "$1.truth.0" 12 $(echo "$4" | sed 's/.*runs=no//; s/needs=[a-z_]*//') || bad=1
	rm -rf "$1" "$1".truth.* "$1.inductor"
	return $bad
}

# Which memory PyTorch uses again differs from run to run, and now and then tells less (docs/accuracy.md): a program is right in one of
# three runs.
one() {
	for try in 1 2 3; do
		[ $try = 1 ] || echo "try $try:"
		try_one "$@" && return 0
	done
	return 1
}

# finish: waits for what goes on, and prints what it has to say
finish() {
	for job in $going; do
		wait "${job%:*}" || failed=1
		cat "${job#*:}.said"
	done
	going='' count=0
}

export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
going='' count=0 failed=0
while IFS=';' read -r name ranks options limits; do
	case $name in '#'* | '') continue ;; esac
	case $names in "  " | *" $name "*) ;; *) continue ;; esac
	ranks=${ranks# }
	[ $count -lt 2 ] && [ "$ranks" = 1 ] || finish
	one "$name" "$ranks" "${options# }" "$limits" >"$name.said" 2>&1 </dev/null &
	going="$going $!:$name" count=$((count + 1))
	[ "$ranks" = 1 ] || finish
done <"$here/programs.txt"
finish
exit $failed
