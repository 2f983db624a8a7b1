/*
 * Writes the traces of made-up training programs for golden.sh, or long ones to measure the reader with:
 * make_trace FOLDER NAME [ITERATIONS [VERSION]].
 */
#include "model.h"
#include "odd_trace.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
	const char *name;
	struct model_options options;
} programs[] = {
	{"one", {.net = MODEL_LENET,
			.processes = 1,
			.gpus = 1,
			.search = true,
			.evaluate_every = 4,
			.evaluate_count = 2}},
	{"three", {.net = MODEL_LENET,
			  .processes = 3,
			  .gpus = 1,
			  .log_every = 3,
			  .slow_worker = 2,
			  .slow = 1.5}},
	{"overlap", {.net = MODEL_LENET,
			    .processes = 3,
			    .gpus = 1,
			    .log_every = 3,
			    .slow_worker = 2,
			    .slow = 1.5,
			    .overlap = true}},
	{"two_gpus", {.net = MODEL_AUTOENCODER,
			     .processes = 1,
			     .gpus = 2,
			     .divide_device = true,
			     .optimizer = MODEL_ADAM}},
	{"killed", {.net = MODEL_NORM,
			   .processes = 1,
			   .gpus = 1,
			   .killed = true,
			   .uneven_every = 4,
			   .optimizer = MODEL_MOMENTUM}},
	{"modules", {.net = MODEL_LENET, .processes = 1, .gpus = 1, .modules = true, .graph_api = true}},
	{"ranges", {.net = MODEL_LENET, .processes = 1, .gpus = 1, .ranges = true}},
	{"windows", {.net = MODEL_LENET,
			    .processes = 1,
			    .gpus = 1,
			    .windows = {1, 3, 5, 7},
			    .late_window = true}},
	{"stretches", {.net = MODEL_LENET, .processes = 2, .gpus = 1, .activities = true, .untimed = {3, 5}}},
	{"untimed", {.net = MODEL_LENET, .processes = 1, .gpus = 1, .activities = true, .untimed = {0, 1000}}},
	{"cost", {.net = MODEL_LENET, .processes = 2, .gpus = 1, .cost = true}},
	{"graph", {.net = MODEL_LENET, .processes = 1, .gpus = 1, .graph = 1}},
	{"graph_cupti", {.net = MODEL_LENET, .processes = 1, .gpus = 1, .graph = 1, .activities = true}},
	{"recompute", {.net = MODEL_RESIDUAL,
			      .processes = 1,
			      .gpus = 1,
			      .accumulate = 2,
			      .schedule = MODEL_ALL_FORWARD,
			      .recompute = true}},
	{"causes", {.net = MODEL_LENET,
			   .processes = 3,
			   .gpus = 1,
			   .slow_worker = 1,
			   .slow = 4,
			   .slow_layer = "conv2",
			   .slow_input_ns = 60000,
			   .slow_host_ns = 10000}},
	{"now_and_then",
		{.net = MODEL_MLP, .processes = 2, .gpus = 1, .slow_worker = 1, .slow = 4, .slow_every = 4}},
	{"rarely", {.net = MODEL_MLP,
			   .processes = 2,
			   .gpus = 1,
			   .slow_worker = 1,
			   .slow = 40,
			   .slow_every = 777,
			   .evaluate_every = 500,
			   .evaluate_count = 9}},
	{"host_only",
		{.net = MODEL_MLP, .processes = 1, .gpus = 1, .no_device = true, .optimizer = MODEL_OPAQUE}},
	{"synchronized_once",
		{.net = MODEL_MLP, .processes = 1, .gpus = 1, .no_device = true, .synchronize_every = 5}},
};

static void save(const char *folder, int number, struct builder *builder)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/program.%d.pmtrace", folder, number);
	builder_save(builder, path);
}

int main(int argument_count, char **arguments)
{
	int iterations = argument_count > 3 ? atoi(arguments[3]) : 8;

	if (argument_count < 3 || argument_count > 5 || iterations < 1)
		errx(2, "usage: make_trace FOLDER NAME [ITERATIONS [VERSION]]");
	if (strcmp(arguments[2], "odd") == 0) {
		struct builder builder;

		odd_trace(&builder);
		save(arguments[1], 0, &builder);
		builder_free(&builder);
		return 0;
	}
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct model_options options = programs[i].options;
		struct model model;

		if (strcmp(programs[i].name, arguments[2]) != 0)
			continue;
		options.iterations = iterations;
		options.version_1 = argument_count > 4 && atoi(arguments[4]) == 1;
		options.batch = 64;
		model_make(&model, &options);
		for (int p = 0; p < model.process_count; p++)
			save(arguments[1], p, &model.processes[p].builder);
		model_free(&model);
		return 0;
	}
	errx(2, "no program %s", arguments[2]);
}
