/*
 * The main program of all trainers: options, training loop, evaluation. A trainer adds its network and the
 * options that shape it.
 */
#ifndef TRAIN_H
#define TRAIN_H

#include "nn.h"
#include "options.h"

struct train_program {
	const char *about;             /* for options_parse */
	const struct option_setting *rows; /* the network's options */
	/* Adds the layers, or sets nn->error; the input's shape is in nn->in, how many classes in
	 * nn->classes. */
	void (*build)(struct nn *nn);
	int dataset; /* enum data_set: the default of --dataset */
};

/* Answers the exit status. */
int train_main(int argc, char **argv, const struct train_program *program);

#endif
