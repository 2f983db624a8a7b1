/*
 * Device profiles: what a device can do, read from a text file.
 *
 * The one idea: each line is `key value`, the unit is in the key's name, and one table says where a value
 * goes.
 */
#include "model.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIB (1024.0 * 1024 * 1024)

struct sg_profile sg_profile;

struct key {
	const char *name;
	size_t offset;
	double unit;
	double least, most;
	const char *instead; /* the key whose value it has when it is left out; NULL: it must be there */
};

/* Instead of a key's name: it is 0 when it is left out. */
static const char nothing[] = "";

#define AT(member) offsetof(struct sg_profile, member)
#define KIND(name, kind) \
	{name "_efficiency", AT(kinds[kind].flops), 1, 0.001, 1, NULL}, \
		{name "_half_gflop", AT(kinds[kind].half_flop), 1e9, 0, 1e6, NULL}, \
		{name "_memory_efficiency", AT(kinds[kind].bytes), 1, 0.001, 1, NULL}, \
	{ \
		name "_half_mb", AT(kinds[kind].half_bytes), 1e6, 0, 1e6, NULL \
	}

static const struct key keys[] = {
	{"memory_gib", AT(memory_bytes), GIB, 0.01, 1e5, NULL},
	{"multiprocessors", AT(multiprocessors), 1, 1, 1e5, NULL},
	{"capability_major", AT(capability_major), 1, 1, 99, NULL},
	{"capability_minor", AT(capability_minor), 1, 0, 9, NULL},
	{"memory_bus_bits", AT(memory_bus_bits), 1, 1, 1e5, nothing},
	{"fp32_tflops", AT(peak[SG_COST_F32]), 1e3, 1e-3, 1e6, NULL},
	{"tf32_tflops", AT(peak[SG_COST_TF32]), 1e3, 1e-3, 1e6, "fp32_tflops"},
	{"fp16_tflops", AT(peak[SG_COST_F16]), 1e3, 1e-3, 1e6, "fp32_tflops"},
	{"fp8_tflops", AT(peak[SG_COST_F8]), 1e3, 1e-3, 1e6, "fp16_tflops"},
	{"fp64_tflops", AT(peak[SG_COST_F64]), 1e3, 1e-3, 1e6, NULL},
	{"memory_gb_s", AT(memory_rate), 1, 1e-3, 1e6, NULL},
	{"copy_to_device_gb_s", AT(to_device_rate), 1, 1e-3, 1e6, NULL},
	{"copy_to_host_gb_s", AT(to_host_rate), 1, 1e-3, 1e6, NULL},
	{"pageable_efficiency", AT(pageable_to_device), 1, 0.001, 1, NULL},
	{"pageable_to_host_efficiency", AT(pageable_to_host), 1, 0.001, 1, "pageable_efficiency"},
	{"pageable_latency_us", AT(pageable_latency_ns), 1e3, 0, 1e6, "copy_latency_us"},
	{"copy_latency_us", AT(copy_latency_ns), 1e3, 0, 1e6, NULL},
	{"launch_latency_us", AT(launch_latency_ns), 1e3, 0, 1e6, NULL},
	{"kernel_floor_us", AT(kernel_floor_ns), 1e3, 0, 1e6, NULL},
	{"vector_floor_us", AT(vector_floor_ns), 1e3, 0, 1e6, "kernel_floor_us"},
	{"l2_mb", AT(cache_bytes), 1e6, 0, 1e6, nothing},
	{"l2_gb_s", AT(cache_rate), 1, 1e-3, 1e6, "memory_gb_s"},
	{"thread_mb_s", AT(thread_rate), 1e-3, 0, 1e6, nothing},
	{"multiprocessor_threads", AT(resident_threads), 1, 0, 1e5, nothing},
	{"bytes_per_thread", AT(bytes_per_thread), 1, 0, 1e9, NULL},
	{"gpus_per_node", AT(gpus_per_node), 1, 1, 1e6, NULL},
	{"device_link_latency_us", AT(device_link.latency_ns), 1e3, 0, 1e6, NULL},
	{"device_link_gb_s", AT(device_link.bytes_per_ns), 1, 1e-6, 1e6, NULL},
	{"network_latency_us", AT(network.latency_ns), 1e3, 0, 1e6, NULL},
	{"network_gb_s", AT(network.bytes_per_ns), 1, 1e-6, 1e6, NULL},
	KIND("convolution", SG_COST_CONVOLUTION),
	KIND("depthwise", SG_COST_DEPTHWISE),
	KIND("product", SG_COST_PRODUCT),
	KIND("vector", SG_COST_VECTOR),
};
#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

struct reading {
	struct sg_profile *profile;
	const char *path;
	int line;
	unsigned char seen[KEY_COUNT];
	char *error;
	size_t error_bytes;
};

#define FAIL(reading, ...) \
	fail(reading, \
		snprintf((reading)->error, (reading)->error_bytes, "%s:%d: ", (reading)->path, \
			(reading)->line), \
		__VA_ARGS__)

__attribute__((format(printf, 3, 4))) static int fail(
	struct reading *reading, int used, const char *format, ...)
{
	/* With a point in numbers, as they are to be written. */
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(plain);
	va_list list;

	va_start(list, format);
	if (used >= 0 && (size_t)used < reading->error_bytes)
		vsnprintf(reading->error + used, reading->error_bytes - (size_t)used, format, list);
	va_end(list);
	uselocale(before);
	if (plain != (locale_t)0)
		freelocale(plain);
	return -1;
}

