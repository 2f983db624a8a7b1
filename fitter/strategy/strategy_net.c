/* A network's measured layers: see strategy.h. */
#include "strategy.h"
#include "base/text_file.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cuDNN's and cuBLAS's single precision, in activations as in parameters: the file does not say. */
#define NUMBER_BYTES 4

__attribute__((format(printf, 3, 4))) static int fail(
	struct strategy_net *net, const char *path, const char *format, ...)
{
	int used = snprintf(net->error, sizeof(net->error), "%.200s: ", path);
	va_list list;

	va_start(list, format);
	vsnprintf(net->error + used, sizeof(net->error) - (size_t)used, format, list);
	va_end(list);
	return -EINVAL;
}

/* "64x3x32x32": the first number is the batch; *numbers are those of a sample. 0 where there is none. */
static double batch_of(const char *text, double *numbers)
{
	char *end;
	double batch = strtod(text, &end);

	*numbers = 1;
	while (*end == 'x')
		*numbers *= strtod(end + 1, &end);
	return *end || batch <= 0 ? 0 : batch;
}

static double number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* What the layer leaves in forward. Products whose activation is a call of its own keep what it began with;
 * sums and normalisations are activated in place. */
static void set_output(struct strategy_layer *layer, const char *kind, const char *sizes, const char *input,
	bool is_activated)
{
	bool is_product = strncmp(kind, "conv", 4) == 0 || strncmp(kind, "fc", 2) == 0;

	layer->output_bytes = NUMBER_BYTES * strategy_output_numbers(kind, sizes, input);
	if (layer->output_bytes <= 0)
		layer->output_bytes = layer->input_bytes;
	layer->kept_bytes = layer->output_bytes * (is_product && is_activated ? 2 : 1);
	layer->is_sum = strncmp(kind, "add", 3) == 0;
	layer->is_rows = strncmp(kind, "fc", 2) == 0;
	/* gradients of weights and of the input, or of both that are added; before them of an activation, and
	 * with it of biases */
	layer->backward_kernels =
		is_product ? (is_activated ? 4 : 2) : (layer->is_sum ? 2 : 1) + is_activated;
	layer->is_product = is_product;
	layer->is_activated = is_activated;
}

/* Of "conv2" "conv". */
static void set_kind(struct strategy_layer *layer, const char *kind, double flops, double batch)
{
	size_t length = strcspn(kind, "0123456789");

	if (length < sizeof(layer->kind))
		snprintf(layer->kind, sizeof(layer->kind), "%.*s", (int)length, kind);
	layer->flops = batch > 0 && flops > 0 ? flops / batch : 0;
}

/* A norm by its kind or the end of its name: "norm3", "blocks.0.norm1", "ln_f". */
static bool is_norm(const char *name, const char *kind)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot ? dot + 1 : name;

	return strncmp(kind, "norm", 4) == 0 || strstr(last, "norm") || strncmp(last, "ln", 2) == 0;
}

/* Weights by the sizes "3x3x16->32" or "256->768", and what is beside them; norms have a scale and a shift.
 */
static void set_tensors(struct strategy_layer *layer, const char *kind, const char *sizes)
{
	const char *arrow = strstr(sizes, "->");
	double weights = arrow ? NUMBER_BYTES * strtod(arrow + 2, NULL) : 0;
	char *end = NULL;

	for (const char *at = sizes; weights > 0 && at < arrow; at = end + (*end == 'x')) {
		weights *= strtod(at, &end);
		if (end == at)
			weights = 0;
	}
	if (is_norm(layer->name, kind))
		weights = layer->parameter_bytes / 2;
	if (weights <= 0 || weights > layer->parameter_bytes)
		weights = layer->parameter_bytes;
	/* of batches, by cuDNN, which says their size; others are no library's */
	layer->has_buffers = strncmp(kind, "norm", 4) == 0 && *sizes;
	layer->tensor_bytes[0] = weights;
	layer->tensor_bytes[1] = layer->parameter_bytes - weights;
}

/* How much of a module's name is its place in the outermost list: "model.blocks.3" of
 * "model.blocks.3.norm1.0"; 0: it is in none. */
static size_t unit_length(const char *name)
{
	for (const char *part = name; *part; part += *part == '.') {
		size_t length = strcspn(part, ".");

		if (length && strspn(part, "0123456789") == length)
			return (size_t)(part - name) + length;
		part += length;
	}
	return 0;
}

/* Layers of one unit follow each other, or their unit begins anew. */
static void set_units(struct strategy_net *net)
{
	size_t unit = STRATEGY_ROOT, before = 0;

	for (size_t i = 0; i < net->layer_count; i++) {
		const char *name = net->layers[i].name;
		size_t length = unit_length(name);

		if (length && (length != before || strncmp(name, net->layers[i - 1].name, length) != 0))
			unit++;
		net->layers[i].unit = length ? unit : STRATEGY_ROOT;
		before = length;
	}
}

