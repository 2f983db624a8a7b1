/* Settings of the stand-ins (SOFTGPU_FAIL, SOFTGPU_THREADS, SOFTGPU_DEVICES, SOFTGPU_MEMORY) and the fault
 * counter. sg.h lists all settings. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULT_LIMIT 32

struct fault {
	const char *name;
	size_t name_length;
	unsigned long failing_call;
	_Atomic unsigned long calls;
};

static struct fault faults[FAULT_LIMIT];
static size_t fault_count;
static int thread_count = 1;
static int device_count = 8;
static size_t memory_bytes; /* 0: not given */

static void read_faults(const char *text)
{
	while (*text != '\0') {
		const char *colon = strchr(text, ':');
		struct fault *fault = &faults[fault_count];
		char *end = NULL;

		if (colon != NULL)
			fault->failing_call = strtoul(colon + 1, &end, 10);
		if (colon == NULL || colon == text || fault->failing_call == 0 ||
			(*end != '\0' && *end != ',') || fault_count == FAULT_LIMIT - 1) {
			fprintf(stderr,
				"softgpu: SOFTGPU_FAIL: found '%s', expected name:k, k from 1, and at most "
				"%d of them separated by commas; no fault is injected\n",
				text, FAULT_LIMIT - 1);
			return;
		}
		fault->name = text;
		fault->name_length = (size_t)(colon - text);
		fault_count++;
		text = *end == ',' ? end + 1 : end;
	}
}

/* A number within limits from the environment, perhaps in K, M or G, else the default. */
static size_t setting(const char *name, size_t least, size_t most, size_t normal)
{
	const char *text = getenv(name), *units = "KkMmGg", *unit;
	unsigned long long value;
	unsigned shift = 0;
	char *end;

	if (text == NULL || *text == '\0')
		return normal;
	value = strtoull(text, &end, 10);
	unit = *end != '\0' ? strchr(units, *end) : NULL;
	if (unit != NULL) {
		shift = 10 * (unsigned)((unit - units) / 2 + 1);
		end++;
	}
	if (*text >= '0' && *text <= '9' && *end == '\0' && value <= most >> shift && value << shift >= least)
		return (size_t)value << shift;
	fprintf(stderr, "softgpu: %s: found '%s', expected a number from %zu to %zu; using the default\n",
		name, text, least, most);
	return normal;
}

/* CUDA_VISIBLE_DEVICES: numbers of devices or UUIDs (GPU-...), up to the first that is none. */
static int visible[SG_DEVICE_LIMIT];
static int machine_device_count;

static int read_device(const char **at)
{
	unsigned long number;
	char *end;

	if (strncmp(*at, "GPU-", 4) == 0) {
		/* the last two digits are the number + 1: sg_device_uuid */
		size_t length = strcspn(*at, ",");

		number = length == 40 ? strtoul(*at + 38, &end, 16) - 1 : SG_DEVICE_LIMIT;
		*at += length;
	} else {
		number = strtoul(*at, &end, 10);
		if (end == *at || (*end != ',' && *end != '\0'))
			return -1;
		*at = end;
	}
	return number < (unsigned long)device_count ? (int)number : -1;
}

static void read_visible(const char *text)
{
	int count = 0;

	machine_device_count = device_count;
	for (int i = 0; i < device_count; i++)
		visible[i] = i;
	if (text == NULL)
		return;
	while (*text != '\0' && count < SG_DEVICE_LIMIT) {
		int device = read_device(&text);

		if (device < 0)
			break;
		visible[count++] = device;
		text += *text == ',';
	}
	device_count = count;
}

int sg_machine_device_count(void)
{
	return machine_device_count;
}

int sg_device_place(int device)
{
	return visible[device];
}

__attribute__((constructor)) static void read_settings(void)
{
	const char *text = getenv("SOFTGPU_FAIL");

	if (text != NULL && *text != '\0')
		read_faults(strdup(text));
	if (fault_count > 0)
		atomic_fetch_or(&sg_attention, SG_FAULTS);
	thread_count = (int)setting("SOFTGPU_THREADS", 1, 1024, 1);
	device_count = (int)setting("SOFTGPU_DEVICES", 1, SG_DEVICE_LIMIT, 8);
	read_visible(getenv("CUDA_VISIBLE_DEVICES"));
	memory_bytes = setting("SOFTGPU_MEMORY", 1, (size_t)1 << 46, 0);
}

int sg_fault(const char *name)
{
	int failing = 0;

	if (SG_UNLIKELY(atomic_load_explicit(&sg_watcher, memory_order_relaxed) != NULL || sg_named))
		sg_self.library_call = name;
	if (SG_LIKELY(fault_count == 0))
		return 0;
	for (size_t i = 0; i < fault_count; i++) {
		struct fault *fault = &faults[i];

		if (strncmp(name, fault->name, fault->name_length) == 0 && name[fault->name_length] == '\0' &&
			atomic_fetch_add(&fault->calls, 1) + 1 == fault->failing_call)
			failing = 1;
	}
	return failing;
}

int sg_threads(void)
{
	return thread_count;
}

int sg_device_count(void)
{
	return device_count;
}

size_t sg_memory_limit(void)
{
	if (memory_bytes != 0)
		return memory_bytes;
	return sg_modelled() && sg_ready() == 0 ? (size_t)sg_profile.memory_bytes : (size_t)8 << 30;
}
