#!/bin/sh
# The study's networks are the same: counts.sh pytorch|jax|tensorflow. By what the framework itself counts (counts.py) each has the parameters
# and floating-point operations of the closed form; in the C trainers pmanalyze finds as many parameters. In eleven steps on the CPU the
# losses of the classifiers fall from what a network knows that has learned nothing (the autoencoder's has not left it yet), as they do in C on
# softgpu, which computes: its kernels are libraries' calls; those of the frameworks are compiled for GPUs, and softgpu does not run them.
set -eu
framework=$1
. "$SOURCE/tests/frameworks/find.sh"
"$BUILD/bin/mkdata" --out data --train 1536 >/dev/null
# PyTorch's wheel is bound to the vendor's libraries, of which it uses none
CUDA_VISIBLE_DEVICES='' JAX_PLATFORMS=cpu LD_LIBRARY_PATH="$BUILD/softgpu" "$PYTHON" "$SOURCE/tests/frameworks/counts.py" "$framework" 11 data \
	>counted 2>counted.err || { echo "not ok: $(tail -n 3 counted.err)" && exit 1; }
for net in cnn mlp autoencoder; do
	"$BUILD/bin/pmrun" -q --softgpu -o c.$net -- "$BUILD/bin/train_$net" --batch 128 --iterations 11 --optimizer sgd --lr 0.01 --momentum 0.9 \
		--print 10 >c.log
	"$BUILD/bin/pmanalyze" layers --json c.$net 2>/dev/null >layers.json
	python3 -c 'import json; print(sum(l["parameters"] or 0 for l in json.load(open("layers.json"))["layers"]))' | sed "s/^/$net parameters /"
	sed -n 's/.* loss //p' c.log | tr '\n' ' ' | sed "s/^/$net loss /"
	echo
done >c.counted
python3 - "$framework" <<'END' || exit 1
import sys

# multiplications and additions of an image: an image of a map of 24x24 has 6 sums of 25 products, and so on
FLOPS = {"cnn": 2 * (6 * 24 * 24 * 25 + 16 * 8 * 8 * 150 + 256 * 120 + 120 * 84 + 84 * 10),
         "mlp": 2 * (784 * 512 + 512 * 256 + 256 * 10), "autoencoder": 2 * 2 * (784 * 128 + 128 * 32)}
PARAMETERS = {"cnn": 44426, "mlp": 535818, "autoencoder": 209968}
bad = 0


def read(name):
    rows = [line.split() for line in open(name)]
    return {(row[0], row[1]): [float(word) for word in row[2:]] for row in rows if row}


theirs, c = read("counted"), read("c.counted")
for net in PARAMETERS:
    for who, found in (sys.argv[1], theirs), ("c", c):
        first, *_, last = found[net, "loss"]
        # of ten classes nobody knows the right one: ln 10; an image of even noise is 1/12 from its mean
        start = (0.08, 0.16) if net == "autoencoder" else (2.1, 2.8)
        right = found[net, "parameters"] == [PARAMETERS[net]] and start[0] < first < start[1] and last < (1.03 if net == "autoencoder" else 1) * first
        right = right and found.get((net, "flops"), [FLOPS[net]]) == [FLOPS[net]]
        bad += not right
        print(f"{'ok' if right else 'not ok'}: {who}: {net}: {found[net, 'parameters'][0]:.0f} parameters, "
              f"{found.get((net, 'flops'), [0])[0]:.0f} operations, loss {first} to {last}")
sys.exit(bad > 0)
END
