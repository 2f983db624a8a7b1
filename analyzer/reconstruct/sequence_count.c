/* Members counted by class, how alike two counts are, and how much work an operation is: see sequence.h. */
#include "sequence.h"
#include "trace/trace.h"

#include <stdlib.h>

static int compare_bins(const void *left, const void *right)
{
	const struct sequence_bin *a = left, *b = right;

	return a->class < b->class ? -1 : a->class > b->class;
}

struct sequence_histogram *sequence_histograms(
	const struct sequence *sequence, const struct sequence_range *ranges, size_t count)
{
	struct sequence_histogram *histograms = mem_alloc(count + 1, sizeof(*histograms));
	uint32_t *places = mem_alloc(sequence->class_count, sizeof(*places)); /* bin + 1 */
	struct sequence_bin *bins;
	size_t room = 0;

	for (size_t i = 0; i < count; i++)
		room += ranges[i].end - ranges[i].begin;
	/* The bins of the first own the memory of all. */
	bins = mem_alloc(room + 1, sizeof(*bins));
	histograms[0].bins = bins;
	for (size_t i = 0; i < count; i++) {
		struct sequence_histogram *histogram = &histograms[i];
		bool in_order = true; /* as in most pieces: classes are numbered as they come */

		*histogram =
			(struct sequence_histogram){.bins = bins, .total = ranges[i].end - ranges[i].begin};
		for (size_t j = ranges[i].begin; j < ranges[i].end; j++) {
			uint32_t *place = &places[sequence->classes[j]];

			if (!*place) {
				in_order = in_order && (histogram->bin_count == 0 ||
							       sequence->classes[j] >
								       bins[histogram->bin_count - 1].class);
				bins[histogram->bin_count] = (struct sequence_bin){sequence->classes[j], 0};
				*place = (uint32_t)++histogram->bin_count;
			}
			bins[*place - 1].count++;
		}
		for (size_t j = 0; j < histogram->bin_count; j++)
			places[bins[j].class] = 0;
		if (!in_order)
			qsort(bins, histogram->bin_count, sizeof(*bins), compare_bins);
		bins += histogram->bin_count;
	}
	free(places);
	return histograms;
}

void sequence_free_histograms(struct sequence_histogram *histograms)
{
	free(histograms[0].bins);
	free(histograms);
}

double sequence_similarity(const struct sequence_histogram *a, const struct sequence_histogram *b)
{
	size_t common = 0;

	if (a->total + b->total == 0)
		return 1;
	for (size_t i = 0, j = 0; i < a->bin_count && j < b->bin_count;)
		if (a->bins[i].class == b->bins[j].class) {
			common += a->bins[i].count < b->bins[j].count ? a->bins[i].count : b->bins[j].count;
			i++;
			j++;
		} else if (a->bins[i].class < b->bins[j].class) {
			i++;
		} else {
			j++;
		}
	return 2 * (double)common / (double)(a->total + b->total);
}

double sequence_common_classes(const struct sequence_histogram *a, const struct sequence_histogram *b)
{
	size_t common = 0;

	if (a->bin_count + b->bin_count == 0)
		return 1;
	for (size_t i = 0, j = 0; i < a->bin_count && j < b->bin_count;) {
		uint32_t left = a->bins[i].class, right = b->bins[j].class;

		common += left == right;
		i += left <= right;
		j += right <= left;
	}
	return 2 * (double)common / (double)(a->bin_count + b->bin_count);
}

uint32_t sequence_bin_count(const struct sequence_histogram *histogram, uint32_t class)
{
	const struct sequence_bin key = {class, 0},
				  *bin = histogram->bin_count
						 ? bsearch(&key, histogram->bins, histogram->bin_count,
							   sizeof(key), compare_bins)
						 : NULL;

	return bin ? bin->count : 0;
}

#define MOST_WORK ((uint64_t)1 << 50) /* of a damaged file */

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) || product > MOST_WORK ? MOST_WORK : product;
}

/* The product of the values that the operation has, of those named; 0: it has none of them. */
static uint64_t product_of(const struct timeline *timeline, const struct timeline_operation *operation,
	const char *const *names, size_t count)
{
	uint64_t product = 1, value;
	bool any = false;

	for (size_t i = 0; i < count; i++)
		if (timeline_value(timeline, operation, names[i], &value)) {
			product = times(product, value);
			any = true;
		}
	return any ? product : 0;
}

uint64_t sequence_work(const struct timeline *timeline, const struct timeline_operation *operation)
{
	static const char *const threads[] = {"grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"};
	static const char *const sizes[] = {"m", "n", "k", "batch"};
	const struct timeline_function *function = &timeline->functions[operation->function];
	uint64_t work = product_of(timeline, operation, threads, 6), k;

	if (work)
		return work;
	work = product_of(timeline, operation, sizes, 4);
	if (work)
		return timeline_value(timeline, operation, "k", &k) ? work / 64 + 1 : work;
	for (uint32_t i = 0; i < operation->value_count; i++)
		if (function->labels[i].type == PM_VALUE_DESCRIPTOR) {
			uint64_t bytes = flow_descriptor_bytes(timeline, operation->values[i]);

			work = bytes > work ? bytes : work;
		}
	if (work == 0 && timeline_value(timeline, operation, "bytes", &work))
		return work < MOST_WORK ? work : MOST_WORK;
	return work;
}