static double *place(struct sg_profile *profile, const struct key *key)
{
	return (double *)(void *)((char *)profile + key->offset);
}

static int find_key(const char *name)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (strcmp(keys[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

static int read_number(struct reading *reading, const char *name, const char *text)
{
	int found = find_key(name);
	const struct key *key = found >= 0 ? &keys[found] : NULL;
	char *end;
	double value;

	if (key == NULL)
		return FAIL(reading, "found '%s', expected the name of a value", name);
	if (reading->seen[found])
		return FAIL(reading, "duplicate '%s'", name);
	value = sg_text_number(text, &end);
	if (end == text || *end != '\0' || !(value >= key->least && value <= key->most))
		return FAIL(reading, "found '%s' for %s, expected a number from %g to %g", text, name,
			key->least, key->most);
	reading->seen[found] = 1;
	*place(reading->profile, key) = value * key->unit;
	return 0;
}

static int read_name(struct reading *reading, const char *text)
{
	char *name = reading->profile->name;

	if (name[0] != '\0')
		return FAIL(reading, "duplicate 'name'");
	if (strlen(text) >= sizeof(reading->profile->name))
		return FAIL(reading, "found a name of %zu bytes, expected fewer than %zu", strlen(text),
			sizeof(reading->profile->name));
	strcpy(name, text);
	return 0;
}

/* A table of its own, named in the profile; its mistakes are its own sentences. */
static int read_curves(struct reading *reading, const char *text, const char *ending)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s%s", text, strchr(text, '/') != NULL ? "" : ending);
	return sg_curves_read(&reading->profile->curves, name, reading->error, reading->error_bytes);
}

static int read_line(struct reading *reading, char *line)
{
	char *name, *value, *end;

	line[strcspn(line, "#")] = '\0';
	name = line + strspn(line, " \t");
	end = name + strlen(name);
	while (end > name && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		*--end = '\0';
	if (*name == '\0')
		return 0;
	value = name + strcspn(name, " \t");
	if (*value == '\0')
		return FAIL(reading, "found '%s' without a value, expected a name and a value", name);
	*value++ = '\0';
	value += strspn(value, " \t");
	if (strcmp(name, "name") == 0)
		return read_name(reading, value);
	if (strcmp(name, "curves") == 0)
		return read_curves(reading, value, ".curves");
	if (strcmp(name, "near") == 0)
		return read_curves(reading, value, ".near");
	return read_number(reading, name, value);
}

/* What was left out has the value of another key, or is missed. */
static int complete(struct reading *reading)
{
	if (reading->profile->name[0] == '\0')
		return FAIL(reading, "found the end, expected a line 'name'");
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (reading->seen[i])
			continue;
		if (keys[i].instead == NULL)
			return FAIL(reading, "found the end, expected a line '%s'", keys[i].name);
		*place(reading->profile, &keys[i]) =
			keys[i].instead == nothing
				? 0
				: *place(reading->profile, &keys[find_key(keys[i].instead)]);
	}
	return 0;
}

static int is_profile(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot != NULL && dot != entry->d_name && strcmp(dot, ".profile") == 0;
}

/* Says which names there are. */
static int refuse_name(const char *path, const char *folder, char *error, size_t error_bytes)
{
	struct dirent **entries;
	int used, count;

	used = snprintf(error, error_bytes, "%s: %s; expected a path with a '/' in it, or one of", path,
		strerror(errno));
	count = scandir(folder, &entries, is_profile, alphasort);
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		if (used >= 0 && (size_t)used < error_bytes)
			used += snprintf(error + used, error_bytes - (size_t)used, " %.*s",
				(int)(strlen(name) - strlen(".profile")), name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return -1;
}

int sg_profile_read(struct sg_profile *profile, const char *name, char *error, size_t error_bytes)
{
	char folder[4000], path[4096], *text, *rest;
	struct reading reading = {profile, path, 0, {0}, error, error_bytes};
	int failed = 0;

	memset(profile, 0, sizeof(*profile));
	profile->scale = 1;
	sg_profiles_folder(folder, sizeof(folder));
	if (strchr(name, '/') != NULL)
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%s/%s.profile", folder, name);
	if (access(path, F_OK) != 0)
		return refuse_name(path, folder, error, error_bytes);
	text = sg_text_read(path, "a device profile", error, error_bytes);
	if (text == NULL)
		return -1;
	rest = text;
	while (!failed && rest != NULL) {
		char *line = strsep(&rest, "\n");

		/* What is after the last line's end is none. */
		reading.line += rest != NULL || *line != '\0';
		failed = read_line(&reading, line);
	}
	if (!failed)
		failed = complete(&reading);
	free(text);
	return failed;
}

void sg_profile_scale(struct sg_profile *profile, double scale)
{
	profile->scale *= scale;
	for (int i = 0; i < SG_COST_TYPES; i++)
		profile->peak[i] /= scale;
	profile->memory_rate /= scale;
	profile->to_device_rate /= scale;
	profile->to_host_rate /= scale;
	profile->copy_latency_ns *= scale;
	profile->pageable_latency_ns *= scale;
	profile->launch_latency_ns *= scale;
	profile->kernel_floor_ns *= scale;
	profile->vector_floor_ns *= scale;
	profile->cache_rate /= scale;
	profile->thread_rate /= scale;
	profile->device_link.latency_ns *= scale;
	profile->device_link.bytes_per_ns /= scale;
	profile->network.latency_ns *= scale;
	profile->network.bytes_per_ns /= scale;
}
