/*
 * Plans as text, which XLA makes of attention's when it compiles and makes plans of again when it runs.
 *
 * The one idea: the text is a number under which the process keeps the plan's engine for as long as it lives.
 * In another process it means nothing, which is said.
 */
#include "backend.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT "{\"softgpu\": {\"process\": %ld, \"plan\": %d}}"
#define TEXT_MAX 80

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sg_body **configs; /* each a reference */
static int config_count;

/* The number of a plan's engine, or -1: out of memory. With the lock held. */
static int keep_config(struct sg_body *config)
{
	struct sg_body **more;

	for (int i = 0; i < config_count; i++) {
		if (configs[i] == config)
			return i;
	}
	more = realloc(configs, ((size_t)config_count + 1) * sizeof(struct sg_body *));
	if (more == NULL)
		return -1;
	configs = more;
	configs[config_count] = sg_body_keep(config);
	return config_count++;
}

cudnnStatus_t sg_plan_write(struct sg_body *plan)
{
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
	char text[TEXT_MAX];
	int number;

	pthread_mutex_lock(&lock);
	if (plan->value[SG_PLAN_TEXT].count == 0) {
		number = keep_config(sg_body_at(plan, SG_PLAN_CONFIG, 0));
		status = CUDNN_STATUS_ALLOC_FAILED;
		if (number >= 0) {
			snprintf(text, sizeof(text), FORMAT, (long)getpid(), number);
			status = sg_body_put(plan, SG_PLAN_TEXT, (int64_t)strlen(text), text);
		}
	}
	pthread_mutex_unlock(&lock);
	return status;
}

cudnnStatus_t sg_plan_read(struct sg_body *plan)
{
	const struct sg_value *value = &plan->value[SG_PLAN_TEXT];
	char text[TEXT_MAX] = "";
	struct sg_body *config = NULL;
	long process;
	int number;

	if (value->count < TEXT_MAX)
		memcpy(text, value->elements, (size_t)value->count);
	if (sscanf(text, FORMAT, &process, &number) != 2)
		return CUDNN_STATUS_BAD_PARAM;
	pthread_mutex_lock(&lock);
	if (process == (long)getpid() && number >= 0 && number < config_count)
		config = configs[number];
	pthread_mutex_unlock(&lock);
	return config == NULL ? CUDNN_STATUS_NOT_SUPPORTED : sg_body_put(plan, SG_PLAN_CONFIG, 1, &config);
}
