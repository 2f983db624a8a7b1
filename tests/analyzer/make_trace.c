/* Writes the traces of made-up training programs for golden.sh: make_trace FOLDER NAME. */
#include "model.h"

#include <err.h>
#include <stdio.h>
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
	{"host_only",
		{.net = MODEL_MLP, .processes = 1, .gpus = 1, .no_device = true, .optimizer = MODEL_OPAQUE}},
};

int main(int argument_count, char **arguments)
{
	if (argument_count != 3)
		errx(2, "usage: make_trace FOLDER NAME");
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct model_options options = programs[i].options;
		struct model model;

		if (strcmp(programs[i].name, arguments[2]) != 0)
			continue;
		options.iterations = 8;
		options.batch = 64;
		model_make(&model, &options);
		for (int p = 0; p < model.process_count; p++) {
			char path[512];

			snprintf(path, sizeof(path), "%s/program.%d.pmtrace", arguments[1], p);
			builder_save(&model.processes[p].builder, path);
		}
		model_free(&model);
		return 0;
	}
	errx(2, "no program %s", arguments[2]);
}
