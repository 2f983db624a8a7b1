/*
 * Images: the parameters of the kernels in them, and the variables.
 *
 * The one idea: an image is read once, whole, and only these are kept: expanding it again for each of its
 * kernels would cost more than they take.
 */
#include "image.h"
#include "calls.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRAPPER_MAGIC 0x466243b1u

/* What nvcc gives to __cudaRegisterFatBinary. */
struct wrapper {
	uint32_t magic, version;
	const void *image;
	const void *file;
};

struct layout {
	char *name;
	struct sg_param *params;
	size_t count;
};

struct variable {
	struct variable *next;
	void *content; /* NULL: zeros */
	size_t size_bytes;
	char name[];
};

struct sg_image {
	const void *data; /* NULL: read, or closed */
	void *copy;       /* to be freed with it */
	size_t size_bytes;
	struct layout *layouts; /* by name */
	size_t layout_count, layout_room;
	struct variable *variables;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const void *unwrap(const void *data)
{
	const unsigned char *bytes = data;
	struct wrapper wrapper;

	/* byte by byte: what is no image may end after the first */
	for (int i = 0; i < 4; i++)
		if (bytes[i] != (unsigned char)(WRAPPER_MAGIC >> 8 * i))
			return data;
	memcpy(&wrapper, data, sizeof(wrapper));
	return wrapper.image;
}

static struct sg_image *new_image(const void *data, size_t size_bytes, void *copy)
{
	struct sg_image *image = calloc(1, sizeof(*image));

	if (image == NULL) {
		free(copy);
		return NULL;
	}
	image->data = data;
	image->size_bytes = size_bytes;
	image->copy = copy;
	return image;
}

struct sg_image *sg_image_open(const void *data, int copy)
{
	size_t size_bytes;
	void *memory = NULL;

	data = data != NULL ? unwrap(data) : NULL;
	size_bytes = data != NULL ? sg_image_bytes(data) : 0;
	if (size_bytes == 0)
		return NULL;
	if (copy) {
		memory = malloc(size_bytes);
		if (memory == NULL)
			return NULL;
		data = memcpy(memory, data, size_bytes);
	}
	return new_image(data, size_bytes, memory);
}

struct sg_image *sg_image_open_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct sg_image *image = NULL;
	size_t room = 1 << 20, count = 0, more;
	char *memory = NULL, *larger;

	if (file == NULL)
		return NULL;
	do {
		larger = realloc(memory, room *= 2);
		if (larger == NULL)
			break;
		memory = larger;
		more = fread(memory + count, 1, room - count, file);
		count += more;
	} while (count == room);
	fclose(file);
	if (count >= 64 && sg_image_bytes(memory) != 0) {
		image = new_image(memory, count, memory);
		memory = NULL;
	}
	free(memory);
	return image;
}

static void let_go(struct sg_image *image)
{
	free(image->copy);
	image->copy = NULL;
	image->data = NULL;
}

void sg_image_close(struct sg_image *image)
{
	if (image == NULL)
		return;
	pthread_mutex_lock(&lock);
	let_go(image);
	while (image->variables != NULL) {
		struct variable *variable = image->variables;

		image->variables = variable->next;
		free(variable->content);
		free(variable);
	}
	pthread_mutex_unlock(&lock);
}

static void keep(void *data, const char *name, const struct sg_param *params, size_t count)
{
	struct sg_image *image = data;
	struct layout layout = {strdup(name), malloc((count + 1) * sizeof(*params)), count};

	if (image->layout_count == image->layout_room) {
		size_t room = image->layout_room == 0 ? 16 : 2 * image->layout_room;
		struct layout *more = realloc(image->layouts, room * sizeof(*more));

		if (more != NULL) {
			image->layouts = more;
			image->layout_room = room;
		}
	}
	if (layout.name == NULL || layout.params == NULL || image->layout_count == image->layout_room) {
		free(layout.name);
		free(layout.params);
		return;
	}
	memcpy(layout.params, params, count * sizeof(*params));
	image->layouts[image->layout_count++] = layout;
}

static void keep_variable(void *data, const char *name, const void *content, size_t size_bytes)
{
	struct sg_image *image = data;
	struct variable *variable = calloc(1, sizeof(*variable) + strlen(name) + 1);

	if (variable == NULL)
		return;
	variable->content = content != NULL ? malloc(size_bytes) : NULL;
	if (content != NULL && variable->content == NULL) {
		free(variable);
		return;
	}
	if (content != NULL)
		memcpy(variable->content, content, size_bytes);
	strcpy(variable->name, name);
	variable->size_bytes = size_bytes;
	variable->next = image->variables;
	image->variables = variable;
}

static int by_name(const void *a, const void *b)
{
	const struct layout *left = a, *right = b;

	return strcmp(left->name, right->name);
}

/* 90: sm_90. All devices are alike. */
static unsigned own_architecture(void)
{
	int major, minor;

	if (sg_device_attribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess ||
		sg_device_attribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) != cudaSuccess)
		return 0;
	return (unsigned)(10 * major + minor);
}

/* Under the lock. */
static void read_once(struct sg_image *image, unsigned architecture)
{
	if (image->data == NULL)
		return;
	sg_image_read(image->data, image->size_bytes, architecture, keep, keep_variable, image);
	if (image->layout_count > 0)
		qsort(image->layouts, image->layout_count, sizeof(*image->layouts), by_name);
	let_go(image);
}

int sg_image_variable(struct sg_image *image, const char *name, const void **content, size_t *size_bytes)
{
	const unsigned architecture = own_architecture();
	const struct variable *variable;

	pthread_mutex_lock(&lock);
	read_once(image, architecture);
	for (variable = image->variables; variable != NULL && strcmp(variable->name, name) != 0;)
		variable = variable->next;
	pthread_mutex_unlock(&lock);
	if (variable == NULL)
		return 0;
	*content = variable->content;
	*size_bytes = variable->size_bytes;
	return 1;
}

const struct sg_param *sg_image_params(struct sg_image *image, const char *name, size_t *count)
{
	const unsigned architecture = own_architecture();
	const struct sg_param *params = NULL;
	struct layout key = {NULL, NULL, 0};
	const struct layout *found = NULL;

	pthread_mutex_lock(&lock);
	read_once(image, architecture);
	key.name = strdup(name);
	if (key.name != NULL && image->layout_count > 0)
		found = bsearch(&key, image->layouts, image->layout_count, sizeof(*image->layouts), by_name);
	free(key.name);
	if (found != NULL) {
		params = found->params;
		*count = found->count;
	}
	pthread_mutex_unlock(&lock);
	return params;
}
