#!/bin/sh
# What pmanalyze whatif predicts against runs in which it is so: something is made slow on modelled GPUs, or the program is run
# otherwise, and the prediction for the run without that must be the other run's iteration, within 3%. One row a case. On a busy machine
# hosts are held up in one run and not in the other, so all of it may take up to three attempts: a wrong prediction fails each.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
export SOFTGPU_PROFILE=v100

# make_run NAME DISTURBANCE RANKS TRAINER [OPTION]...
make_run() {
	name=$1 disturb=$2 ranks=$3 trainer=$4
	shift 4
	SOFTGPU_DISTURB=$disturb "$bin/pmrun" -q -n "$ranks" -o "$name" --softgpu -- "$bin/$trainer" --iterations 8 --print 0 "$@" \
		>"$name.out" 2>&1
}

# predict NAME TRUE WITHIN QUESTION...: the prediction for run NAME is the iteration of run TRUE
predict() {
	name=$1 other=$2 within=$3
	shift 3
	"$bin/pmanalyze" whatif --json "$@" "$name" >answer.json
	"$bin/pmanalyze" whatif --json --host "$other" >other.json
	if python3 - "$within" "$name: $*" <<-'END'
		import json, sys
		answer, other = (json.load(open(f))["runs"][0] for f in ("answer.json", "other.json"))
		predicted, measured, disturbed = answer["changes"][0]["predicted_ns"], other["measured_ns"], answer["measured_ns"]
		error = predicted / measured - 1
		exact = abs(answer["replay_error"]) < 1e-4 and answer["left_out"] == 0
		ok = abs(error) <= float(sys.argv[1]) and exact
		print("%s %s: %.3f ms, %.3f ms without, %.3f ms predicted (%+.2f%%)%s" % ("ok" if ok else "not ok", sys.argv[2],
			disturbed / 1e6, measured / 1e6, predicted / 1e6, 100 * error, "" if exact else "; the replay is not exact"))
		sys.exit(not ok)
	END
	then :; else bad=1; fi
}

# slowdown NAME TRUE: S = t / t_ideal, the ideal being another run
slowdown() {
	"$bin/pmanalyze" balance --json "$1" >balance.json
	"$bin/pmanalyze" whatif --json --host "$1" >answer.json
	"$bin/pmanalyze" whatif --json --host "$2" >other.json
	python3 - "$1" <<-'END' || bad=1
		import json, sys
		balance, answer, other = (json.load(open(f))["runs"][0] for f in ("balance.json", "answer.json", "other.json"))
		true = answer["measured_ns"] / other["measured_ns"]
		ok = abs(balance["slowdown"] / true - 1) < 0.02
		print("%s %s: slowdown %.3f, true %.3f" % ("ok" if ok else "not ok", sys.argv[1], balance["slowdown"], true))
		sys.exit(not ok)
	END
}

cases() {
	# Hosts share processors: what they lose to each other must be small beside an iteration.
	export SOFTGPU_TIME_SCALE=150
	cnn="train_cnn --synthetic --batch 768"
	make_run base "" 3 $cnn
	make_run base_overlap "" 3 $cnn --aggregate overlap
	make_run layer "layer=conv2 slow=3" 3 $cnn
	predict layer base 0.03 --layer conv2=3
	make_run layer_overlap "layer=conv2 slow=3" 3 $cnn --aggregate overlap
	predict layer_overlap base_overlap 0.03 --layer conv2=3
	make_run rank "rank=1 slow=1.5" 3 $cnn
	predict rank base 0.03 --rank 1=others
	make_run rank_overlap "rank=1 slow=1.5" 3 $cnn --aggregate overlap
	predict rank_overlap base_overlap 0.03 --rank 1=others
	make_run rank_layer "rank=2 layer=conv2 slow=3" 3 $cnn
	predict rank_layer base 0.03 --rank 2=others
	make_run host "rank=0 launch=20us" 3 $cnn
	predict host base 0.03 --rank 0=others
	make_run both "rank=1 slow=1.5; layer=conv1 slow=2" 3 $cnn
	predict both base 0.03 --rank 1=others --layer conv1=2
	predict base base_overlap 0.03 --overlap
	predict rank base_overlap 0.03 --overlap --rank 1=others
	# The mean of three ranks of which one takes twice as long.
	make_run uneven "rank=0 slow=2" 3 $cnn
	make_run mean "slow=1.3333333" 3 $cnn
	predict uneven mean 0.03 --balance
	slowdown uneven mean
	slowdown base base

	# How much faster the link becomes is what these runs say of the same collectives, apart from the waiting.
	resnet="train_resnet --depth 18 --dataset cifar10 --synthetic --batch 48"
	export SOFTGPU_TIME_SCALE=20
	make_run fast_link "" 3 $resnet
	make_run slow_link "link=0-1 bandwidth=0.25" 3 $resnet
	for run in slow_link fast_link; do
		"$bin/pmanalyze" comm --json "$run" >"$run.json"
	done
	factor=$(python3 -c '
import json
slow, fast = ([c for c in json.load(open(f))["runs"][0]["calls"] if c["call"] == "AllReduce"][0]["transfer_ns"]
	for f in ("slow_link.json", "fast_link.json"))
print(slow / fast)')
	predict slow_link fast_link 0.03 --communication "$factor"

	# A pipeline, of which a layer is in one stage alone.
	vgg="train_vgg --depth 11 --dataset cifar10 --synthetic --strategy gpipe"
	make_run pipe "" 4 $vgg
	make_run pipe_layer "layer=conv6 slow=2" 4 $vgg
	predict pipe_layer pipe 0.03 --layer conv6=2
}

for attempt in 1 2 3; do
	bad=0
	mkdir "$attempt"
	cd "$attempt"
	cases
	[ $bad != 0 ] || exit 0
	cd ..
	echo "attempt $attempt failed"
done
exit 1
