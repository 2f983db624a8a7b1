# To be sourced by study.sh and scaling.sh, with here, and BUILD GPU|none as arguments: how each framework's program is started. Sets bin, modelled
# (pmrun's option) and frameworks, those whose Python is named by PYTORCH, JAX and TENSORFLOW; steps is set by who sources it.
bin=$1/bin modelled=--softgpu=$2
[ -x "$bin/pmrun" ] || { echo "${0##*/}: $bin/pmrun: not found; BUILD is the folder of the build" >&2 && exit 2; }
if [ "$2" = none ]; then
	modelled=
else
	# variants of a kernel that the compiler times on a modelled GPU take what is assumed of them: no choice can follow from that
	export XLA_FLAGS="${XLA_FLAGS:---xla_gpu_autotune_level=0}"
fi
frameworks="c${PYTORCH:+ pytorch}${JAX:+ jax}${TENSORFLOW:+ tensorflow}"
# device times of the whole run: XLA compiles for longer than the minute that is taken of a long one; TensorFlow's own log is long
export PMHOOK_DEVICE="${PMHOOK_DEVICE:-cupti}" TF_CPP_MIN_LOG_LEVEL="${TF_CPP_MIN_LOG_LEVEL:-2}"

# Training images for so many iterations of a batch.
make_data() {
	[ -d data ] || "$bin/mkdata" --out data --train $((steps * $1 > 6000 ? steps * $1 : 6000)) >/dev/null
}

# FRAMEWORK NET GPUS OPTIONS COMMAND...: calls the command with pmrun's options and the program, to which OPTIONS are.
with_program() {
	framework=$1 net=$2 n=$3 options=$4
	shift 4
	# shellcheck disable=SC2086
	case $framework in
	c) "$@" -- "$bin/train_$net" $options --iterations "$steps" --gpus "$n" --optimizer sgd --lr 0.01 --momentum 0.9 --print 0 ;;
	pytorch) "$@" -n "$n" -- "$PYTORCH" "$here/train_pytorch.py" "$net" $options --steps "$steps" ;;
	jax) "$@" -- "$JAX" "$here/train_jax.py" "$net" $options --steps "$steps" --gpus "$n" ;;
	tensorflow) "$@" -- "$TENSORFLOW" "$here/train_tensorflow.py" "$net" $options --steps "$steps" --gpus "$n" ;;
	esac
}
