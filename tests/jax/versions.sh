#!/bin/sh
# Runs JAX's versions on softgpu with XLA's defaults and prints the table of docs/jax.md: which programs of nets.py do their steps on which GPU,
# and, on stderr, the last words of those that do not.
#
#     versions.sh BUILD FOLDER              every virtual environment FOLDER/* that has a jax
#     versions.sh --make FOLDER VERSION...  makes FOLDER/jax-VERSION with $PYTHON (python3), without the vendor's wheels; CUDA=12 where the
#                                           version has no plugin for CUDA 13 (before 0.7.2)
#
# PROGRAMS and GPUS say which programs and GPUs, SECONDS_EACH how long one may take (600): XLA compiles for minutes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# flax and optax of the version's time: pip does not know that the newest do not work with an old JAX.
companions() {
	case $1 in
	0.4.2* | 0.4.30 | 0.4.31) echo "flax==0.8.5 optax==0.2.3" ;;
	0.4.*) echo "flax==0.10.2 optax==0.2.4" ;;
	*) echo "flax optax" ;;
	esac
}

make() {
	folder=$1 cuda=${CUDA:-13}
	shift
	for version; do
		"${PYTHON:-python3}" -m venv "$folder/jax-$version"
		pip=$folder/jax-$version/bin/pip
		# shellcheck disable=SC2046
		"$pip" install -q "jax==$version" "jaxlib==$version" $(companions "$version")
		"$pip" install -q --no-deps "jax-cuda$cuda-plugin==$version" "jax-cuda$cuda-pjrt==$version"
	done
}

# try GPU PROGRAM: its cell
try() {
	cell=yes
	if ! SOFTGPU_DEVICES=2 timeout "${SECONDS_EACH:-600}" "$build/bin/pmrun" -q --softgpu="$1" -o run -- "$python" "$here/nets.py" "$2" 6 \
		>out 2>&1 || ! grep -q "^6 steps of $2 on [12] gpu" out; then
		cell=no
		echo "jax $version, $1, $2: $(grep -v '^ *$' out | grep -v '^softgpu' | tail -n 1 | cut -c 1-300)" >&2
	fi
	rm -rf run
}

if [ "$1" = --make ]; then
	shift
	make "$@"
	exit
fi
build=$(cd "$1" && pwd) folder=$(cd "$2" && pwd)
programs=${PROGRAMS:-plain cnn devices gpt remat scan} gpus=${GPUS:-a100 h200}
export PYTHONDONTWRITEBYTECODE=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
echo "| JAX | CUDA | Python | GPU | $(echo "$programs" | sed 's/ / | /g') |"
echo "|---|---|---|---|$(echo "$programs" | sed 's/[a-z]* */---|/g')"
for python in "$folder"/*/bin/python; do
	site=$(echo "${python%/bin/python}"/lib/python*/site-packages)
	[ -d "$site/jax" ] || continue
	version=$("$python" -c 'import importlib.metadata as m; print(m.version("jax"))')
	cuda=$(ls -d "$site"/jax_plugins/xla_cuda* | sed 's/.*cuda//' | head -n 1)
	interpreter=$("$python" -c 'import platform; print(platform.python_version())')
	for gpu in $gpus; do
		row="| $version | $cuda | $interpreter | $gpu |"
		for program in $programs; do
			try "$gpu" "$program"
			row="$row $cell |"
		done
		echo "$row"
	done
done | sort -t . -k 1,1 -k 2n -k 3n
