/*
 * A placement: GPUs on each node, "4-4-2", or a digit for each node, "442". One number stands for one node.
 */
#ifndef PLACEMENT_H
#define PLACEMENT_H

/* 0, or -1 where the text is none: empty, a node without a GPU, a number beyond PLACEMENT_MOST. `by_digit`:
 * without separators each digit is a node; else they are one number. */
#define PLACEMENT_MOST 1e6
int placement_read(const char *text, int by_digit, double *gpus, double *nodes);

#endif
