/*
 * Inside layer_flow*.c: an iteration by the memory that its calls touch, library calls and the program's own
 * kernels alike. What a kernel writes is not known, and not needed.
 */
#ifndef RECONSTRUCT_LAYER_FLOW_H
#define RECONSTRUCT_LAYER_FLOW_H

#include "layer_assign.h"

#define FLOW_NOWHERE UINT32_MAX

/* That a step touches an address. */
struct flow_touch {
	uint32_t place;     /* number of the address */
	uint16_t word;      /* of a launch's arguments */
	bool read, written; /* of most launches both: they may do either */
};

struct flow_step {
	uint32_t first, count; /* touches */
	bool computes;         /* a library's computation */
	bool launch;
	bool updates; /* of spread updates: what it touches is out of sight, unless shown */
	bool shown;
	bool evaluates;        /* goes through the model, and the backward pass needs nothing of it */
	uint32_t update_count; /* touches of it */
	uint32_t unit;         /* a parameter of those that it gathers, or FLOW_NOWHERE */
};

/* An address that the iteration touches. */
struct flow_place {
	uint64_t address, bytes; /* bytes: 0 where not known */
	bool parameter;
	bool shard;          /* of a parameter, which is gathered from all ranks' */
	uint32_t unit;       /* of a shard: the first place of those that are gathered together */
	bool persistent;     /* touched in another iteration too */
	bool library_writes; /* by a computation */
	bool input;          /* copied from the host in the iteration */
	bool made;           /* on the device: copies to its address were of something else */
	const char *module;  /* of a shard: what works with the parameter, ""; NULL: not looked for yet */
	uint32_t block; /* of a parameter in a block that was copied as one: the block's first, + 1; 0: in
			   none */
	const char *copied_in; /* of a parameter: the module that was being copied to the device with it, or
				  NULL */
	const char *group_module; /* of the first place of a layer: of its parameters, the same */
	uint32_t group;           /* of a parameter: the first place of its layer */
	uint32_t gradient_of;     /* the parameter whose gradient it is, or FLOW_NOWHERE */
	uint32_t cast; /* the parameter that it is a copy of, or FLOW_NOWHERE; while steps are gone through */
	uint32_t cast_step; /* that made the copy */
};

/* A library that reads a place may not say how much (struct flow_access). */
static inline bool flow_is_sized(const struct flow_place *place)
{
	return place->bytes > 1;
}

/* Once through the model and back: batches that make one step together have a pass each. */
struct flow_pass {
	uint32_t begin, turn, end; /* steps: forward [begin, turn), backward [turn, end) */
	enum rule rule;            /* by which it turns */
};

/*
 * An update, and the steps before it from the last one on. A step of training has one, but where networks
 * train in turns, or the optimizer goes through the model more than once.
 */
struct flow_part {
	uint32_t begin, update_begin, update_end; /* steps */
	uint32_t turn;                            /* gradients are touched after this step */
	uint32_t first_pass, pass_count;
	bool may_lack_passes; /* then it is none */
	enum rule rule;       /* by which the update is found */
};

/* Where a parameter was gathered to. */
struct flow_version {
	uint32_t shard;         /* its place */
	uint32_t unit;          /* place of the first shard that is gathered with it */
	uint32_t number, count; /* among those */
	uint64_t address;
};

struct flow_work {
	struct layer_assign *assign;
	struct flow_step *steps;
	uint32_t step_count;
	struct flow_touch *touches;
	size_t touch_count, touch_room;
	struct flow_place *places; /* by address */
	uint32_t place_count;
	struct flow_part *parts; /* in order */
	size_t part_count, part_room;
	uint32_t begin, update_begin, update_end; /* of the part that is worked on */
	bool spread;              /* updates are within the backward pass: steps that do it are marked */
	struct flow_pass *passes; /* of all parts, in order */
	size_t pass_count, pass_room;
	size_t before_first, set_up_end; /* in the worker's calls: where the set-up ends; where parameters are
					    on the device, which the first step may bring there */
	uint32_t parameter_count;
	uint32_t shard_count; /* places */
	uint32_t gathered;    /* parameters beside weights, in a block that all ranks gather */
	size_t gather_count;  /* all-gathers of known shards */
	struct flow_version *versions;
	size_t version_count, version_room;
};

