/* What GPUs exchanged in a run: see advise_exchange.h. */
#include "advise_exchange.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void take_call(struct advise_exchange *exchange, const cJSON *call)
{
	const char *name = text_file_word(call, "call");
	struct strategy_transfer transfer = {
		number(call, "bytes"), number(call, "transfer_ns"), number(call, "count")};

	if (!*name)
		return;
	if (strcmp(name, "AllReduce") != 0) {
		exchange->others += strcmp(name, "Broadcast") ? transfer.bytes * transfer.count : 0;
		return;
	}
	exchange->reduced += transfer.bytes * transfer.count;
	if (transfer.bytes > 0 && transfer.time > 0 && (size_t)number(call, "ranks") == exchange->gpus)
		exchange->transfers[exchange->transfer_count++] = transfer;
}

const char *advise_exchange_read(struct advise_exchange *exchange, const char *path, size_t workers)
{
	const cJSON *calls, *call;
	const char *bad;
	cJSON *root = NULL;

	*exchange = (struct advise_exchange){.hosts = 1};
	bad = text_file_json(path, &root);
	if (bad)
		return bad;
	calls = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(root, "runs"), 0), "calls");
	exchange->transfers = mem_alloc((size_t)cJSON_GetArraySize(calls) + 1, sizeof(*exchange->transfers));
	cJSON_ArrayForEach (call, calls)
		exchange->gpus = (size_t)fmax((double)exchange->gpus, fmin(number(call, "ranks"), 1e6));
	cJSON_ArrayForEach (call, calls)
		take_call(exchange, call);
	/* when the last rank was there is not known without its trace */
	if (exchange->gpus != workers)
		exchange->transfer_count = 0;
	cJSON_Delete(root);
	return NULL;
}

void advise_exchange_free(struct advise_exchange *exchange)
{
	free(exchange->transfers);
	exchange->transfers = NULL;
	exchange->transfer_count = 0;
}

bool advise_exchange_is_data(const struct advise_exchange *exchange)
{
	return exchange->others <= exchange->reduced;
}

void advise_exchange_apply(const struct advise_exchange *exchange, struct strategy_cluster *cluster)
{
	struct strategy_link *link = NULL;

	if (exchange->hosts == 1 && exchange->gpus <= cluster->workers_per_node)
		link = &cluster->inside;
	else if (exchange->hosts == exchange->gpus)
		link = &cluster->between;
	if (link &&
		strategy_link_fit(exchange->transfers, exchange->transfer_count, exchange->gpus, link) == 0) {
		cluster->measured = exchange->gpus;
		cluster->is_measured_between = link == &cluster->between;
	}
}
