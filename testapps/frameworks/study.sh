#!/bin/sh
# The networks of this folder in each framework, on one to three GPUs: study.sh BUILD GPU|none [NET...], in a folder for what it makes.
# PYTORCH, JAX and TENSORFLOW name a Python with that framework; one that is not set is left out. GPU: a modelled one, as for
# pmrun --softgpu; none: those of the machine. GPUS ("1 2 3"), STEPS (40) and BATCH (384) may be set, too.
#
# Runs are kept in study.FRAMEWORK.NET.GPUS, and one that is there is not made again; training images in data, made by mkdata where there
# are none. Prints the tables of the thesis for each network, and writes study.NET.csv, study.NET.json and study.NET.html.
set -eu
if [ $# -lt 2 ]; then
	echo "usage: study.sh BUILD GPU|none [NET...]" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
steps=${STEPS:-40} batch=${BATCH:-384} gpus=${GPUS:-1 2 3}
. "$here/frameworks.sh"
make_data "$batch"
shift 2
[ $# -gt 0 ] || set -- cnn mlp autoencoder
nets=$*

# NAME [PMRUN'S OPTION...] -- COMMAND...
record() {
	name=$1 start=$(date +%s)
	shift
	[ ! -d "$name" ] || return 0
	rm -rf "$name.part"
	# shellcheck disable=SC2086
	if "$bin/pmrun" -q -o "$name.part" $modelled "$@" >"$name.log" 2>&1; then
		mv "$name.part" "$name"
		echo "$name: $(($(date +%s) - start)) s" >&2
	else
		tail -n 5 "$name.log" >&2
		echo "study.sh: $name failed: all it said is in $name.log" >&2
	fi
}

# The runs of a network that there are: all, or those on one GPU.
runs() {
	for framework in $frameworks; do
		for n in $gpus; do
			[ ! -d "study.$framework.$1.$n" ] || [ "${2:-$n}" != "$n" ] || echo "study.$framework.$1.$n"
		done
	done
}

for net in $nets; do
	for framework in $frameworks; do
		for n in $gpus; do
			with_program "$framework" "$net" "$n" "--batch $batch" record "study.$framework.$net.$n"
		done
	done
done
for net in $nets; do
	set -- $(runs "$net")
	[ $# -gt 0 ] || continue
	printf '\n==== %s\n' "$net"
	"$bin/pmanalyze" model --across --layers --by-program --rows iterations --batch "$batch" "$@" 2>"study.$net.err" || :
	"$bin/pmanalyze" model --csv --by-program --rows iterations --batch "$batch" "$@" >"study.$net.csv" 2>/dev/null || :
	"$bin/pmanalyze" model --json --by-program --rows iterations --batch "$batch" "$@" >"study.$net.json" 2>/dev/null || :
	set -- $(runs "$net" 1)
	[ $# -lt 2 ] || { printf '\n==== %s on one GPU\n' "$net" && "$bin/pmanalyze" compare "$@" 2>>"study.$net.err" || :; }
	set -- $(runs "$net")
	"$bin/pmanalyze" html --force -o "study.$net.html" "$@" 2>>"study.$net.err" >/dev/null || :
	[ ! -s "study.$net.err" ] || echo "study.sh: warnings are in study.$net.err" >&2
done