/* ---- which words of a launch are arguments (layer_flow_argument.c) ---- */

struct flow_samples;

/* Is known of the program's own kernels in an iteration what they touch? */
bool flow_is_known(const struct layer_assign *assign, const struct iteration *iteration);

/* Iterations to hold the calls of iteration `own` against; the caller frees it. */
struct flow_samples *flow_samples(
	const struct layer_assign *assign, const struct iteration_list *iterations, size_t own);
void flow_samples_free(struct flow_samples *samples);

/* The addresses among the arguments of a call of that iteration, in order of words; good until the next call.
 */
const struct timeline_touch *flow_arguments(struct flow_samples *samples, uint32_t call, size_t *count);

enum flow_order {
	FLOW_ANY_ORDER,    /* each may be read, written or both */
	FLOW_RESULT_FIRST, /* the first is written, the others are read */
	FLOW_SOURCE_FIRST, /* the first is read, the others are written */
};

/* In which order launches of the operation have those addresses, as far as their kernel is known. */
enum flow_order flow_order(const struct flow_samples *samples, uint32_t operation);

/* ---- from calls to places ---- */

/* Fills in steps, touches and places (layer_flow_collect.c). False: too little is known of the program's own
 * kernels. */
bool flow_collect(struct flow_work *work, const struct iteration_list *iterations);

/*
 * Parameters that are gathered from shards: what steps touch of them becomes the shard's place, wherever it
 * was gathered to (layer_flow_gather.c).
 */
void flow_gather(struct flow_work *work);

/* What the program calls the modules that work with gathered parameters (layer_flow_module.c). */
void flow_name_shards(struct flow_work *work);

/* ---- what is copied to the device (layer_flow_set_up.c) ---- */

/* Where the set-up ends, and which places are input. */
void flow_note_set_up(struct flow_work *work, const struct iteration_list *iterations);

/* Marks parameters: what lies in a copied range, or only what begins one. How many are new. */
uint32_t flow_mark_copied(struct flow_work *work, bool inside);

/* By place of a parameter: was something else written over what was copied there, before the first iteration?
 * The caller frees it. */
bool *flow_overwritten(const struct flow_work *work);

/* Of parameters that lie in one block, copied in the set-up, each reaches to the next. */
void flow_divide_blocks(struct flow_work *work);

/* ---- parameters (layer_flow.c) ---- */

/* Is it in other iterations too, and nothing that a library or the host writes in this one? */
bool flow_may_be_parameter(const struct flow_place *place);

/* Which places are parameters, before it is known where the update is. False: none is found. */
bool flow_parameters(struct flow_work *work, const struct iteration_list *iterations);

/* The weights of a recurrent network are put together after they were copied: a library reads all of them
 * from where the first one is, which alone is left of them. That gets their size. */
void flow_size_packed(struct flow_work *work);

/* The sizes of parameters that are not known yet, by what was set in the set-up: them, or their state in the
 * optimizer (layer_flow_size.c). */
void flow_size_made(struct flow_work *work);

/* Where a library reads a block of parameters as one, its step touches all of them. */
void flow_touch_blocks(struct flow_work *work);

/* By place: is it a weight? A library reads it, and nothing touches it before in the iteration. The caller
 * frees it. */
bool *flow_find_weights(const struct flow_work *work);

/* ---- the update (layer_flow_update.c) ---- */

/* Does the name of the step's kernel say that it is part of an update? And that it updates parameters, where
 * clipping works on gradients alone? */
bool flow_is_update(const struct flow_work *work, uint32_t step);
bool flow_changes_parameters(const struct flow_work *work, uint32_t step);

/* Is it a library's computation that is no part of an update? An optimizer may multiply vectors. */
bool flow_is_of_model(const struct flow_work *work, uint32_t step);

/* Sets where the update is, and leaves those parameters that it touches, and weights that may be frozen.
 * False: not found. */
bool flow_find_update(struct flow_work *work);

