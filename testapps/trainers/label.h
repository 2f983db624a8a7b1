/*
 * What the trainer is doing, written to softgpu's ground-truth log (SOFTGPU_TRUTH), which tests hold against
 * what pmanalyze finds out by itself. On GPUs, and wherever nobody listens, a label costs a branch.
 *
 * Phases: io, decode, h2d, md, forward, backward, recompute, communication, update, other.
 */
#ifndef LABEL_H
#define LABEL_H

/*
 * The calling thread's work from now on. layer: its name (a bucket's: names joined by '+'), NULL where the
 * phase has no layers. Both strings must exist until the program's end.
 */
void label_set(const char *phase, const char *layer);

/* The iteration that the process's work from now on belongs to. */
void label_iteration(int iteration);

#endif
