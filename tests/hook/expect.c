#include "expect.h"

#include <ctype.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm_abi.h"

/* ---- facts of the interfaces ---- */

#define FIELD(type, path) \
	{ \
#type, #path, offsetof(type, path), sizeof(((type *)0)->path) \
	}
#define FIELD_3D(type, path) FIELD(type, path.width), FIELD(type, path.height), FIELD(type, path.depth)
#define FIELD_DIM(type, path) FIELD(type, path.x), FIELD(type, path.y), FIELD(type, path.z)
#define FIELD_COPY(type) \
	FIELD(type, srcMemoryType), FIELD(type, dstMemoryType), FIELD(type, WidthInBytes), FIELD(type, Height)
const struct field expect_fields[] = {
	FIELD_3D(struct cudaMemcpy3DParms, extent),
	FIELD(struct cudaMemcpy3DParms, kind),
	FIELD_3D(struct cudaMemcpy3DPeerParms, extent),
	FIELD(struct cudaMemLocation, id),
	FIELD(CUmemLocation, id),
	FIELD(struct cudaExtent, width),
	FIELD(struct cudaExtent, height),
	FIELD(struct cudaExtent, depth),
	FIELD(struct cudaPitchedPtr, ptr),
	FIELD(struct cudaPitchedPtr, pitch),
	FIELD(dim3, x),
	FIELD(dim3, y),
	FIELD(dim3, z),
	FIELD_DIM(cudaLaunchConfig_t, gridDim),
	FIELD_DIM(cudaLaunchConfig_t, blockDim),
	FIELD(cudaLaunchConfig_t, dynamicSmemBytes),
	FIELD(cudaLaunchConfig_t, stream),
	FIELD(CUlaunchConfig, gridDimX),
	FIELD(CUlaunchConfig, gridDimY),
	FIELD(CUlaunchConfig, gridDimZ),
	FIELD(CUlaunchConfig, blockDimX),
	FIELD(CUlaunchConfig, blockDimY),
	FIELD(CUlaunchConfig, blockDimZ),
	FIELD(CUlaunchConfig, sharedMemBytes),
	FIELD(CUlaunchConfig, hStream),
	FIELD_COPY(CUDA_MEMCPY2D),
	FIELD_COPY(CUDA_MEMCPY3D),
	FIELD(CUDA_MEMCPY3D, Depth),
	FIELD_COPY(CUDA_MEMCPY3D_PEER),
	FIELD(CUDA_MEMCPY3D_PEER, Depth),
	{0},
};

const struct element_type expect_types[] = {
	{"cudaDataType", CUDA_R_32F, "F32"},
	{"cudaDataType", CUDA_R_64F, "F64"},
	{"cudaDataType", CUDA_R_16F, "F16"},
	{"cudaDataType", CUDA_R_16BF, "BF16"},
	{"cudaDataType", CUDA_R_8I, "I8"},
	{"cudaDataType", CUDA_R_8U, "U8"},
	{"cudaDataType", CUDA_R_32I, "I32"},
	{"cudaDataType", CUDA_R_32U, "U32"},
	{"cudaDataType", CUDA_R_64I, "I64"},
	{"cudaDataType", CUDA_R_64U, "U64"},
	{"cudaDataType", 28 /* CUDA_R_8F_E4M3 */, "OTHER"},
	{"cublasComputeType_t", CUBLAS_COMPUTE_16F, "F16"},
	{"cublasComputeType_t", CUBLAS_COMPUTE_16F_PEDANTIC, "F16"},
	{"cublasComputeType_t", CUBLAS_COMPUTE_32F, "F32"},
	{"cublasComputeType_t", CUBLAS_COMPUTE_32F_PEDANTIC, "F32"},
	{"cublasComputeType_t", CUBLAS_COMPUTE_32F_FAST_16F, "F32"},
	{"cublasComputeType_t", CUBLAS_COMPUTE_32F_FAST_16BF, "F32"},
	{"cublasComputeType_t", CUBLAS_COMPUTE_32F_FAST_TF32, "F32"},
	{"cublasComputeType_t", CUBLAS_COMPUTE_64F, "F64"},
	{"cublasComputeType_t", CUBLAS_COMPUTE_64F_PEDANTIC, "F64"},
	{"cublasComputeType_t", CUBLAS_COMPUTE_32I, "I32"},
	{"cublasComputeType_t", CUBLAS_COMPUTE_32I_PEDANTIC, "I32"},
	{"ncclDataType_t", ncclInt8, "I8"},
	{"ncclDataType_t", ncclUint8, "U8"},
	{"ncclDataType_t", ncclInt32, "I32"},
	{"ncclDataType_t", ncclUint32, "U32"},
	{"ncclDataType_t", ncclInt64, "I64"},
	{"ncclDataType_t", ncclUint64, "U64"},
	{"ncclDataType_t", ncclFloat16, "F16"},
	{"ncclDataType_t", ncclFloat32, "F32"},
	{"ncclDataType_t", ncclFloat64, "F64"},
	{"ncclDataType_t", ncclBfloat16, "BF16"},
	{"ncclDataType_t", ncclFloat8e4m3, "OTHER"},
	{"ncclDataType_t", ncclFloat8e5m2, "OTHER"},
};
const size_t expect_type_count = sizeof expect_types / sizeof expect_types[0];

