/* Inputs of PyTorch's operators: see operator_input.h; and how people are shown them (work_operator.h). */
#include "operator_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ELEMENTS ((int64_t)1 << 40) /* of a dimension */
#define SHOWN 3                          /* inputs that people are shown */

/* ---- what the profiler writes ---- */

/* "[8, 4]", of which more than OPERATOR_DIMENSIONS make it unknown. Answers where it ends. */
static const char *read_sizes(const char *text, struct operator_input *input)
{
	char *end;

	if (*text != '[')
		return NULL;
	for (text++; *text && *text != ']'; text = end + strspn(end, ", ")) {
		const int64_t size = strtoll(text, &end, 10);

		if (end == text || size < 0 || size > MOST_ELEMENTS || input->rank == OPERATOR_DIMENSIONS)
			return NULL; /* a list of tensors, too */
		input->dims[input->rank++] = size;
	}
	return *text ? text + 1 : NULL;
}

static bool read_all_sizes(const char *text, struct operator_call *call)
{
	if (*text++ != '[')
		return false;
	while (*text == '[') {
		if (call->count == OPERATOR_INPUTS)
			return true; /* what decides comes first */
		text = read_sizes(text, &call->inputs[call->count++]);
		if (!text)
			return false;
		text += strspn(text, ", ");
	}
	return *text == ']';
}

/* The next text in quotes, not ended, and its length. Answers where it ends; NULL: there is none. */
static const char *read_word(const char *text, const char **word, size_t *length)
{
	text += strcspn(text, "\"]\t[");
	if (*text == '[')
		return read_word(text + 1, word, length);
	if (*text != '"')
		return NULL;
	*word = ++text;
	*length = strcspn(text, "\"");
	return text[*length] ? text + *length + 1 : NULL;
}

static void set_type(struct operator_input *input, const char *word, size_t length)
{
	static const struct {
		const char *name;
		double bytes;
		enum work_type type;
	} types[] = {{"float", 4, WORK_F32}, {"double", 8, WORK_F64}, {"c10::Half", 2, WORK_F16},
		{"c10::BFloat16", 2, WORK_BF16}, {"signed char", 1, WORK_I8}, {"unsigned char", 1, WORK_I8},
		{"c10::Float8_e4m3fn", 1, WORK_I8}, {"c10::Float8_e5m2", 1, WORK_I8}, {"bool", 1, WORK_F32},
		{"int", 4, WORK_F32}, {"long", 8, WORK_F32}, {"long int", 8, WORK_F32}};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i].name) == length && memcmp(types[i].name, word, length) == 0) {
			input->type = types[i].type;
			input->bytes = types[i].bytes;
		}
}

bool operator_call_read(const char *inputs, struct operator_call *call)
{
	const char *types = strchr(inputs, '\t'), *values = types ? strchr(types + 1, '\t') : NULL, *word;
	size_t length;

	memset(call, 0, sizeof(*call));
	if (!values || !read_all_sizes(inputs, call))
		return false;
	types++;
	for (int i = 0; i < call->count && (types = read_word(types, &word, &length)); i++)
		set_type(&call->inputs[i], word, length);
	values++;
	for (int i = 0; i < call->count && (values = read_word(values, &word, &length)); i++)
		call->inputs[i].value = word;
	return true;
}

/* ---- sizes ---- */

double operator_elements_from(const struct operator_input *input, int first)
{
	double product = 1;

	for (int i = first; i < input->rank; i++)
		product *= (double)input->dims[i];
	return product;
}

double operator_elements(const struct operator_input *input)
{
	return operator_elements_from(input, 0);
}

double operator_bytes(const struct operator_input *input)
{
	return operator_elements(input) * input->bytes;
}

bool operator_list(const struct operator_input *input, int64_t *numbers, int count)
{
	const char *text = input->value;
	char *end;
	int found = 0;

	if (!text || *text != '[')
		return false;
	for (text++; found < count && *text != ']'; text = end + strspn(end, ", ")) {
		numbers[found] = strtoll(text, &end, 10);
		if (end == text || numbers[found] < 0 || numbers[found] > OPERATOR_MOST_SIZE)
			return false;
		found++;
	}
	for (int i = found; found == 1 && i < count; i++)
		numbers[i] = numbers[0];
	return found == 1 || found == count;
}

bool operator_is_true(const struct operator_input *input)
{
	return input->value && strncmp(input->value, "True", 4) == 0;
}

/* ---- for people ---- */

void work_operator_shape(const char *inputs, char room[WORK_SHAPE_BYTES])
{
	size_t used = 0;
	struct operator_call call;
	const char *type = "";
	int shown = 0;

	room[0] = 0;
	if (!operator_call_read(inputs, &call))
		return;
	for (int i = 0; i < call.count && used + 1 < WORK_SHAPE_BYTES; i++) {
		const struct operator_input *input = &call.inputs[i];

		if (input->rank == 0)
			continue;
		if (shown++ == SHOWN) {
			used += (size_t)snprintf(room + used, WORK_SHAPE_BYTES - used, " ...");
			break;
		}
		used += (size_t)snprintf(room + used, WORK_SHAPE_BYTES - used, "%s", used ? " " : "");
		for (int d = 0; d < input->rank && used + 1 < WORK_SHAPE_BYTES; d++)
			used += (size_t)snprintf(room + used, WORK_SHAPE_BYTES - used, "%s%lld", d ? "x" : "",
				(long long)input->dims[d]);
		if (!*type && input->bytes > 0)
			type = work_type_names[input->type];
	}
	if (used + 1 < WORK_SHAPE_BYTES)
		snprintf(room + used, WORK_SHAPE_BYTES - used, "%s%s", *type && used ? " " : "", type);
}