/* How much of a name is the module that the layer is in; 0: none, or the layer is a member of a list. */
static size_t module_length(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot[1 + strspn(dot + 1, "0123456789")] ? (size_t)(dot - name) : 0;
}

static bool is_same_module(const struct strategy_layer *a, const struct strategy_layer *b)
{
	const size_t length = module_length(a->name);

	return length && length == module_length(b->name) && strncmp(a->name, b->name, length) == 0;
}

/* After queries, keys and values together attention gives less than they have; a product that takes more
 * than the one in front gives has another's input. */
static size_t between(const struct strategy_layer *front, const struct strategy_layer *layer)
{
	if (layer->input_bytes <= 0 || !is_same_module(front, layer) ||
		layer->input_bytes > front->output_bytes + 0.5)
		return 0;
	return layer->input_bytes > front->output_bytes - 0.5 ? 1 : 2;
}

static bool is_of_torch(const char *site)
{
	return strstr(site, "libtorch") || strstr(site, "libc10") || strstr(site, "2at6native");
}

/* Another profiler does not tell how far a window moves: it leaves what the next layer takes in. */
static void take_output(struct strategy_layer *front, const char *front_sizes, double bytes)
{
	if (strstr(front_sizes, "->") && strchr(front_sizes, 'x') && !strchr(front_sizes, ' ') && bytes > 0) {
		front->kept_bytes *= bytes / front->output_bytes;
		front->output_bytes = bytes;
	}
}

/* The first file says which layers there are. */
static int make_layers(struct strategy_net *net, const char *path, const cJSON *list, const char *recorder,
	size_t batch_room)
{
	size_t count = (size_t)cJSON_GetArraySize(list), last_sum = 0, i = 0;
	const char *front = ""; /* the sizes of the layer in front */
	const cJSON *item;

	net->layers = calloc(count + 1, sizeof(*net->layers));
	if (!net->layers)
		return fail(net, path, "out of memory");
	cJSON_ArrayForEach (item, list) {
		struct strategy_layer *layer = &net->layers[i++];
		double numbers, batch = batch_of(text_file_word(item, "input"), &numbers);

		net->layer_count = i;
		layer->name = strdup(text_file_word(item, "layer"));
		layer->forward = calloc(3 * batch_room, sizeof(double));
		if (!layer->name || !layer->forward)
			return fail(net, path, "out of memory");
		layer->backward = layer->forward + batch_room;
		layer->update = layer->backward + batch_room;
		layer->parameter_bytes = NUMBER_BYTES * number(item, "parameters");
		if (!(layer->parameter_bytes >= 0))
			return fail(net, path,
				"how many parameters layer %.60s has is not known (PyTorch's profiler tells with "
				"record_shapes=True)",
				layer->name);
		layer->input_bytes = batch > 0 ? NUMBER_BYTES * numbers : 0;
		set_output(layer, text_file_word(item, "kind"), text_file_word(item, "sizes"),
			text_file_word(item, "input"), *text_file_word(item, "activation"));
		set_kind(layer, text_file_word(item, "kind"), number(item, "flops"), batch);
		set_tensors(layer, text_file_word(item, "kind"), text_file_word(item, "sizes"));
		if (i > 1)
			take_output(layer - 1, front, layer->input_bytes);
		front = text_file_word(item, "sizes");
		layer->between = i > 1 && layer[-1].is_rows && layer->is_rows ? between(layer - 1, layer) : 0;
		net->is_torch |= is_of_torch(text_file_word(item, "site"));
		if (layer->is_sum)
			last_sum = i;
	}
	net->is_torch |= strcmp(recorder, "kineto") == 0;
	if (net->is_torch)
		set_units(net);
	for (i = 1; i < count; i++)
		net->layers[i].may_cut = i >= last_sum;
	for (i = 1; i < count; i++)
		net->layers[i].may_cut |= net->layers[i - 1].is_sum;
	/* a message whose size is not known cannot be predicted */
	for (i = 0; i < count; i++)
		if (net->layers[i].input_bytes <= 0)
			net->layers[i].may_cut = false;
	return 0;
}

/* Of a sample, where there are so many of these for each. */
static void scale_sizes(struct strategy_layer *layer, double rows)
{
	layer->input_bytes *= rows;
	layer->output_bytes *= rows;
	layer->kept_bytes *= rows;
}

/* A product of rows has several for a sample (patches of an image, say) where another layer has the batch:
 * what lies between the two is not in the file. */
