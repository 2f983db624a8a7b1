/*
 * The trainer's own measurement of an iteration's phases (--clock FILE), by the host's clock and by CUDA
 * events. Rows are kept in memory and written at the end. Every function accepts NULL for the clock and then
 * does nothing: without --clock no event is recorded.
 *
 * The file is CSV: iteration,rank,gpu,phase,layer,index,time_us. gpu counts within its process; layer is the
 * name and index the place in the network. What does not apply is -1, or - for the layer. A phase that did
 * not happen (no division for one GPU, say) has no row; one that happened several times in an iteration, as
 * with micro-batches, has one row with the sum.
 *
 *   io             host: reading the batch from its files
 *   decode         host: bytes to floats, which is neither reading nor dividing
 *   md             dividing the batch; host: its wall time (gpu -1); device: events on the first GPU
 *   h2d            events around a GPU's copies from the host
 *   forward        events around a layer, its activation included
 *   backward       likewise
 *   recompute      likewise, around a second forward pass before backward
 *   communication  events on the communication's stream around a layer's sum, or around the send or receive
 *                  of a layer's output or of its gradient, the wait for the other side included. A bucket's
 *                  row has the names of its layers, joined by +, and the index of the first to be ready. The
 *                  row `total` is the sum of all
 *   update         events around the update of all layers
 *   iteration      host: from the beginning of the read until this process's GPUs have done everything
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <cuda_runtime_api.h>

#include "nn.h"

enum clock_phase {
	CLOCK_IO,
	CLOCK_DECODE,
	CLOCK_MD,
	CLOCK_H2D,
	CLOCK_FORWARD,
	CLOCK_BACKWARD,
	CLOCK_RECOMPUTE,
	CLOCK_COMMUNICATION,
	CLOCK_UPDATE,
	CLOCK_ITERATION,
	CLOCK_PHASES
};

struct clock;

/*
 * Returns NULL for file NULL, and ends the program if the file cannot be made. %r in the name is the rank;
 * without it, ".RANK" is added if there are several ranks. The networks (layer_count and names, devices) must
 * exist until clock_close.
 */
struct clock *clock_open(const char *file, int rank, int world, struct nn *nets, int gpus);

/* A host interval: from a clock_now_us until now. Several of a phase in an iteration add up. */
double clock_now_us(void);
void clock_host(struct clock *clock, enum clock_phase phase, double begin_us);

/*
 * A device interval, on a stream of that GPU, which must be current. layer -1: the phase has no layers. The
 * end is that of the last beginning with the same phase, GPU and layer.
 */
void clock_begin(struct clock *clock, enum clock_phase phase, int gpu, int layer, cudaStream_t stream);
void clock_end(struct clock *clock, enum clock_phase phase, int gpu, int layer, cudaStream_t stream);

/*
 * What the communication of a layer is called from now on, in place of the layer's name; NULL: that again.
 * The string must exist until clock_close.
 */
void clock_name(struct clock *clock, int layer, const char *name);

/*
 * Ends an iteration: turns its intervals into rows. Those that the GPU has not done yet become rows of the
 * same iteration later.
 */
void clock_collect(struct clock *clock, int iteration);

/* Writes the file; failures end the program. All streams must be done. */
void clock_close(struct clock *clock);

#endif
