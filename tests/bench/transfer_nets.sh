#!/bin/sh
# Whole networks on another GPU: each of the modelled GPUs is left out, its layers are predicted by pmfit transfer from runs of the same
# network on the others, with none of its rows and with five, and the sum is compared with what softgpu's run took. Beside it the plain
# roofline ratio. Modelled times follow rooflines of their own, so this says how the parts work together and little of real GPUs.
#
#     tests/bench/transfer_nets.sh BUILD
set -eu
build=$(cd "${1:?usage: transfer_nets.sh BUILD}" && pwd)
export PATH="$build/bin:$PATH" LC_ALL=C
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
gpus="v100 rtx2080 a100 h200"
cat >gpus.csv <<'END'
device,flops,bandwidth
v100,15.7T,900G
rtx2080,10.1T,448G
a100,19.5T,1555G
h200,67T,4800G
END

capture() { # NET TRAINER [OPTION]...: NET-GPU.csv of each GPU, without rows of which neither operations nor bytes are known
	net=$1
	shift
	for gpu in $gpus; do
		pmrun -q -n 1 -o "run.$gpu" --softgpu="$gpu" -- "$@" --synthetic --iterations 4 --print 0 >/dev/null
		pmanalyze roofline --csv "run.$gpu" | awk -F, 'NR == 1 || $6 + $7 > 0' >"$net-$gpu.csv"
		rm -rf "run.$gpu"
	done
}

sum() { # NAME FILE: of the column, ms
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { s += $at } END { printf "%.4f", s / 1e6 }' "$2"
}

ask() { # NET GPU ROWS: the sum of what is predicted, and of the plain ratio, for layers of which ROWS were measured on the GPU
	known=
	for other in $gpus; do
		[ "$other" = "$2" ] || known="$known $other=$1-$other.csv"
	done
	awk -v rows="$3" 'NR == 1 || (NR - 2) % 7 == 0 && n++ < rows' "$1-$2.csv" >measured.csv
	[ "$3" = 0 ] || known="$known $2=measured.csv"
	# shellcheck disable=SC2086 # words
	pmfit transfer --csv --devices gpus.csv --to "$2" --layers "$1-$2.csv" $known >said.csv 2>/dev/null
	echo "$(sum predicted_ns said.csv) $(sum roofline_ratio_ns said.csv)"
}

capture vgg11 train_vgg --depth 11 --dataset cifar10 --batch 16
capture resnet18 train_resnet --depth 18 --dataset cifar10 --batch 32
capture mobilenet train_mobilenet --dataset imagenet --batch 8
echo "net        left out  measured ms   none measured   five measured   roofline ratio"
for net in vgg11 resnet18 mobilenet; do
	for gpu in $gpus; do
		# shellcheck disable=SC2046 # numbers
		echo "$net $gpu $(sum time_ns "$net-$gpu.csv") $(ask "$net" "$gpu" 0) $(ask "$net" "$gpu" 5)"
	done
done | awk 'function off(x, worst) { return 100 * (x / $3 - 1) }
	function abs(x) { return x < 0 ? -x : x }
	{
		printf "%-10s %-8s %12s %14.1f%% %14.1f%% %15.1f%%\n", $1, $2, $3, off($4), off($6), off($5)
		n++; a += abs(off($4)); b += abs(off($6)); c += abs(off($5)); close4 += abs(off($4)) <= 10; close6 += abs(off($6)) <= 10
	}
	END { printf "mean absolute error %26.1f%% %14.1f%% %15.1f%%\nwithin 10%%: %d and %d of %d\n", a / n, b / n, c / n, close4, close6, n }'
