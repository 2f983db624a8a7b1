/*
 * Kernels and device variables, by host address and by name.
 *
 * The one idea: a device variable is the host variable of the same name (every device sees that one), and a
 * kernel is the C function sg_twin_NAME if anything loaded exports it.
 */
#include "kernel.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 1024

struct symbol {
	struct symbol *next;
	const void *host;
	char *address;
	size_t size_bytes;
	const char *name;
};

/* Kernels are added, never removed: a program unregisters only as it ends. */
#define BUCKETS 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct sg_pool kernels = SG_POOL_INIT(struct sg_kernel, 1 << 20, 0);

static _Atomic(struct sg_kernel *) by_host[BUCKETS], by_name[BUCKETS];

static struct symbol *symbols;

static size_t bucket_of(const void *address)
{
	return ((uintptr_t)address >> 4) % BUCKETS;
}

static size_t bucket_of_name(const char *name)
{
	size_t hash = 5381;

	for (; *name != '\0'; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash % BUCKETS;
}

/* A new kernel at the head of its bucket; the lock is held. */
static struct sg_kernel *add_kernel(
	_Atomic(struct sg_kernel *) *bucket, const void *host, const char *name, struct sg_image *image)
{
	struct sg_kernel *kernel = sg_pool_get(&kernels);

	if (kernel == NULL)
		return NULL;
	kernel->host = host;
	kernel->name = name;
	kernel->image = image;
	kernel->next = atomic_load(bucket);
	atomic_store_explicit(&kernel->slot.live, SG_SLOT_LIVE, memory_order_release);
	atomic_store(bucket, kernel);
	return kernel;
}

void sg_kernel_register(const void *host, const char *name, struct sg_image *image)
{
	pthread_mutex_lock(&lock);
	add_kernel(&by_host[bucket_of(host)], host, name, image);
	pthread_mutex_unlock(&lock);
}

void sg_symbol_register(const void *host, char *address, size_t size_bytes, const char *name)
{
	struct symbol *symbol = malloc(sizeof(*symbol));

	if (symbol == NULL)
		return;
	symbol->host = host;
	symbol->address = address;
	symbol->size_bytes = size_bytes;
	symbol->name = name;
	pthread_mutex_lock(&lock);
	symbol->next = symbols;
	symbols = symbol;
	pthread_mutex_unlock(&lock);
}

/* Of all its arguments, as its image has them; NULL: it does not say. */
static const size_t *image_sizes(const struct sg_kernel *kernel)
{
	const struct sg_param *params;
	size_t count = 0, *sizes;

	params = kernel->image != NULL ? sg_image_params(kernel->image, kernel->name, &count) : NULL;
	sizes = params != NULL ? calloc(count + 1, sizeof(*sizes)) : NULL;
	for (size_t i = 0; sizes != NULL && i < count; i++)
		sizes[i] = params[i].size_bytes;
	return sizes;
}

/* A twin's are the program's own word; a rule's are few, and are checked against the image's: the program may
 * be of another version. */
static const size_t *find_sizes(struct sg_kernel *kernel)
{
	static const size_t none[1];
	const size_t *of_image = kernel->arg_bytes != NULL ? NULL : image_sizes(kernel);

	sg_known_fit(&kernel->known, kernel->name,
		of_image != NULL            ? of_image
		: kernel->arg_bytes != NULL ? kernel->arg_bytes
					    : none);
	if (kernel->arg_bytes != NULL)
		return kernel->arg_bytes;
	if (kernel->known.arg_bytes[0] != 0)
		return kernel->known.arg_bytes;
	return of_image != NULL ? of_image : none;
}

static void resolve(struct sg_kernel *kernel)
{
	char name[NAME_BYTES];
	/* POSIX has dlsym return functions as void pointers; C has no cast for that. */
	union {
		void *object;
		sg_twin *function;
	} twin;

	pthread_mutex_lock(&lock);
	if (!atomic_load(&kernel->resolved)) {
		snprintf(name, sizeof(name), "sg_twin_%s", kernel->name);
		twin.object = dlsym(RTLD_DEFAULT, name);
		kernel->twin = twin.object != NULL ? twin.function : NULL;
		snprintf(name, sizeof(name), "sg_twin_%s_args", kernel->name);
		kernel->arg_bytes = dlsym(RTLD_DEFAULT, name);
		sg_known_find(&kernel->known, kernel->name);
		kernel->sizes = find_sizes(kernel);
		atomic_store(&kernel->resolved, 1);
	}
	pthread_mutex_unlock(&lock);
}

struct sg_kernel *sg_kernel_find(const void *host)
{
	struct sg_kernel *kernel = atomic_load(&by_host[bucket_of(host)]);

	while (kernel != NULL && kernel->host != host)
		kernel = kernel->next;
	/* Launches take a kernel's handle in the place of the host function. */
	if (kernel == NULL)
		return sg_kernel_of(host);
	if (!atomic_load(&kernel->resolved))
		resolve(kernel);
	return kernel;
}

struct sg_kernel *sg_kernel_of(const void *handle)
{
	struct sg_kernel *kernel = sg_pool_check(&kernels, handle);

	if (kernel != NULL && !atomic_load(&kernel->resolved))
		resolve(kernel);
	return kernel;
}

struct sg_kernel *sg_kernel_named(const char *name, struct sg_image *image)
{
	_Atomic(struct sg_kernel *) *bucket = &by_name[bucket_of_name(name)];
	struct sg_kernel *kernel;
	char *copy;

	pthread_mutex_lock(&lock);
	kernel = atomic_load(bucket);
	while (kernel != NULL && (kernel->image != image || strcmp(kernel->name, name) != 0))
		kernel = kernel->next;
	if (kernel == NULL) {
		copy = strdup(name);
		kernel = copy != NULL ? add_kernel(bucket, NULL, copy, image) : NULL;
		if (kernel == NULL)
			free(copy);
	}
	pthread_mutex_unlock(&lock);
	return kernel;
}

/* Of a twin: sizes in order, 0 after the last; alignment as C has it, for it is what nvcc does too. */
static cudaError_t twin_param(const size_t *sizes, size_t number, size_t *offset, size_t *size_bytes)
{
	size_t at = 0;

	for (size_t i = 0; sizes[i] != 0; i++) {
		size_t alignment = sizes[i] & (~sizes[i] + 1);

		if (alignment > 16)
			alignment = 16;
		at = (at + alignment - 1) & ~(alignment - 1);
		if (i == number) {
			*offset = at;
			*size_bytes = sizes[i];
			return cudaSuccess;
		}
		at += sizes[i];
	}
	return cudaErrorInvalidValue;
}

cudaError_t sg_kernel_param(const struct sg_kernel *kernel, size_t number, size_t *offset, size_t *size_bytes)
{
	size_t count;
	const struct sg_param *params =
		kernel->image != NULL ? sg_image_params(kernel->image, kernel->name, &count) : NULL;

	if (params == NULL && kernel->arg_bytes != NULL)
		return twin_param(kernel->arg_bytes, number, offset, size_bytes);
	if (params == NULL || number >= count)
		return cudaErrorInvalidValue;
	*offset = params[number].offset;
	*size_bytes = params[number].size_bytes;
	return cudaSuccess;
}

cudaError_t sg_kernel_param_count(const struct sg_kernel *kernel, size_t *count)
{
	if (kernel->image != NULL && sg_image_params(kernel->image, kernel->name, count) != NULL)
		return cudaSuccess;
	if (kernel->arg_bytes == NULL)
		return cudaErrorInvalidValue;
	for (*count = 0; kernel->arg_bytes[*count] != 0; ++*count)
		;
	return cudaSuccess;
}

cudaError_t sg_symbol_find(const void *host, char **address, size_t *size_bytes)
{
	struct symbol *symbol;

	pthread_mutex_lock(&lock);
	for (symbol = symbols; symbol != NULL && symbol->host != host; symbol = symbol->next)
		;
	pthread_mutex_unlock(&lock);
	if (host == NULL || symbol == NULL)
		return cudaErrorInvalidSymbol;
	*address = symbol->address;
	*size_bytes = symbol->size_bytes;
	return cudaSuccess;
}

cudaError_t sg_symbol_named(const char *name, char **address, size_t *size_bytes)
{
	struct symbol *symbol;

	pthread_mutex_lock(&lock);
	for (symbol = symbols; symbol != NULL && strcmp(symbol->name, name) != 0; symbol = symbol->next)
		;
	pthread_mutex_unlock(&lock);
	if (symbol == NULL)
		return cudaErrorSymbolNotFound;
	*address = symbol->address;
	*size_bytes = symbol->size_bytes;
	return cudaSuccess;
}
