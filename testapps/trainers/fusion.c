/* Which gradients are summed together: see fusion.h. */
#include "fusion.h"

#include <math.h>
#include <string.h>

#include "check.h"

/* All names ever given, as a label may be read after the network is gone. */
static struct name {
	struct name *next;
	char text[];
} * names;

void fusion_plan(const struct nn *nn, size_t threshold_bytes, double cycle_us, const double *ready_us,
	int closes[NN_MAX_LAYERS])
{
	size_t sum_bytes = 0;
	double cycle = 0;
	int before = -1;

	memset(closes, 0, NN_MAX_LAYERS * sizeof(*closes));
	for (int i = nn->end - 1; i >= nn->first; i--) {
		size_t bytes = nn->layer[i].param_count * sizeof(float);
		double its_cycle = ready_us && cycle_us > 0 ? floor(ready_us[i] / cycle_us) : 0;

		if (!bytes)
			continue;
		if (before >= 0 &&
			(sum_bytes + bytes > threshold_bytes || its_cycle > cycle || cycle_us <= 0)) {
			closes[before] = 1;
			sum_bytes = 0;
		}
		sum_bytes += bytes;
		cycle = its_cycle;
		before = i;
	}
	if (before >= 0)
		closes[before] = 1;
}

int fusion_first(const struct nn *nn, const int closes[NN_MAX_LAYERS], int layer)
{
	int first = layer;

	for (int i = layer + 1; i < nn->end && !closes[i]; i++)
		if (nn->layer[i].param_count)
			first = i;
	return first;
}

size_t fusion_count(const struct nn *nn, const int closes[NN_MAX_LAYERS], int layer)
{
	size_t count = 0;

	for (int i = fusion_first(nn, closes, layer); i >= layer; i--)
		count += nn->layer[i].param_count;
	return count;
}

static const char *kept(const char *text, size_t size)
{
	struct name *name = names;

	while (name && strcmp(name->text, text) != 0)
		name = name->next;
	if (!name) {
		name = xcalloc(1, sizeof(*name) + size);
		memcpy(name->text, text, size);
		name->next = names;
		names = name;
	}
	return name->text;
}

const char *fusion_name(const struct nn *nn, const int closes[NN_MAX_LAYERS], int layer)
{
	int first = fusion_first(nn, closes, layer);
	size_t size = (size_t)(first - layer + 1) * (sizeof(nn->layer[0].name) + 1), at = 0;
	char *text = xcalloc(size, 1);
	const char *name = NULL;

	for (int i = first; i >= layer; i--)
		if (nn->layer[i].param_count)
			at += (size_t)snprintf(
				text + at, size - at, "%s%s", at ? "+" : "", nn->layer[i].name);
	name = kept(text, at + 1);
	free(text);
	return name;
}
