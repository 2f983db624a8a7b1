# Compares a trainer's clock with pmanalyze's layers and phases, all CSV, by the names in their header lines. Prints what
# differs too much and exits 1, or nothing.
#
# How far a time may be off: by the share `within`, or `floor_us`; where the trace has only what kernels took, it may have less
# than the trainer by the share `below`.
#
# Files: clock (time_us by iteration, rank, gpu, phase, layer, index), layers and phases (ns). Only the last 20 iterations
# are compared: the first ones warm up.

function fail(text) { print text; bad = 1 }

# The median of values[key, 1..n].
function median(key, n,    i, j, t, v) {
	for (i = 1; i <= n; i++) {
		t = values[key, i]
		for (j = i - 1; j >= 1 && v[j] > t; j--)
			v[j + 1] = v[j]
		v[j + 1] = t
	}
	return n ? v[int((n + 1) / 2)] : 0
}

function add(key, us) { values[key, ++number[key]] = us }

# The trace's median for the trainer's median a: by the differences of each iteration, where both have it, as what holds a host up between
# the trainer's measurement and the hook's does so in some iterations only.
function trace_median(a, clock_key, trace_key,    i, key) {
	if (number[clock_key] != number[trace_key])
		return median(trace_key, number[trace_key])
	key = "difference " trace_key
	for (i = 1; i <= number[trace_key]; i++)
		values[key, i] = values[trace_key, i] - values[clock_key, i]
	return a + median(key, number[trace_key])
}

function compare(what, clock_key, trace_key,    a, b, d, limit) {
	compared++
	a = median(clock_key, number[clock_key])
	b = trace_median(a, clock_key, trace_key)
	d = a > b ? a - b : b - a
	limit = a * (b < a ? below : within)
	if (d > (limit > floor_us ? limit : floor_us))
		fail(sprintf("%s: the trainer says %.1f us, the trace %.1f us", what, a, b))
}

# The trainer's iteration ends with its last synchronisation, the trace's where the next one begins to read: it holds the
# trainer's own bookkeeping too, so it may be somewhat longer, but not shorter.
function compare_longer(what, clock_key, trace_key,    a, b) {
	compared++
	a = median(clock_key, number[clock_key])
	b = trace_median(a, clock_key, trace_key)
	if (b < a - 50 || b > a * 1.25 + 500)
		fail(sprintf("%s: the trainer says %.1f us, the trace %.1f us", what, a, b))
}

BEGIN {
	FS = ","
	KEPT = 20
	within = within ? within : 0.05
	below = below ? below : within
	floor_us = floor_us ? floor_us : 50
}
FNR == 1 { file++; for (i = 1; i <= NF; i++) column[file, $i] = i; next }
/^iteration,rank/ { next } # the next rank's header in the clock

file == 1 {
	rank = $column[1, "rank"]; gpu = $column[1, "gpu"]; phase = $column[1, "phase"]
	iteration = $column[1, "iteration"]; index_ = $column[1, "index"]; us = $column[1, "time_us"]
	if (phase == "iteration")
		clock_iterations[rank]++
	ranks[rank]
	if (iteration < count - KEPT)
		next
	if (index_ >= 0) {
		add("clock layer " rank " " gpu " " phase " " index_, us)
		layer_keys[rank " " gpu " " phase " " index_] = $column[1, "layer"]
		if (index_ > last_layer)
			last_layer = index_
	} else if (phase == "iteration") {
		add("clock iteration " rank, us)
	}
}

file == 2 {
	rank = $column[2, "rank"]; device = $column[2, "device"]; iteration = $column[2, "iteration"]
	if ($column[2, "kind"] == "setup")
		next
	if (!((rank, device, iteration) in seen)) {
		seen[rank, device, iteration]
		position[rank, device] = 0
		trace_iterations[rank, device]++
	}
	p = position[rank, device]++
	if (p > trace_last_layer)
		trace_last_layer = p
	if (trace_iterations[rank, device] <= count - KEPT)
		next
	add("trace layer " rank " " device " forward " p, $column[2, "forward_ns"] / 1000)
	add("trace layer " rank " " device " backward " p, $column[2, "backward_ns"] / 1000)
	add("trace layer " rank " " device " communication " p, ($column[2, "communication_ns"] + $column[2, "wait_ns"]) / 1000)
	devices[rank, device]
}

file == 3 && $column[3, "phase"] == "iteration" {
	rank = $column[3, "rank"]; device = $column[3, "device"]
	if (++phase_iterations[rank, device] > count - KEPT)
		add("trace iteration " rank " " device, $column[3, "busy_ns"] / 1000)
}

END {
	for (rank in ranks)
		if (clock_iterations[rank] != count)
			fail("rank " rank ": the trainer made " clock_iterations[rank] " iterations, not " count)
	for (key in devices) {
		split(key, part, SUBSEP)
		if (trace_iterations[key] != count)
			fail(sprintf("rank %s device %s: %d iterations found, %d made", part[1], part[2],
				trace_iterations[key], count))
		compare_longer("rank " part[1] " iteration", "clock iteration " part[1],
			"trace iteration " part[1] " " part[2])
	}
	if (trace_last_layer != last_layer)
		fail(sprintf("%d layers found, %d there", trace_last_layer + 1, last_layer + 1))
	for (key in layer_keys) {
		split(key, part, " ")
		compare("rank " part[1] " gpu " part[2] " " layer_keys[key] " " part[3], "clock layer " key,
			"trace layer " part[1] " " (part[1] + 0 >= 0 ? device_of(part[1], part[2]) : 0) " " part[3] " " part[4])
	}
	if (compared < 10)
		fail("only " compared + 0 " comparisons were made")
	exit bad
}

# A process has GPUs from number rank x gpus on.
function device_of(rank, gpu) { return (rank, gpu) in devices ? gpu : rank }
