/* What names of the host's places and calls say: see host_habit.h. */
#include "host_habit.h"

#include <stddef.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct host_habit collection = {false, "garbage collection",
	"collect on all ranks in the same step: gc.disable(), then gc.collect() every so many steps; fewer objects "
	"(gc.freeze() before training)"};
static const struct host_habit saving = {false, "saving a checkpoint",
	"save in another thread (torch.distributed.checkpoint.async_save), divided over the ranks, or less often"};
static const struct host_habit evaluating = {
	false, "evaluation", "evaluate on all ranks at once, each its part of the samples, or less often"};
static const struct host_habit loading = {true, "loading input",
	"read and prepare batches in worker processes (num_workers, persistent_workers, prefetch_factor); check "
	"that rank's storage and processors"};

/* In this order. Recomputing activations is called checkpointing too, and saves nothing to a file. */
static const struct {
	const char *word;
	const struct host_habit *habit;
} words[] = {
	{"utils/checkpoint.py", NULL},
	{"CheckpointFunction", NULL},
	{"Python GC", &collection},
	{"garbage", &collection},
	{"gc.collect", &collection},
	{"built-in function collect", &collection},
	{"torch.save", &saving},
	{"serialization.py", &saving},
	{"distributed/checkpoint", &saving},
	{"save_checkpoint", &saving},
	{"checkpoint.save", &saving},
	{"save_pretrained", &saving},
	{"evaluate", &evaluating},
	{"evaluation", &evaluating},
	{"validate", &evaluating},
	{"validation", &evaluating},
	{"DataLoader", &loading},
	{"dataloader", &loading},
	{"data_loader", &loading},
	{"dataset", &loading},
	{"__getitem__", &loading},
	{"collate", &loading},
};

const struct host_habit *host_habit_of(const char *place)
{
	for (size_t i = 0; place && i < COUNT(words); i++)
		if (strcasestr(place, words[i].word))
			return words[i].habit;
	return NULL;
}

const char *host_call_advice(const char *name)
{
	static const struct {
		const char *words[3], *advice;
	} known[] = {
		{{"Free", "Malloc", "Alloc"},
			"keep memory instead of allocating and freeing it in each step: buffers made once, a caching "
			"allocator; one that is there already (PyTorch's) has to retry: smaller peaks, or "
			"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
		{{"Memcpy", "memcpy"},
			"pin the host memory of these copies, and copy on a stream of its own"},
		{{"Synchronize", "Query"},
			"do not wait for the device in each step: read results (loss, item()) later"},
		{{"Module", "Library", "Load"}, "load modules before training: CUDA_MODULE_LOADING=EAGER"},
		{{"Launch"},
			"a kernel's first launch loads its code: CUDA_MODULE_LOADING=EAGER, or a step before those "
			"that count; others wait where too many launches are enqueued"},
	};

	for (size_t i = 0; i < COUNT(known); i++)
		for (size_t w = 0; w < COUNT(known[i].words) && known[i].words[w]; w++)
			if (strstr(name, known[i].words[w]))
				return known[i].advice;
	return "find out why the call takes so long; move it out of the step";
}