/* The same by the names of kernels alone, of an update that touches none of the parameters that are known;
 * after the last computation. */
bool flow_find_named_update(struct flow_work *work);

/* How many stretches of the iteration without a library's computations have an update. */
uint32_t flow_count_updates(const struct flow_work *work);

/*
 * Each parameter is updated within the backward pass (layer_flow_spread.c): marks these launches, of which
 * the part's update is only what comes last. False: launches of such names update no two parameters with work of the
 * model in between.
 */
bool flow_find_spread(struct flow_work *work);

/* Takes out of sight what marked steps touch, if there are any; or shows it, and no step is marked. */
void flow_hide_updates(struct flow_work *work);
void flow_forget_updates(struct flow_work *work);

/* Sets where the update of a stretch [begin, end) is, by its kernels' names, or as they touch most
 * parameters; false: it has none. */
bool flow_find_update_in(struct flow_work *work, uint32_t begin, uint32_t end);

/* The name of the kernel that a step launches, among the timeline's strings; 0: it launches none. */
uint64_t flow_kernel(const struct flow_work *work, uint32_t step);

/* The place at an address, or NULL. */
struct flow_place *flow_place_at(const struct flow_work *work, uint64_t address);

/* Touched parameters of a step that are not marked so yet, each once; marks are by place. */
uint32_t flow_count_parameters(const struct flow_work *work, uint32_t step, uint32_t *marks, uint32_t mark);

/* Leaves those parameters that a step of [begin, end) touches, or of any of the ranges; and, unless it is
 * NULL, those of `others`, which are by place. */
struct flow_range {
	uint32_t begin, end;
};
void flow_keep_touched(struct flow_work *work, uint32_t begin, uint32_t end);
void flow_keep_in(struct flow_work *work, const struct flow_range *ranges, size_t count, const bool *others);

/* Marked steps that stand together. */
struct flow_burst {
	struct flow_range steps;
	uint32_t layer; /* the place that stands for the layer whose parameters they change; FLOW_NOWHERE:
			   several, or not known */
};

/* The next of them, from a step on; false: there are no more. */
bool flow_next_updated(struct flow_work *work, uint32_t from, struct flow_burst *burst);
bool flow_is_changed(const struct flow_work *work, const struct flow_burst *burst, uint32_t parameter);
bool flow_is_argument(const struct flow_work *work, const struct flow_burst *burst, uint32_t place);

/* Which places are the parameters' gradients; the last backward pass begins after `turn` at the earliest
 * (layer_flow_gradient.c). */
void flow_gradients(struct flow_work *work, uint32_t turn);

/* By place: of a parameter the state that stands beside it in the update, or FLOW_NOWHERE. The caller frees
 * them. */
uint32_t *flow_states(const struct flow_work *work);

/*
 * Moves the part's update to the front, over launches that work on gradients and on what nothing before them
 * touches: norms of gradients, which are then scaled. Gradients are known.
 */
void flow_begin_update(struct flow_work *work, struct flow_part *part);

/*
 * Updates, and the passes before each (layer_flow_part.c): of several in an iteration if each has passes of
 * its own, else of the one that touches most parameters. False: they are not found.
 */
bool flow_find_passes(struct flow_work *work);

/* Which part is worked on: `begin`, `update_begin` and `update_end` are its. */
void flow_select_part(struct flow_work *work, const struct flow_part *part);

/*
 * The passes of each part, and gradients (layer_flow_turn.c). False: parameters are not touched in the
 * opposite order in the second half of each.
 */
bool flow_turn(struct flow_work *work);

/* Marks evaluations within the iteration, after which passes begin then (layer_flow_evaluation.c). */
void flow_find_evaluations(struct flow_work *work);

/* ---- between two steps (layer_flow_seed.c) ---- */

bool flow_is_touched(const struct flow_work *work, uint32_t place, uint32_t begin, uint32_t end);
bool flow_is_fill(const struct flow_work *work, uint32_t step); /* by its kernel's name */
bool flow_is_fetch(const struct flow_work *work, uint32_t step); /* copies results to the host */
uint16_t flow_thread(const struct flow_work *work, uint32_t step);

