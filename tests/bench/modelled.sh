# What benches of parallel training on modelled GPUs share; to be read by `.`, with pmrun and the trainers in the PATH.

# net: its trainer
trainer_of() {
	case $1 in
	resnet*) echo "train_resnet --depth ${1#resnet}" ;;
	vgg*) echo "train_vgg --depth ${1#vgg}" ;;
	mobilenet) echo train_mobilenet ;;
	esac
}

# profile, scale: the cluster that softgpu models, as pmfit's --cluster reads it, as many times slower as SOFTGPU_TIME_SCALE; of the memory's
# bandwidth what copies reach
cluster_of() {
	awk -v scale="${2:-1}" '
		$1 ~ /_gb_s$/ { $2 /= scale }
		$1 ~ /_us$/ { $2 *= scale }
		$1 == "gpus_per_node" { print "workers_per_node", $2 }
		$1 ~ /^device_link_/ { sub("device_", "", $1); print $1, $2 }
		$1 == "vector_memory_efficiency" { reached = $2 }
		$1 == "memory_gb_s" { memory = $2 }
		$1 ~ /^(network_|copy_latency_us|memory_gib)/ { print $1, $2 }
		END { print "memory_gb_s", memory * reached }' "$1"
}

# strategy, micro-batches, stages, partition: the trainer's options for it
options_of() {
	case $1 in
	data) echo "--aggregate fused" ;;
	layerwise) echo "--strategy layerwise --partition $4" ;;
	pipedream | hybrid) echo "--strategy $1 --micro-batches $2 --stages $3 --partition $4" ;;
	*) echo "--strategy $1 --micro-batches $2 --partition $4" ;;
	esac
}

# strategy, least: iterations to run; more of what fills and empties
iterations_of() {
	case $1 in
	pipedream) echo 20 ;;
	layerwise) echo 40 ;;
	*) echo "$2" ;;
	esac
}

# a trainer's clock, iterations, how many at the end to leave out (8): an iteration, us, without the first three. Where one begins when the one
# before has ended (fewer than 16), the least, as hosts' delays only lengthen it. Where batches follow each other, the mean of an even number
# (iterations may be long and short in turn), without the last ones, in which the pipeline empties: the first stage's are as many as are under way.
# Of large batches a set of data has fewer than were asked for
steady_iteration() {
	awk -F, -v n="$2" -v left="${3:-8}" '
		$4 != "iteration" || $1 < 3 { next }
		n < 16 { if (!count++ || $7 < least) least = $7; next }
		{ time[$1] = $7; end = $1 + 1 }
		END {
			for (i = 4; i < end - left; i++) { sum += time[i]; count++ }
			print !count ? "nan" : n < 16 ? least : sum / count }' "$1"
}

# strategy, key: a field of what `pmfit strategy --csv` printed into `predicted`; a partition of several cuts is in quotes
field() {
	awk -F, -v s="$1" -v key="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$1 == s { line = $0; part = ""; if (match(line, /"[^"]*"/)) { part = substr(line, RSTART + 1, RLENGTH - 2); sub(/"[^"]*"/, "quoted", line) }
			split(line, cell, ","); v = cell[at[key]]; print v == "quoted" ? part : v }' predicted
}