/* The trace's own types: word, number (enum pm_type, in order), bytes. */
static const struct {
	const char *word;
	unsigned bytes;
} trace_types[] = {{"", 0}, {"F32", 4}, {"F64", 8}, {"F16", 2}, {"BF16", 2}, {"I8", 1}, {"U8", 1}, {"I32", 4},
	{"U32", 4}, {"I64", 8}, {"U64", 8}, {"OTHER", 0}};

/* ---- reading the table ---- */

#define LINES 1024u
static struct line lines[LINES];
static unsigned line_count;

struct line *expect_line(const char *name)
{
	for (unsigned i = 0; i < line_count; i++)
		if (strcmp(lines[i].name, name) == 0)
			return &lines[i];
	return NULL;
}

static void add_line(const char *name, const char *parameters, const char *body, const char *reason)
{
	struct line *l = &lines[line_count++];

	if (line_count > LINES || strlen(name) >= sizeof l->name)
		errx(1, "%s: too much", name);
	if (expect_line(name))
		errx(1, "%s: a second line", name);
	snprintf(l->name, sizeof l->name, "%s", name);
	l->parameters = parameters;
	l->body = body;
	l->reason = reason;
	l->sets = body && strlen(body) > 5 && strcmp(body + strlen(body) - 5, " sets") == 0;
	l->has_sum = body && strstr(body, "sum(");
}

/* A line for each name that a pattern like `cublas{S,D}gemm{,_64}` stands for. */
static void expand(const char *pattern, const char *parameters, const char *body, const char *reason)
{
	const char *open = strchr(pattern, '{'), *close = open ? strchr(open, '}') : NULL;
	char name[160];

	if (!open || !close) {
		add_line(pattern, parameters, body, reason);
		return;
	}
	for (const char *p = open + 1; p <= close;) {
		const char *end = p + strcspn(p, ",}");

		snprintf(name, sizeof name, "%.*s%.*s%s", (int)(open - pattern), pattern, (int)(end - p), p,
			close + 1);
		expand(name, parameters, body, reason);
		p = end + 1;
	}
}

