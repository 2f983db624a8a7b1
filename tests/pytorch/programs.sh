#!/bin/sh
# Programs of PyTorch on modelled GPUs: what pmanalyze finds is checked against what the programs' own hooks said (truth.py,
# against_truth.py), within the limits of programs.txt. Those of one rank run two at a time. Arguments: names of programs (all). PM_TORCH and
# PM_TORCH_OLDER as in find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
here=$SOURCE/tests/pytorch
names=" $* "
newest=$PYTHON newest_gpu=$GPU
OLDER=1
. "$SOURCE/tests/pytorch/find_torch.sh"
# Where there is an older PyTorch these programs run with that one, on its GPU, and those of `both` with either.
with_older=' resnet50 evaluate fixed gpt_segments gpt_clip gpt_by_hand at_once gpt_tied frozen dlrm ddp sync_norm lbfgs graph '
both=' mlp gpt_amp '
[ -n "${PM_TORCH_OLDER:-}" ] || with_older='' both=''

# older_limits NAME LIMITS: what is found of a program with the older one, where it is less
older_limits() {
	case $1 in
	# of shorter steps what is misplaced is a larger part
	sync_norm) echo "$2 forward=12 layers_backward=94" ;;
	*) echo "$2" ;;
	esac
}

# try_one NAME RANKS OPTIONS LIMITS PYTHON GPU; its status: 1, not as it should be
try_one() {
	bad=0 run=$1.$6
	launcher=
	needs=$(printf '%s' "$4" | sed -n 's/.*needs=\([a-z_]*\).*/\1/p')
	if ! "$5" -c "import ${needs:-sys}" 2>/dev/null; then
		echo "$1: skipped: $5 has no $needs"
		return 0
	fi
	export TORCHINDUCTOR_CACHE_DIR="$PWD/$run.inductor"
	[ "$2" = 1 ] || launcher="-m torch.distributed.run --nproc-per-node $2"
	# shellcheck disable=SC2086
	if ! SOFTGPU_TRUTH=$run.truth.%r "$BUILD/bin/pmrun" -q --softgpu="$6" -o "$run" -- "$5" $launcher "$here/train.py" $3 --truth \
		>"$run.out" 2>&1; then
		why=$(grep -v '^ *$' "$run.out" | tail -n 1)
		case $4 in
		*runs=no*) echo "$1, $6: does not run yet: $why" ;;
		*) echo "not ok: $1, $6 does not run: $why" && bad=1 ;;
		esac
		return $bad
	fi
	printf '%s, %s: ' "$1" "$6"
	# shellcheck disable=SC2086
	"$5" "$here/against_truth.py" "$BUILD/bin" "$run" "$run.truth.0" 12 $(echo "$4" | sed 's/.*runs=no//; s/needs=[a-z_]*//') || bad=1
	rm -rf "$run" "$run".truth.* "$run.inductor"
	return $bad
}

# A busy machine delays what ranks wait for: what fails is tried once more.
one() {
	for try in 1 2; do
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

# start NAME RANKS OPTIONS LIMITS PYTHON GPU: waits first, where it is to run alone
start() {
	[ $count -lt 2 ] && [ "$2" = 1 ] || finish
	one "$@" >"$1.$6.said" 2>&1 </dev/null &
	going="$going $!:$1.$6" count=$((count + 1))
	[ "$2" = 1 ] || finish
}

export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
going='' count=0 failed=0
while IFS=';' read -r name ranks options limits; do
	case $name in '#'* | '') continue ;; esac
	case $names in "  " | *" $name "*) ;; *) continue ;; esac
	ranks=${ranks# }
	case $with_older in *" $name "*) ;; *) start "$name" "$ranks" "${options# }" "$limits" "$newest" "$newest_gpu" ;; esac
	case $with_older$both in *" $name "*) start "$name" "$ranks" "${options# }" "$(older_limits "$name" "$limits")" "$PYTHON" "$GPU" ;; esac
done <"$here/programs.txt"
finish
exit $failed
