#!/bin/sh
# Memory that `pmfit strategy` says a PyTorch program takes, against softgpu's own count (its truth log; what cudaMemGetInfo tells the program):
# two runs of train.py on one modelled A100 with batches of 8 and 16 are captured; from both, and from the first alone, the memory of one
# worker with 32 samples and of DDP's workers with 32 each is predicted, then these are run and the most that a GPU had in use is taken. PyTorch
# holds what it once allocated, in blocks of 2 and 20 MiB, and that is what counts. PM_TORCH as in tests/pytorch/find_torch.sh.
#
#     [NETS="resnet18 resnet50"] [RANKS="1 2"] tests/bench/torch_memory.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: torch_memory.sh BUILD}" && pwd)
. "$here/../pytorch/find_torch.sh"
export SOFTGPU_DEVICES=8 PATH="$build/bin:$PATH" LC_ALL=C OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
unset SOFTGPU_DISTURB SOFTGPU_NUMERICS SOFTGPU_PROFILE
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
. "$here/modelled.sh"
cluster_of "$here/../../testapps/softgpu/profiles/a100.profile" >cluster

run() { # ranks, net, batch, options: the bytes of the GPU that had most
	launcher=
	[ "$1" = 1 ] || launcher="-m torch.distributed.run --nproc-per-node $1"
	ranks=$1 net=$2 batch=$3
	shift 3
	rm -rf run truth.*
	# shellcheck disable=SC2086
	SOFTGPU_TRUTH=truth.%r timeout 300 pmrun -q --softgpu=a100 -o run -- "$PYTHON" $launcher "$here/../pytorch/train.py" "$net" --steps 6 --batch "$batch" \
		$([ "$ranks" = 1 ] || echo --strategy ddp) "$@" >log 2>&1 || { tail -n 3 log >&2; return 1; }
	cat truth.* | awk -F, '$1 == "memory" && $13 > most { most = $13 } END { print most }'
}

printf '%-10s %5s %12s %18s %18s\n' net ranks 'in use' 'from 8 and 16' 'from 8'
for net in ${NETS:-resnet18 resnet50}; do
	for batch in 8 16; do
		run 1 "$net" $batch >/dev/null
		pmanalyze layers --json run >$batch.json
	done
	for ranks in ${RANKS:-1 2}; do
		most=$(run "$ranks" "$net" 32)
		printf '%-10s %5d %8.1f MiB' "$net" "$ranks" "$(awk -v b="$most" 'BEGIN { print b / 1048576 }')"
		for files in '8.json 16.json' 8.json; do
			# shellcheck disable=SC2086
			pmfit strategy --csv --optimizer momentum --cluster cluster --workers "$ranks" --batch $((32 * ranks)) $files >predicted
			bytes=$(field "$([ "$ranks" = 1 ] && echo 'one worker' || echo data)" memory_bytes)
			awk -v p="$bytes" -v m="$most" 'BEGIN { printf " %8.1f MiB %+5.1f%%", p / 1048576, 100 * (p / m - 1) }'
		done
		echo
	done
done