/* "names(parameters) body" or "names: reason" */
static void read_entry(char *entry)
{
	char *parameters = strchr(entry, '('), *reason = strstr(entry, ": "), *body = NULL, *rest = NULL;

	if (reason && (!parameters || reason < parameters)) {
		*reason = 0;
		reason += 2;
		parameters = NULL;
	} else {
		char *close = parameters ? strchr(parameters, ')') : NULL;

		if (!close)
			errx(1, "no parameters: %s", entry);
		reason = NULL;
		*parameters++ = 0;
		*close = 0;
		body = close + 1 + strspn(close + 1, " ");
	}
	for (char *name = strtok_r(entry, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
		expand(name, parameters, body, reason);
}

/* An entry begins in the first column; what follows with a blank before it belongs to it. */
void expect_read(const char *path)
{
	FILE *f = fopen(path, "r");
	char text[1024], *entry = NULL;

	if (!f)
		err(1, "%s", path);
	for (bool more = true; more;) {
		more = fgets(text, sizeof text, f);
		if (more && (text[0] == '#' || text[0] == '\n'))
			continue;
		if (entry && (!more || !isspace((unsigned char)text[0]))) {
			read_entry(entry);
			entry = NULL;
		}
		if (!more)
			break;
		text[strcspn(text, "\n")] = 0;
		if (!entry) {
			entry = strdup(text);
		} else {
			char *longer;

			if (asprintf(&longer, "%s %s", entry, text + strspn(text, "\t ")) < 0)
				err(1, "asprintf");
			free(entry);
			entry = longer;
		}
		if (!entry)
			err(1, "strdup");
	}
	fclose(f);
}

unsigned expect_unused(void)
{
	unsigned unused = 0;

	for (unsigned i = 0; i < line_count; i++)
		if (!lines[i].is_used) {
			printf("%s: in the table of values, and not in that of hooks\n", lines[i].name);
			unused++;
		}
	return unused;
}

/* ---- what an expression of the table comes to ---- */

static const struct argument *argument_of(const struct line *l, const struct call *c, const char *name)
{
	const char *p = l->parameters;

	for (unsigned i = 0; i < c->count; i++) {
		size_t n;

		p += strspn(p, ", ");
		n = strcspn(p, ", ");
		if (n == strlen(name) && strncmp(p, name, n) == 0)
			return &c->arguments[i];
		p += n;
	}
	errx(1, "%s: the table's line has no parameter %s among its first %u", l->name, name, c->count);
}

static bool is_unsigned(const char *type)
{
	return strncmp(type, "unsigned", 8) == 0 || strncmp(type, "size_t", 6) == 0 ||
	       strncmp(type, "CUdeviceptr", 11) == 0 || strncmp(type, "uint", 4) == 0;
}

static uint64_t number_at(const void *bytes, size_t size, bool without_sign)
{
	uint64_t wide = 0;

	memcpy(&wide, bytes, size < sizeof wide ? size : sizeof wide);
	return size == 4 && !without_sign ? (uint64_t)(int64_t)(int32_t)wide : wide;
}

/* `config->gridDim.x` or `gridDim.x`: name is cut at the argument's end. */
static uint64_t field_of(const struct line *l, const struct call *c, char *name)
{
	char *path = strpbrk(name, ".-");
	const bool behind = *path == '-';
	const struct argument *a;
	const char *type;
	size_t n;

	*path = 0;
	path += behind ? 2 : 1;
	a = argument_of(l, c, name);
	type = strncmp(a->type, "const ", 6) == 0 ? a->type + 6 : a->type;
	n = strcspn(type, "*");
	while (n && type[n - 1] == ' ')
		n--;
	for (const struct field *f = expect_fields; f->type; f++)
		if (strlen(f->type) == n && strncmp(f->type, type, n) == 0 && strcmp(f->path, path) == 0)
			return number_at(
				(behind ? *(char **)a->bytes : (char *)a->bytes) + f->offset, f->size, true);
	errx(1, "%s: no field %s of %s", l->name, path, type);
}

static const char *type_of(const struct line *l, const struct call *c, const char *name)
{
	static const struct {
		char letter;
		const char *word;
	} letters[] = {{'S', "F32"}, {'D', "F64"}, {'H', "F16"}};
	const struct argument *a;

	for (size_t i = 1; i < sizeof trace_types / sizeof trace_types[0]; i++)
		if (strcmp(trace_types[i].word, name) == 0)
			return name;
	for (size_t i = 0; strcmp(name, "letter") == 0 && i < sizeof letters / sizeof letters[0]; i++)
		if (l->name[6] == letters[i].letter)
			return letters[i].word;
	a = argument_of(l, c, name);
	for (size_t i = 0; i < expect_type_count; i++)
		if (strncmp(a->type, expect_types[i].enum_type, strlen(expect_types[i].enum_type)) == 0 &&
			*(int *)a->bytes == expect_types[i].enumerator)
			return expect_types[i].word;
	errx(1, "%s: %s %s is no element type", l->name, a->type, name);
}

static unsigned number_of_type(const char *word)
{
	unsigned i = 1;

	while (strcmp(trace_types[i].word, word) != 0)
		i++;
	return i;
}

/* cuDNN's scalars are double where the tensors are, which are distinguished here by what test_values.c made of
 * them. */
bool expect_is_double(const void *descriptor);

static uint64_t scale_of(const struct line *l, const struct call *c, const char *scalar, const char *by)
{
	static const uint64_t halves[] = {0, 0x3c00, 0x3800};
	const float narrow[] = {0, 1, 0.5f};
	const double wide[] = {0, 1, 0.5};
	const int32_t whole[] = {0, 1, 2};
	void *to = *(void **)argument_of(l, c, scalar)->bytes;
	const char *word = "F32";

	if (strlen(by) > 4 && strcmp(by + strlen(by) - 4, "Desc") == 0)
		word = expect_is_double(*(void **)argument_of(l, c, by)->bytes) ? "F64" : "F32";
	else
		word = type_of(l, c, by);
	if (strcmp(word, "F64") == 0)
		memcpy(to, &wide[c->scale], sizeof wide[0]);
	else if (strcmp(word, "F16") == 0)
		memcpy(to, &halves[c->scale], 2);
	else if (strcmp(word, "I32") == 0)
		memcpy(to, &whole[c->scale], sizeof whole[0]);
	else
		memcpy(to, &narrow[c->scale], sizeof narrow[0]);
	return c->device_pointers ? 3 : (uint64_t)c->scale;
}

static uint64_t sum_of(const struct line *l, const struct call *c, const char *list, const char *count)
{
	const struct argument *n = argument_of(l, c, count);
	const size_t *sizes = *(size_t **)argument_of(l, c, list)->bytes;
	uint64_t sum = 0;

	for (uint64_t i = number_at(n->bytes, n->size, true); i > 0; i--)
		sum += *sizes++;
	return sum;
}

/* From one kind of memory to another: host is 1, device and array are the device, unified is anywhere. */
static uint64_t direction_of(uint64_t from, uint64_t to)
{
	static const uint8_t directions[5][5] = {
		[CU_MEMORYTYPE_HOST] = {[CU_MEMORYTYPE_HOST] = 0,
			[CU_MEMORYTYPE_DEVICE] = 1,
			[CU_MEMORYTYPE_ARRAY] = 1,
			[CU_MEMORYTYPE_UNIFIED] = 4},
		[CU_MEMORYTYPE_DEVICE] = {[CU_MEMORYTYPE_HOST] = 2,
			[CU_MEMORYTYPE_DEVICE] = 3,
			[CU_MEMORYTYPE_ARRAY] = 3,
			[CU_MEMORYTYPE_UNIFIED] = 4},
		[CU_MEMORYTYPE_ARRAY] = {[CU_MEMORYTYPE_HOST] = 2,
			[CU_MEMORYTYPE_DEVICE] = 3,
			[CU_MEMORYTYPE_ARRAY] = 3,
			[CU_MEMORYTYPE_UNIFIED] = 4},
		[CU_MEMORYTYPE_UNIFIED] = {4, 4, 4, 4, 4},
	};

	return directions[from % 5][to % 5];
}

/* A kernel is named by its address, as nvcc's start-up code does it. The name is kept. */
__attribute__((weak)) void __cudaRegisterFunction(void **module, const char *host_function,
	char *device_function, const char *device_name, int thread_limit, void *thread_id, void *block_id,
	void *block_size, void *grid_size, int *warp_size);

static uint64_t named(const struct argument *function)
{
	const char *address = *(char **)function->bytes;
	char *name;

	if (!__cudaRegisterFunction || asprintf(&name, "kernel_%p", (const void *)address) < 0)
		errx(1, "the hook is not preloaded");
	__cudaRegisterFunction(NULL, address, NULL, name, 0, NULL, NULL, NULL, NULL, NULL);
	return (uint64_t)(uintptr_t)address;
}

/* A factor: a number, an argument, a field, sizeof(type). */
static uint64_t factor(const struct line *l, const struct call *c, char *text)
{
	const struct argument *a;

	if (isdigit((unsigned char)text[0]))
		return strtoull(text, NULL, 10);
	if (strncmp(text, "sizeof(", 7) == 0) {
		text[strlen(text) - 1] = 0;
		return trace_types[number_of_type(type_of(l, c, text + 7))].bytes;
	}
	if (strpbrk(text, ".-"))
		return field_of(l, c, text);
	a = argument_of(l, c, text);
	return number_at(a->bytes, a->size, is_unsigned(a->type));
}

static uint64_t product(const struct line *l, const struct call *c, char *text)
{
	char *rest = NULL;
	uint64_t result = 1;

	for (char *f = strtok_r(text, "*", &rest); f; f = strtok_r(NULL, "*", &rest))
		result *= factor(l, c, f);
	return result;
}

/* The arguments of `f(a,b)`; false: the text is no such call. */
static bool is_call(char *text, const char *f, char **first, char **second)
{
	size_t n = strlen(f);

	if (strncmp(text, f, n) != 0 || text[n] != '(')
		return false;
	*first = text + n + 1;
	*second = strchr(*first, ',');
	if (*second)
		*(*second)++ = 0;
	(*second ? *second : *first)[strcspn(*second ? *second : *first, ")")] = 0;
	return true;
}

static void evaluate(const struct line *l, const struct call *c, struct value *v, char *text)
{
	char *a, *b;

	v->what = VALUE_NUMBER;
	if (strcmp(text, "none") == 0 || is_call(text, "graph", &a, &b)) {
		v->number = 0; /* nothing is known of it */
	} else if (is_call(text, "type", &a, &b)) {
		v->number = number_of_type(type_of(l, c, a));
	} else if (is_call(text, "scale", &a, &b)) {
		v->number = scale_of(l, c, a, b);
	} else if (is_call(text, "sum", &a, &b)) {
		v->number = sum_of(l, c, a, b);
	} else if (is_call(text, "direction", &a, &b)) {
		v->number = direction_of(factor(l, c, a), factor(l, c, b));
	} else if (is_call(text, "name", &a, &b)) {
		v->what = VALUE_NAME;
		v->number = named(argument_of(l, c, a));
	} else if (strncmp(v->label, "type:", 5) == 0) {
		v->number = number_of_type(type_of(l, c, text));
	} else {
		v->number = product(l, c, text);
		v->what = strncmp(v->label, "descriptor:", 11) == 0     ? VALUE_DESCRIPTOR
			  : strncmp(v->label, "communicator:", 13) == 0 ? VALUE_COMMUNICATOR
									: VALUE_NUMBER;
	}
}

static void find_queue(const struct line *l, const struct call *c, char *text, struct expectation *e)
{
	const size_t n = strlen(l->name);
	const bool per_thread =
		strcmp(l->name + n - 5, "_ptsz") == 0 || strcmp(l->name + n - 5, "_ptds") == 0;

	e->queue = per_thread ? QUEUE_PER_THREAD : QUEUE_DEFAULT;
	if (strcmp(text, "default") == 0)
		return;
	if (strcmp(text, "handle") == 0) {
		e->queue = QUEUE_HANDLE;
		e->queue_of = (uint64_t) * (uintptr_t *)argument_of(l, c, text)->bytes;
		return;
	}
	e->queue_of = factor(l, c, text);
	if (e->queue_of)
		e->queue = QUEUE_STREAM;
}

/* A word of what the call does; "role:NONE" where the line has none. */
static bool take_what_it_does(struct expectation *e, const char *word)
{
	const size_t used = strlen(e->does);

	if (strncmp(word, "role:", 5) == 0)
		snprintf(e->does, sizeof e->does, "%s", word);
	else if (strncmp(word, "access:", 7) == 0 || strncmp(word, "shape:", 6) == 0)
		snprintf(e->does + used, sizeof e->does - used, " %s", word);
	else
		return false;
	return true;
}

void expect_call(const struct line *l, const struct call *c, struct expectation *e)
{
	char body[2048], *rest = NULL, *word;

	memset(e, 0, sizeof *e);
	e->name = l->name;
	snprintf(body, sizeof body, "%s", l->body);
	snprintf(e->kind, sizeof e->kind, "%s", strtok_r(body, " ", &rest));
	snprintf(e->does, sizeof e->does, "role:NONE");
	while ((word = strtok_r(NULL, " ", &rest))) {
		struct value *v = &e->values[e->value_count];
		char *is = strchr(word, '=');

		if (word[0] == '@') {
			find_queue(l, c, word + 1, e);
			continue;
		}
		if (strcmp(word, "sets") == 0 || take_what_it_does(e, word))
			continue;
		if (!strchr(word, ':') || e->value_count == EXPECT_VALUES)
			errx(1, "%s: cannot read %s", l->name, word);
		if (is)
			*is++ = 0;
		snprintf(v->label, sizeof v->label, "%s", word);
		evaluate(l, c, v, is ? is : strchr(word, ':') + 1);
		e->value_count++;
	}
}
