#!/bin/sh
# Runs PyTorch's versions on softgpu and prints the table of testapps/README.md: of each program the steps that pmanalyze finds and the
# share of the modules with parameters that it names; "no", and the last words on stderr, where a program does not run.
#
#     versions.sh BUILD FOLDER                        every virtual environment FOLDER/* that has a torch
#     versions.sh --make FOLDER TORCH:TORCHVISION...  makes FOLDER/torch-TORCH of these versions with $PYTHON (python3), without the vendor's
#                                                     wheels: 2.4.1:0.19.1, 2.11.0:0.26.0 and so on
#
# PROFILE=GPU: the modelled GPU (a100). Some two minutes and two GB for each version.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

make() {
	folder=$1
	shift
	for pair; do
		version=${pair%:*}
		"${PYTHON:-python3}" -m venv "$folder/torch-$version"
		pip=$folder/torch-$version/bin/pip
		"$pip" install -q --no-deps "torch==$version" "torchvision==${pair#*:}"
		# numpy and the others, of which some version fits each Python
		sed -n 's/^\([a-z_]*\)==.*/\1/p' "$here/requirements.txt" | grep -v '^torch' | xargs "$pip" install -q
	done
}

# try NAME RANKS OPTIONS: a cell of the row
try() {
	launcher=
	[ "$2" = 1 ] || launcher="-m torch.distributed.run --standalone --nproc-per-node $2"
	# shellcheck disable=SC2086
	if SOFTGPU_TRUTH=$1.truth.%r "$build/bin/pmrun" -q --softgpu="$profile" -o "$1" -- "$python" $launcher "$here/train.py" $3 --truth \
		>"$1.out" 2>&1; then
		"$python" "$here/against_truth.py" "$build/bin" "$1" "$1.truth.0" 12 2>&1 | tee "$1.said" |
			sed -n 's/^steps=\([0-9]*\) found=\([0-9]*\).* named=\([0-9]*\).*/ \2 of \1, \3% |/p' | tr -d '\n' >cell
		[ -s cell ] || { printf ' runs, not analysed |' >cell && echo "$row, $1: $(tail -n 1 "$1.said")" >&2; }
	else
		printf ' no |' >cell
		echo "$row, $1: $(grep -v '^ *$' "$1.out" | tail -n 1)" >&2
	fi
	cat cell
	rm -rf "$1" "$1".*
}

if [ "$1" = --make ]; then
	shift
	make "$@"
	exit
fi
build=$(cd "$1" && pwd) folder=$(cd "$2" && pwd) profile=${PROFILE:-a100}
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
echo "| torch | CUDA | vendor's wheels | Python | import | MLP | ResNet-18 | GPT, AMP | ResNet-18, DDP on 2 |"
echo "|---|---|---|---|---|---|---|---|---|"
for python in "$folder"/*/bin/python; do
	site=$(echo "${python%/bin/python}"/lib/python*/site-packages)
	[ -e "$site/torch/version.py" ] || continue
	# version, CUDA, and Python
	set -- $("$python" -c "$(cat "$site/torch/version.py")
import platform
print(__version__.partition('+')[0], cuda, platform.python_version())")
	wheels=no
	[ ! -d "$site/nvidia" ] || wheels=yes
	row="torch $1"
	imports=no
	! "$build/bin/pmrun" -q --softgpu="$profile" -o import -- "$python" -c 'import torch; torch.zeros(1, device="cuda")' >out 2>&1 || imports=yes
	[ $imports = yes ] || echo "$row, import: $(tail -n 1 out)" >&2
	rm -rf import
	printf '| %s | %s | %s | %s | %s |' "$1" "$2" $wheels "$3" $imports
	try mlp 1 mlp
	try resnet18 1 resnet18
	try gpt_amp 1 'gpt --amp'
	try ddp 2 'resnet18 --strategy ddp'
	echo
done | sort -t . -k 1,1 -k 2n
