#!/bin/sh
# pmfit advise: a run on one modelled GPU becomes predictions for several; two GPUs then take a time in the predicted range (by the
# trainer's own clock); memory and links limit as they must; runs and options that cannot be are refused.
set -u
export PATH="$BUILD/bin:$PATH" LC_ALL=C SOFTGPU_PROFILE=v100 SOFTGPU_DEVICES=4
. "$SOURCE/tests/complain.sh"
expect() { # status, a word, a command
	status=$1 word=$2
	shift 2
	"$@" >out.txt 2>&1
	got=$?
	[ $got = "$status" ] || { cat out.txt; fail "$*: status $got"; }
	grep -qF -- "$word" out.txt || { cat out.txt; fail "$*: no '$word'"; }
}
train="train_vgg --depth 11 --dataset cifar10 --synthetic --print 0"
# shellcheck disable=SC2086
pmrun -q -n 1 -o one --softgpu -- $train --iterations 8 --batch 32 >/dev/null 2>&1 || fail "no run"
printf 'link_gb_s 130\nlink_latency_us 4\n' >fast.txt
printf 'link_gb_s 130\nlink_latency_us 4\nmemory_gib 0.01\n' >small.txt
printf 'link_gb_s 0.05\nlink_latency_us 4\n' >slow.txt

# shellcheck disable=SC2086
pmrun -q -n 2 -o small --softgpu -- $train --iterations 6 --batch 8 --aggregate fused >/dev/null 2>&1 || fail "no small run"

expect 0 'How many GPUs: 64: marginal efficiency stays' pmfit advise --cluster fast.txt one
grep -q '^Which strategy: data' out.txt || { cat out.txt; fail "no strategy"; }
# Where nothing fits: what was tried, and what lacks least, of which the table has no less.
expect 0 'no strategy that may be recommended fits into' pmfit advise --cluster small.txt --gpus 1,2 one
tr -s ' \n' ' ' <out.txt | grep -qE 'Nearest: [a-z0-9-]+ on 2 GPUs needs [0-9.]+ GiB\. Tried: up to 2 GPUs, all strategies, pipelines with up to [0-9]+ micro-batch(es)?' ||
	{ cat out.txt; fail "not what was tried"; }
needs=$(tr -s ' \n' ' ' <out.txt | sed 's/.*Nearest: [^.]*needs \([0-9.]*\) GiB.*/\1/')
pmfit advise --json --cluster small.txt --gpus 1,2 one | awk -v needs="$needs" -F'[:,]' '/"memory_bytes"/ && $2 > 0 { b = $2 / 1073741824; least = !least || b < least ? b : least }
	END { if (!(least > 0.99 * needs && least < 1.01 * needs)) { print "least " least ", said " needs; exit 1 } }' || fail "another needs less"
pmfit advise --json --cluster slow.txt --gpus 1,2 one >slow.json || fail "slow links"
pmfit advise --json --cluster fast.txt --gpus 1,2 one >fast.json || fail "fast links"
# 36.9 MB of gradients at 0.05 GB/s are 0.74 s, of activations less: not data parallelism, and no gain
awk -F'[:,]' '/"strategies"/ { exit } /"gpus"/ { g = $2 } /"strategy"/ && g == 2 { s = $2 } /"efficiency"/ && g == 2 { e = $2 } END { exit !(s && s !~ /data/ && e < 0.6) }' slow.json ||
	{ cat slow.json; fail "slow links do not limit"; }

# Two GPUs as the trainer runs them, its clock in microseconds of modelled time.
# shellcheck disable=SC2086
SOFTGPU_TIME_SCALE=8 pmrun -q -n 2 -o two --softgpu -- $train --iterations 10 --batch 64 --aggregate fused --cycle-ms 8 --clock clock >/dev/null 2>&1 ||
	fail "no run on two"
