#!/bin/sh
# What pmanalyze whatif predicts against runs in which it is so: something is made slow on modelled GPUs, or the program is run
# otherwise, and the prediction for the run without that must be the other run's iteration, within 3%. One row a case. Hosts do not
# run by the model clock, and a busy machine delays them now and then, which only adds time: each run is made four times, and the least
# of the times that are measured is compared with the least of those that are predicted; where they differ, after four more of each.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
export SOFTGPU_PROFILE=v100
bad=0

# make_run NAME DISTURBANCE RANKS TRAINER [OPTION]...: NAME.1 to NAME.4, by a script that can make more of them
make_run() {
	name=$1 disturb=$2 ranks=$3 trainer=$4
	shift 4
	cat >"$name.sh" <<-END
		export SOFTGPU_DISTURB="$disturb" SOFTGPU_TIME_SCALE=$SOFTGPU_TIME_SCALE
		for run; do
			"$bin/pmrun" -q -n $ranks -o $name.\$run --softgpu -- "$bin/$trainer" --iterations 5 --print 0 $* >$name.\$run.out 2>&1
		done
	END
	sh "$name.sh" 1 2 3 4
}

# more_runs NAME OTHER: four more of each
more_runs() {
	for of in "$1" "$2"; do
		set -- "$of".?
		sh "$of.sh" $(($# + 1)) $(($# + 2)) $(($# + 3)) $(($# + 4))
	done
}

# What python needs of pmanalyze's answer about the runs.
cat >answers.py <<-'END'
	import json, sys
	def runs(file):
	    return json.load(open(file))["runs"]
	def least(file, value):
	    return min(value(run) for run in runs(file))
	def measured(file):
	    return least(file, lambda run: run["measured_ns"])
END

# is_predicted NAME TRUE WITHIN QUESTION...: the prediction for run NAME is the iteration of run TRUE
is_predicted() {
	name=$1 other=$2 within=$3
	shift 3
	"$bin/pmanalyze" whatif --json "$@" "$name".? >answer.json
	"$bin/pmanalyze" whatif --json --host "$other".? >other.json
	python3 - "$within" "$name: $*" <<-'END'
		from answers import *
		predicted, true = least("answer.json", lambda run: run["changes"][0]["predicted_ns"]), measured("other.json")
		error = predicted / true - 1
		exact = all(abs(run["replay_error"]) < 1e-4 and run["left_out"] == 0 for run in runs("answer.json"))
		ok = abs(error) <= float(sys.argv[1]) and exact
		print("%s %s: %.3f ms, %.3f ms without, %.3f ms predicted (%+.2f%%)%s" % ("ok" if ok else "not ok", sys.argv[2],
			measured("answer.json") / 1e6, true / 1e6, predicted / 1e6, 100 * error, "" if exact else "; the replay is not exact"))
		sys.exit(not ok)
	END
}
predict() {
	is_predicted "$@" || { more_runs "$1" "$2" && is_predicted "$@"; } || bad=1
}

# is_slowdown NAME TRUE: S = t / t_ideal of the run that took least, the ideal being another run
is_slowdown() {
	"$bin/pmanalyze" balance --json "$1".? >balance.json
	"$bin/pmanalyze" whatif --json --host "$1".? >answer.json
	"$bin/pmanalyze" whatif --json --host "$2".? >other.json
	python3 - "$1" <<-'END'
		from answers import *
		of_run = zip(runs("answer.json"), runs("balance.json"))
		slowdown = min(of_run, key=lambda both: both[0]["measured_ns"])[1]["slowdown"]
		true = measured("answer.json") / measured("other.json")
		ok = abs(slowdown / true - 1) < 0.02
		print("%s %s: slowdown %.3f, true %.3f" % ("ok" if ok else "not ok", sys.argv[1], slowdown, true))
		sys.exit(not ok)
	END
}
slowdown() {
	is_slowdown "$@" || { more_runs "$1" "$2" && is_slowdown "$@"; } || bad=1
}

# Hosts share processors: what they lose to each other must be small beside an iteration.
export SOFTGPU_TIME_SCALE=300
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
for name in slow_link fast_link; do
	"$bin/pmanalyze" comm --json "$name".? >"$name.json"
done
factor=$(python3 - <<-'END'
	from answers import *
	def transfer(run):
	    return [call for call in run["calls"] if call["call"] == "AllReduce"][0]["transfer_ns"]
	print(least("slow_link.json", transfer) / least("fast_link.json", transfer))
END
)
predict slow_link fast_link 0.03 --communication "$factor"

# A pipeline, of which a layer is in one stage alone.
vgg="train_vgg --depth 11 --dataset cifar10 --synthetic --strategy gpipe"
make_run pipe "" 4 $vgg
make_run pipe_layer "layer=conv6 slow=2" 4 $vgg
predict pipe_layer pipe 0.03 --layer conv6=2
exit $bad
