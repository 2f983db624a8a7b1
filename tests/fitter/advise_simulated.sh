#!/bin/sh
# pmfit advise against simulation: from a run on one modelled V100 with slow links, whose gradients take longer than computing, a pipeline
# is recommended; each strategy is then run as advised by softgpu with the times of that run: what is recommended is the quickest by far,
# and each takes a time in its range, by the trainer's own clock: the shortest iteration, since other load on this machine lengthens them,
# and with a fifth below and a tenth above as room. Layers' times are those of efficiencies that fall with size; with curves, whose times grow
# in steps, one run does not say how a small micro-batch fares. tests/bench/advise.sh does so for more networks, and prints the errors.
set -u
scale=8 # all times are so many times the GPU's, so that the hosts' own time does not count
export PATH="$BUILD/bin:$PATH" LC_ALL=C SOFTGPU_DEVICES=4 SOFTGPU_TIME_SCALE=$scale
train="train_vgg --depth 11 --dataset cifar10 --synthetic --print 0"
. "$SOURCE/tests/complain.sh"
awk '/^curves/ { next } /^(device_link|network)_gb_s/ { $2 = 2 } { print }' "$SOURCE/testapps/softgpu/profiles/v100.profile" >slow.profile
printf 'link_gb_s 0.25\nlink_latency_us 32\nmemory_gb_s 112.5\ncopy_latency_us 12\n' >cluster # an eighth, and eight times
# shellcheck disable=SC2086
pmrun -q -n 1 -o one "--softgpu=$PWD/slow.profile" -- $train --iterations 16 --batch 32 >log 2>&1 || { cat log; fail "no run"; }
pmanalyze export --times -o scaled.tsv one >/dev/null || fail "no times"
awk -F'\t' -v OFS='\t' -v scale=$scale '$NF + 0 > 0 { $NF /= scale } { print }' scaled.tsv >times.tsv # softgpu scales them again
pmfit advise --csv --cycle-ms $scale --cluster cluster --gpus 1,2 one >ways || fail "no advice"
pmfit advise --cluster cluster --gpus 2 one >answer || fail "no answer"
grep -q '^Which strategy: gpipe; ' answer || { cat answer; fail "another strategy is recommended"; }

run() { # strategy and how, of which the fields are gpus,strategy,time,low,high,rate,memory,micro-batches,stages,partition
	set -- "$1" "$(awk -F, -v s="$1" '$1 == 2 && $2 == s { print "--micro-batches", $8, "--partition", $10 }' ways)"
	how="--strategy $1 $2"
	[ "$1" != data ] || how="--aggregate fused --cycle-ms $scale"
	# shellcheck disable=SC2086
	SOFTGPU_TIMES=times.tsv pmrun -q -n 2 -o run "--softgpu=$PWD/slow.profile" -- $train --batch 64 --iterations 8 --clock clock \
		$how >log 2>&1 || { cat log; fail "$1 does not run"; }
	grep -q 'softgpu: SOFTGPU_TIMES: [1-9]' log || { cat log; fail "$1: no time of the run was used"; }
	awk -F, '$4 == "iteration" && $1 > 2 { print $7 * 1e3 }' clock.0 | sort -g | sed -n "1s/^/$1 /p"
	rm -rf run clock.*
}
for strategy in data model gpipe; do
	run $strategy || exit 1
done >simulated
awk 'NR == FNR { time[$1] = $2; next }
	{ split($0, f, ",") } f[1] == 2 && f[2] in time {
		checked++; if (time[f[2]] < 0.8 * f[4] || time[f[2]] > 1.1 * f[5]) { print f[2] ": simulated", time[f[2]], "ns, expected", f[4], "to", f[5]; bad = 1 } }
	END { if (time["gpipe"] > 0.6 * time["data"] || time["gpipe"] > time["model"]) { print "gpipe is not the quickest"; bad = 1 }
		exit bad || checked != 3 }' simulated ways || { cat simulated ways; fail "predicted is not what is simulated"; }
exit 0