measured=$(awk -F, '$4 == "iteration" && $1 > 2 { print $7 / 8 }' clock.0 | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
awk -F'[:,]' -v us="$measured" '/"strategies"/ { exit } /"gpus"/ { g = $2 } /"low_ns"/ && g == 2 { low = $2 } /"high_ns"/ && g == 2 { high = $2 } END {
	if (!(us * 1e3 > 0.7 * low && us * 1e3 < 1.4 * high)) { printf "measured %g us, predicted %g to %g ns\n", us, low, high; exit 1 } }' fast.json ||
	fail "two GPUs are out of the range"

# One sample takes an iteration. One batch for all: each of two has half of it, and no more GPUs than samples.
expect 0 '1 sample takes' pmfit advise --cluster fast.txt --samples 1 one
expect 0 '(strong scaling)' pmfit advise --cluster fast.txt --whole-batch one
awk '/^ +[0-9]+ +[0-9]+ +/ { if ($2 != 32 || $1 > 32) bad = 1; rows++; time[$1] = $(NF - 7) } END { exit bad || rows != 6 }' out.txt || { cat out.txt; fail "not one batch"; }
pmfit advise --json --cluster fast.txt --whole-batch=128 --gpus 1,4 one >strong.json || fail "no strong scaling"
[ "$(sed -n 's/^\t*"whole_batch":\t*\([0-9]*\),*/\1/p' strong.json)" = 128 ] || fail "no whole batch in JSON"
expect 1 '8 GPUs for 4 samples' pmfit advise --cluster fast.txt --whole-batch=4 --gpus 8 one

# A straggler of four is said first; without it is predicted what such a run takes (within 6%), on two too, and no more GPUs are quicker than
# fewer that were measured.
for disturb in "rank=1 slow=2" ""; do
	SOFTGPU_TIME_SCALE=50 SOFTGPU_DISTURB=$disturb pmrun -q -n 4 -o "four$disturb" --softgpu -- train_cnn --synthetic --batch 1024 --iterations 12 --print 0 >/dev/null 2>&1 ||
		fail "no run on four"
done
expect 0 'First: Straggler rank 1: slower throughout' pmfit advise "fourrank=1 slow=2"
pmfit advise --json "fourrank=1 slow=2" >with.json && pmfit advise --json four >without.json || fail "no advice of four"
python3 - <<'END' || fail "a straggler is not taken out"
import json
slow, even = ({row["gpus"]: row for row in json.load(open(name))["rows"]} for name in ("with.json", "without.json"))
bad = [gpus for gpus in slow if abs(slow[gpus]["time_ns"] / even[gpus]["time_ns"] - 1) > 0.06]
bad += [gpus for gpus in slow if gpus > 4 and slow[gpus]["time_ns"] < 0.99 * slow[4]["time_ns"]]
bad += [gpus for gpus in slow if gpus > 1 and not slow[gpus]["delayed_ns"] > 1.3 * slow[gpus]["time_ns"]]
print(bad, [(gpus, slow[gpus]["time_ns"], even[gpus]["time_ns"], slow[gpus]["delayed_ns"]) for gpus in bad])
raise SystemExit(bool(bad))
END
expect 0 'How many GPUs: 64' pmfit advise "fourrank=1 slow=2"

# The page: XML, the answer and the tables of the terminal, nothing from elsewhere.
expect 0 'How sure: ' pmfit advise --cluster fast.txt --samples 1e6 --html page.html one
grep -E '^ +(2|64) ' out.txt | while read -r gpus batch strategy time rest; do
	grep -qF "<td>$gpus</td><td>$batch</td><td class=\"l\">$strategy</td><td>$time</td>" page.html || exit 1
done || { cat out.txt; fail "the page's table is another"; }
for words in '<dt>How many GPUs?</dt><dd>64: marginal efficiency stays' '1e+06 samples take' '<svg class="plot"' 'class="shade"' 'measured: ' \
	'<title>tensor, untried</title>' '<title>zero-3, untried</title>' '<title>data</title>'; do
	grep -qF "$words" page.html || fail "no '$words' in the page"
done
grep -qE '<script|https?:|src=|@import|url\(' page.html && fail "the page needs something else"
expect 1 'none/page.html' pmfit advise --cluster fast.txt --html none/page.html one