static void count_rows(struct strategy_net *net, const cJSON *list, double batch)
{
	const cJSON *item;
	double numbers;
	size_t i = 0;

	cJSON_ArrayForEach (item, list) {
		const double own = batch_of(text_file_word(item, "input"), &numbers);

		if (own > 0 && fabs(own - batch) > 0.5) {
			scale_sizes(&net->layers[i], own / batch);
			net->is_opaque = true;
		}
		i++;
	}
	for (i = 0; i < net->layer_count && net->is_opaque; i++)
		net->layers[i].may_cut = false;
}

/* Puts the value at a place of the rows' column; those from there on move up. */
static void insert(double *row, size_t count, size_t place, double value)
{
	memmove(row + place + 1, row + place, (count - place) * sizeof(*row));
	row[place] = value;
}

/* The samples of a GPU; where the file says that they are not known, what goes into the first layer that
 * states it. */
static double batch_of_run(struct strategy_net *net, const cJSON *root)
{
	const cJSON *item, *samples = cJSON_GetObjectItemCaseSensitive(root, "samples");
	double batch = 0, numbers;

	if (cJSON_IsNumber(samples))
		return samples->valuedouble / fmax(number(root, "gpus"), 1);
	cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(root, "layers"))
		if (batch <= 0)
			batch = batch_of(text_file_word(item, "input"), &numbers);
	net->is_batch_unknown |= cJSON_IsNull(samples);
	/* as llm.c's, whose products are its own: whoever is told the batch divides by one */
	return batch > 0 || !net->is_batch_unknown ? batch : 1;
}

static int add_times(struct strategy_net *net, const char *path, const cJSON *root)
{
	const cJSON *item, *list = cJSON_GetObjectItemCaseSensitive(root, "layers");
	double batch = batch_of_run(net, root);
	size_t place = 0, i = 0;

	if ((size_t)cJSON_GetArraySize(list) != net->layer_count)
		return fail(net, path, "%d layers, but the first file has %zu", cJSON_GetArraySize(list),
			net->layer_count);
	if (batch <= 0)
		return fail(net, path, "no layer states the batch (\"input\": \"64x3x32x32\")");
	if (net->batch_count == 0)
		count_rows(net, list, batch);
	while (place < net->batch_count && net->batches[place] < batch)
		place++;
	if (place < net->batch_count && net->batches[place] <= batch)
		return fail(net, path, "batch %g is in two files", batch);
	insert(net->batches, net->batch_count, place, batch);
	insert(net->device_bytes, net->batch_count, place,
		number(cJSON_GetObjectItemCaseSensitive(root, "memory"), "device_bytes"));
	cJSON_ArrayForEach (item, list) {
		struct strategy_layer *layer = &net->layers[i++];
		double *const rows[] = {layer->forward, layer->backward, layer->update};
		static const char *const keys[] = {"forward_ns", "backward_ns", "update_ns"};

		if (strcmp(text_file_word(item, "layer"), layer->name) != 0)
			return fail(net, path, "layer %zu is %.60s, but %.60s in the first file", i,
				text_file_word(item, "layer"), layer->name);
		if (cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(item, "rank")))
			return fail(net, path, "rows of single ranks: run pmanalyze layers without --ranks");
		for (int k = 0; k < 3; k++) {
			double time = number(item, keys[k]);

			if (!(time >= 0))
				return fail(net, path, "layer %.60s: %s missing", layer->name, keys[k]);
			insert(rows[k], net->batch_count, place, time);
		}
		net->communicates |= number(item, "communication_ns") > 0;
	}
	net->batch_count++;
	return 0;
}

/* The GPU of a run; another than the first run's is refused. */
static int take_device(struct strategy_net *net, const char *path, const cJSON *device)
{
	const char *name = text_file_word(device, "name");

	if (*name && *net->device.name && strncmp(name, net->device.name, sizeof(net->device.name) - 1) != 0)
		return fail(
			net, path, "measured on %.60s, but the first file on %.60s", name, net->device.name);
	if (*net->device.name)
		return 0;
	snprintf(net->device.name, sizeof(net->device.name), "%s", name);
	net->device.memory = fmax(number(device, "memory_bytes"), 0);
	net->device.bandwidth = fmax(number(device, "bytes_per_second"), 0) / 1e9;
	return 0;
}