/* The first seed of steps (low, high), one that is filled before one that is made in another way; or, where
 * another thread goes back, the last that is filled before it begins. FLOW_NOWHERE: there is none. */
uint32_t flow_find_seed(const struct flow_work *work, uint32_t low, uint32_t high);
uint32_t flow_find_handed_over(const struct flow_work *work, uint32_t low, uint32_t high);

/* By what the backward pass is seen to begin between two steps; the surer is the greater. */
enum flow_start {
	FLOW_START_UNSEEN,
	FLOW_START_COMPARED, /* with what was copied from the host, as a loss is */
	FLOW_START_RETURNED, /* the host has fetched results, and sends what it made of them */
	FLOW_START_RECEIVED, /* its gradient, from another rank */
	FLOW_START_SEED,
	FLOW_START_HANDED_OVER, /* to another thread */
};
enum flow_start flow_starts_back(const struct flow_work *work, uint32_t low, uint32_t high);

struct flow_turns;
/* The first step of the backward half, between the two of `turns`; the pass ends at `end`. */
uint32_t flow_place_turn(const struct flow_work *work, const struct flow_turns *turns, uint32_t end);

/* Of a pass: where it begins and ends in the list of steps that touch few parameters; and two of these steps,
 * the last one of its forward half and the first one of its backward half; FLOW_NOWHERE: it is backward
 * alone. */
struct flow_turns {
	uint32_t first, end;
	uint32_t low, high;
	enum rule rule; /* by which it turns there */
};

/*
 * Passes that begin before others have gone back (layer_flow_stretch.c); turns has room for as many as there
 * are steps, and is left as it is where the steps are in no such order: then the answer is 0.
 */
uint32_t flow_stretches(
	const struct flow_work *work, const uint32_t *few, uint32_t few_count, struct flow_turns *turns);

/* By place: the last step of [begin, end) that touches it, + 1; 0: none. The caller frees it. */
uint32_t *flow_last_touches(const struct flow_work *work, uint32_t begin, uint32_t end);

/* The parameter that a touch of a step means, or FLOW_NOWHERE; flow_follow_casts has gone through the steps
 * before it (layer_flow_cast.c). */
uint32_t flow_meant(const struct flow_work *work, uint32_t step, const struct flow_touch *touch);

/* Does the kernel sum up a tensor, as a bias's gradient is made, as its name says? */
bool flow_is_reduction(const struct flow_work *work, uint32_t step);

/* Does the kernel copy from one place to another, perhaps to another type or layout, as its name says? */
bool flow_is_copy(const struct flow_work *work, uint32_t step);

/* Notes what a step copies from a parameter, and which copies it overwrites. `last`: by place, the last step
 * that touched it, + 1; NULL: not known. */
void flow_follow_casts(struct flow_work *work, uint32_t step, const uint32_t *last);

/* Has a step of a library computed what is at a place? `step`: the last one that touched it, + 1; 0: none. */
bool flow_is_computed(const struct flow_work *work, uint32_t step, uint32_t place);

/*
 * Takes pass and layer from steps that are of none (layer_flow_outside.c): exchanges before the model begins,
 * what clears gradients. fixed: by step, its layer is known by a parameter.
 */
void flow_leave_out(const struct flow_work *work, const bool *fixed);

/* The place that stands for a parameter's layer (layer_flow_group.c). */
uint32_t flow_group(struct flow_work *work, uint32_t place);

/*
 * Makes a parameter's layer that of another: but no layer is of two units, or of two modules that were copied
 * to the device one after the other. A kernel that touches parameters of both does the work of two layers, of
 * which a compiler has made one.
 */
void flow_join_groups(struct flow_work *work, uint32_t parameter, uint32_t other);

/* The few parameters of a module that was copied to the device are one layer, whatever touches them together.
 */
void flow_join_modules(struct flow_work *work);

/* Passes and layers of all steps, into the assignment (layer_flow_assign.c). */
void flow_assign(struct flow_work *work);

static inline const struct flow_touch *flow_touch_of(const struct flow_work *work, uint32_t step, uint32_t i)
{
	return &work->touches[work->steps[step].first + i];
}

#endif
