#!/bin/sh
# The networks of this folder in each framework, on one to three GPUs: study.sh BUILD GPU|none [NET...], in a folder with mkdata's `data`.
# PYTORCH, JAX and TENSORFLOW name a Python with that framework; one that is not set is left out. GPU: a modelled one, as for
# pmrun --softgpu; none: those of the machine. Runs are kept in study.FRAMEWORK.NET.GPUS, and one that is there is not made again.
set -eu
if [ $# -lt 2 ]; then
	echo "usage: study.sh BUILD GPU|none [NET...]" >&2
	exit 2
fi
build=$1 modelled=--softgpu=$2
[ "$2" != none ] || modelled=
shift 2
here=$(dirname "$0")
[ $# -gt 0 ] || set -- cnn mlp autoencoder
gpus=${GPUS:-1 2 3} steps=${STEPS:-40}

# NAME [PMRUN'S OPTION...] -- COMMAND...
record() {
	name=$1
	shift
	[ ! -d "$name" ] || return 0
	echo "$name" >&2
	# shellcheck disable=SC2086
	TF_CPP_MIN_LOG_LEVEL=2 "$build/bin/pmrun" -q -o "$name.part" $modelled "$@" >"$name.log" 2>&1 ||
		{ tail -n 5 "$name.log" >&2 && echo "study.sh: $name failed: $name.log has all it said" >&2 && return 0; }
	mv "$name.part" "$name"
}

for net in "$@"; do
	for n in $gpus; do
		record "study.c.$net.$n" -- "$build/bin/train_$net" --batch 384 --epochs 100 --iterations "$steps" --gpus "$n" --optimizer sgd --momentum 0.9 --print 0
		[ -z "${PYTORCH:-}" ] || record "study.pytorch.$net.$n" -n "$n" -- "$PYTORCH" "$here/train_pytorch.py" "$net" --steps "$steps"
		[ -z "${JAX:-}" ] || record "study.jax.$net.$n" -- "$JAX" "$here/train_jax.py" "$net" --gpus "$n" --steps "$steps"
		[ -z "${TENSORFLOW:-}" ] || record "study.tensorflow.$net.$n" -- "$TENSORFLOW" "$here/train_tensorflow.py" "$net" --gpus "$n" --steps "$steps"
	done
done
for net in "$@"; do
	echo
	echo "==== $net"
	set --
	for framework in c pytorch jax tensorflow; do
		for n in $gpus; do
			[ ! -d "study.$framework.$net.$n" ] || set -- "$@" "study.$framework.$net.$n"
		done
	done
	"$build/bin/pmanalyze" model --across "$@" 2>/dev/null
done