int strategy_net_read(struct strategy_net *net, const char *const *paths, size_t path_count)
{
	int status = 0;

	memset(net, 0, sizeof(*net));
	net->batches = calloc(path_count + 1, sizeof(*net->batches));
	net->device_bytes = calloc(path_count + 1, sizeof(*net->device_bytes));
	if (!net->batches || !net->device_bytes)
		return fail(net, paths[0], "out of memory");
	for (size_t i = 0; i < path_count && status == 0; i++) {
		cJSON *root;
		const char *bad = text_file_json(paths[i], &root);
		const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "layers");

		if (bad) {
			snprintf(net->error, sizeof(net->error), "%s", bad);
			status = -EINVAL;
		} else if (!cJSON_IsArray(list) || !cJSON_GetArraySize(list)) {
			status = fail(net, paths[i],
				"no list of layers: expected the output of 'pmanalyze layers --json'");
		}
		if (status == 0)
			status = take_device(net, paths[i], cJSON_GetObjectItemCaseSensitive(root, "device"));
		if (status == 0 && i == 0)
			status = make_layers(
				net, paths[i], list, text_file_word(root, "recorder"), path_count + 1);
		if (status == 0)
			status = add_times(net, paths[i], root);
		cJSON_Delete(root);
	}
	return status;
}

void strategy_net_spread_update(struct strategy_net *net, double total)
{
	const double bytes = strategy_parameter_bytes(net, 0, net->layer_count);
	const double more =
		total - strategy_time_of(net, 0, net->layer_count, STRATEGY_UPDATE, net->batches[0]);

	for (size_t i = 0; more > 0 && bytes > 0 && i < net->layer_count; i++)
		for (size_t k = 0; k < net->batch_count; k++)
			net->layers[i].update[k] += more * net->layers[i].parameter_bytes / bytes;
}

void strategy_net_rows(struct strategy_net *net, double batch)
{
	const double rows = net->batches[0] / batch;

	net->is_opaque = true;
	net->batches[0] = batch;
	for (size_t i = 0; i < net->layer_count; i++) {
		struct strategy_layer *layer = &net->layers[i];

		scale_sizes(layer, rows);
		layer->may_cut = false;
	}
}

void strategy_net_free(struct strategy_net *net)
{
	for (size_t i = 0; i < net->layer_count; i++) {
		free(net->layers[i].name);
		free(net->layers[i].forward);
	}
	free(net->layers);
	free(net->batches);
	free(net->device_bytes);
	net->layers = NULL;
	net->batches = net->device_bytes = NULL;
	net->layer_count = net->batch_count = 0;
}

double strategy_layer_time(
	const struct strategy_net *net, size_t layer, enum strategy_time which, double batch)
{
	const double *times = strategy_times(&net->layers[layer], which);
	const double *at = net->batches;
	size_t n = net->batch_count, i = 0;
	double time;

	if (which == STRATEGY_UPDATE)
		return times[0];
	if (n == 1)
		return times[0] * batch / at[0];
	while (i + 2 < n && batch > at[i + 1])
		i++;
	time = times[i] + (times[i + 1] - times[i]) * (batch - at[i]) / (at[i + 1] - at[i]);
	return time > 0 ? time : 0;
}

double strategy_time_of(
	const struct strategy_net *net, size_t begin, size_t end, enum strategy_time which, double batch)
{
	double sum = 0;

	for (size_t i = begin; i < end; i++)
		sum += strategy_layer_time(net, i, which, batch);
	return sum;
}

/* A call for each tensor of parameters, which goes by so many times. */
static double go_by_tensors(const struct strategy_net *net, const struct strategy_cluster *cluster,
	size_t begin, size_t end, double times)
{
	double sum = 0;

	for (size_t i = begin; i < end; i++)
		for (int k = 0; k < STRATEGY_TENSORS; k++) {
			const double bytes = net->layers[i].tensor_bytes[k];

			if (bytes > 0)
				sum += net->shortest_call + times * bytes / cluster->memory_bandwidth;
		}
	return sum;
}

double strategy_division(
	const struct strategy_net *net, const struct strategy_cluster *cluster, size_t begin, size_t end)
{
	return net->has_pairs && cluster->memory_bandwidth > 0 ? go_by_tensors(net, cluster, begin, end, 2)
							       : 0;
}

double strategy_accumulation(const struct strategy_net *net, const struct strategy_cluster *cluster,
	size_t begin, size_t end, double samples)
{
	double sum = 0;

	if (net->has_pairs && cluster->memory_bandwidth > 0)
		return go_by_tensors(net, cluster, begin, end, 3);
	for (size_t i = begin; i < end && cluster->memory_bandwidth > 0; i++) {
		double moved = 2 * net->layers[i].parameter_bytes / cluster->memory_bandwidth;

		if (moved > 0)
			sum += fmax(moved - strategy_layer_time(net, i, STRATEGY_BACKWARD, samples) / 2, 0);
	}
	return sum;
}

double strategy_parameter_bytes(const struct strategy_net *net, size_t begin, size_t end)
{
	double sum = 0;

	for (size_t i = begin; i < end; i++)
		sum += net->layers[i].parameter_bytes;
	return sum;
}