# The run on two, which is eight times as slow, is far from what is predicted; not so beside a run as slow on one.
expect 0 'probably differs from fast.txt' pmfit advise --cluster fast.txt two one
# shellcheck disable=SC2086
SOFTGPU_TIME_SCALE=8 pmrun -q -n 1 -o slowed --softgpu -- $train --iterations 8 --batch 32 >/dev/null 2>&1 || fail "no slowed run"
printf 'link_gb_s 16.25\nlink_latency_us 32\n' >slowed.txt
expect 0 'two: 2 GPUs, measured' pmfit advise --cycle-ms 8 --cluster slowed.txt two slowed
grep -qE '^ +2 +64 +data .* measured +(compute|links)' out.txt || { cat out.txt; fail "two GPUs are not shown as measured"; }
expect 1 'times of another batch are no check' pmfit advise --cluster fast.txt one small

expect 1 'one: --batch 8, but its trace has 32 samples on each GPU' pmfit advise --batch 8 --cluster fast.txt one

# Two GPUs alone tell what one does without the exchange, and on which links it was: an eighth of 130 GB/s, 32 us.
expect 0 'on one GPU, by a run on 2 without its exchange' pmfit advise --cycle-ms 8 two
grep -q 'measured with batch 32' out.txt || { cat out.txt; fail "layers of another batch"; }
grep -q 'Those of a node are from what 2 GPUs exchanged' out.txt || { cat out.txt; fail "links are not measured"; }
tr '\n' ' ' <out.txt | sed 's/.*others): *//; s/ GB.s and / /; s/ us.*//' >links.txt
awk '!($1 > 15 && $1 < 17.5 && $2 > 20 && $2 < 44) { bad = 1 } END { exit bad || NR != 1 }' links.txt || { cat links.txt; fail "other links"; }
pmfit advise --cycle-ms 8 --csv two | grep -q '^2,model,[0-9]' || fail "several GPUs without a pipeline"
pmfit advise --cycle-ms 8 --json two >two.json && pmfit advise --cycle-ms 8 --json slowed >slowed.json || fail "no JSON"
first() { sed -n "s/^\t*\"$1\":[^0-9]*\([0-9.e+]*\).*/\1/p" "$2" | head -n 1; }
awk -v one="$(first iteration_ns slowed.json)" -v low="$(first low_ns two.json)" -v high="$(first high_ns two.json)" 'BEGIN {
	if (!(one > 0.97 * low && one < 1.03 * high)) { printf "one GPU took %g, expected %g to %g\n", one, low, high; exit 1 } }' ||
	fail "one GPU is out of the range"
expect 1 'its layers communicate' pmfit strategy --cluster fast.txt --workers 2 - <<END
$(pmanalyze layers --json two)
END
expect 1 'none' pmfit advise --cluster fast.txt none

# Without a file: the known cluster with such GPUs, and their memory; another by its name.
expect 0 'Links (dgx-1, assumed as GPUs are Tesla V100-SXM2-16GB' pmfit advise one
grep -q '^Memory: 16 GiB a GPU, as the run' out.txt || { cat out.txt; fail "no memory"; }
expect 0 'Links (pcie4, not checked): 24 GB/s' pmfit advise --cluster pcie4 one
expect 1 'nowhere: No such file or directory, and no known cluster' pmfit advise --cluster nowhere one

# Where the run's samples are not known, a row of the first layer is none.
pmanalyze layers --json one | sed 's/^\(.\)"samples":.*/\1"samples":\tnull,/' >unknown.json
expect 1 "the run's batch is not known" pmfit strategy --cluster fast.txt --workers 2 unknown.json
sed 's/"input":.*/"input": "",/' unknown.json >unstated.json
expect 1 "the run's batch is not known" pmfit strategy --cluster fast.txt --workers 2 unstated.json
expect 0 'An iteration of 32 samples on 2 workers' pmfit strategy --cluster fast.txt --workers 2 - <<END
$(pmanalyze layers --json one)
END
expect 2 'expected increasing numbers' pmfit advise --cluster fast.txt --gpus 4,2 one
exit 0
