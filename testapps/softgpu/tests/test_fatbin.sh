#!/bin/sh
# Kernels' parameters, as softgpu reads them from code that nvcc has made, are where C puts them; and no damage to an
# image makes the reader look beyond its end.
# Usage: test_fatbin.sh TEST_FATBIN SOFTGPU_FOLDER [NVCC]
set -eu
reader=$1 softgpu=$2 nvcc=${3-}
here=$(cd "$(dirname "$0")" && pwd)
case $nvcc in
"" | *-NOTFOUND)
	echo "no nvcc: nothing to read"
	exit 77
	;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
old="-gencode arch=compute_75,code=sm_75" new="-gencode arch=compute_90,code=sm_90"
if ! "$nvcc" $old $new -fatbin -o plain.fatbin "$here/params.cu" 2>log; then
	echo "nvcc does not work here: $(head -1 log)"
	exit 77
fi
run() { LD_LIBRARY_PATH=$softgpu "$@"; }
for mode in none size speed balance; do
	"$nvcc" $old $new --compress-mode=$mode -cudart shared -L"$softgpu" -lcuda -o "$mode" "$here/params.cu" 2>log ||
		{ grep -q compress-mode log && continue; cat log; exit 1; }
	run "./$mode" 2
	SOFTGPU_PROFILE=rtx2080 run "./$mode" 3
done
for mode in none size; do
	"$nvcc" $old $new --compress-mode=$mode -fatbin -o "$mode.fatbin" "$here/params.cu" 2>log || continue
	"$reader" "$mode.fatbin"
done
