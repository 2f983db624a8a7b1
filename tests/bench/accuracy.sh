#!/bin/sh
# The share of modelled time with phase and layer right, call by call, and the iterations found: PyTorch's programs (tests/pytorch/programs.txt)
# against their own hooks, and the trainers in C against what they tell softgpu. One row a program. Without PyTorch (PM_TORCH) the trainers alone.
#
#     tests/bench/accuracy.sh BUILD [PROGRAM]...       all
set -eu
BUILD=$(cd "${1:?usage: accuracy.sh BUILD [PROGRAM]...}" && pwd)
shift
SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
names=" $* "
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 TORCHINDUCTOR_CACHE_DIR="$scratch/inductor"
"$BUILD/bin/mkdata" --dataset mnist --out data --train 2000 --test 50

wanted() {
	case $names in "  " | *" $1 "*) ;; *) return 1 ;; esac
}

# row NAME STEPS COMMAND...: runs it with the hook, and prints what was right
row() {
	name=$1 steps=$2
	shift 2
	if ! SOFTGPU_TRUTH=$name.truth.%r "$@" >"$name.out" 2>&1; then
		echo "$name: does not run: $(grep -v '^ *$' "$name.out" | tail -n 1)" >&2
		return
	fi
	found=$("$BUILD/bin/pmanalyze" report --json "$name" | python3 -c 'import json, sys; print(json.load(sys.stdin)["iterations_found"])')
	fields=$(python3 "$SOURCE/tests/pytorch/by_call.py" "$BUILD/bin" "$name" "$name.truth.0")
	printf '%-16s %7s %6s' "$name" "$found/$steps" ""
	for field in $fields; do printf '%9s' "${field#*=}"; done
	echo
	rm -rf "$name" "$name".truth.*
}

# trainer NAME RANKS COMMAND...
trainer() {
	wanted "$1" || return 0
	name=$1 ranks=$2 program=$3
	shift 3
	row "$name" 12 "$BUILD/bin/pmrun" -q -n "$ranks" -o "$name" --softgpu=a100 -- "$BUILD/bin/$program" --data data --epochs 1 --iterations 12 \
		--batch 96 --print 0 "$@"
}

printf '%-16s %7s %6s%9s%9s%9s%9s\n' program found "" compared phase layer right
trainer c_cnn 1 train_cnn
trainer c_cnn_ranks 3 train_cnn --aggregate overlap
trainer c_cnn_adam 2 train_cnn --optimizer adam --dropout 0.5 --activation tanh --padding same
trainer c_mlp 2 train_mlp --aggregate overlap --optimizer adam
trainer c_autoencoder 3 train_autoencoder
. "$SOURCE/tests/pytorch/find_torch.sh"
while IFS=';' read -r name ranks options limits; do
	case $name in '#'* | '') continue ;; esac
	case $limits in *truth=no*) continue ;; esac
	wanted "$name" || continue
	launcher=
	[ "$ranks" -eq 1 ] || launcher="-m torch.distributed.run --nproc-per-node $ranks"
	# shellcheck disable=SC2086
	row "$name" 12 "$BUILD/bin/pmrun" -q --softgpu=a100 -o "$name" -- "$PYTHON" $launcher "$SOURCE/tests/pytorch/train.py" $options --truth </dev/null
done <"$SOURCE/tests/pytorch/programs.txt"
