/* See labelled_job.h. */
#include "labelled_job.h"

#include <math.h>
#include <string.h>

void labelled_job_init(struct labelled_job *job, int stages, int data, int batches)
{
	memset(job, 0, sizeof(*job));
	job->stages = stages;
	job->data = data;
	job->batches = batches;
	job->steps = LABELLED_STEPS;
	job->forward = 100;
	job->backward = 200;
	for (int i = 0; i < LABELLED_STEPS * LABELLED_STAGES * LABELLED_DATA * LABELLED_BATCHES * 2; i++)
		(&job->factor[0][0][0][0][0])[i] = 1;
	for (int i = 0; i < LABELLED_STAGES * LABELLED_DATA; i++)
		(&job->link[0][0])[i] = 1;
}

static const char *spelling(const struct labelled_job *job, const char *name)
{
	static const char *const others[][2] = {{"forward-compute", "forward"},
		{"backward-compute", "bwd_step"}, {"forward-send", "send_forward"},
		{"forward-recv", "recv-forward"}, {"backward-send", "send backward"},
		{"backward-recv", "RECV_BACKWARD"}, {"grads-reduce-scatter", "allreduce"},
		{"optimizer", "optimizer-step"}};

	for (size_t i = 0; job->style == PAIRS && i < sizeof(others) / sizeof(*others); i++)
		if (strcmp(others[i][0], name) == 0)
			return others[i][1];
	return name;
}

void labelled_job_put(struct labelled_job *job, const char *name, int step, int stage, int data, int batch,
	int chunk, double begin, double end)
{
	FILE *out = job->out;
	char place[128] = "", number[32] = "";
	int process = job->style == RANKS ? stage * job->data + data : data, thread = stage;

	if ((job->style == COMPUTING && strstr(name, "recv")) ||
		((job->style == COMPUTING || job->style == RECEIVES) && strstr(name, "send")))
		return;
	if (job->style == PAIRS)
		snprintf(place, sizeof(place), "\"dp_rk\":%d,\"pp_rk\":\"%d\",", data, stage);
	if (job->style == TENSOR)
		snprintf(place, sizeof(place), "\"dp_rank\":%d,\"tp_rank\":%d,\"stage\":%d,", data / 2,
			data % 2, stage);
	if (job->style != STEPLESS)
		snprintf(number, sizeof(number), "\"%s\":%d,", job->style == PAIRS ? "iteration" : "step",
			10 + 3 * step);
	fprintf(out, "%s\n{\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,", job->comma ? "," : "",
		spelling(job, name), process, thread, begin + job->now);
	job->comma = true;
	if (job->style == PAIRS)
		fprintf(out,
			"\"ph\":\"B\",\"args\":{}},\n{\"name\":\"\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,"
			"\"ph\":\"E\",",
			process, thread, end + job->now);
	else
		fprintf(out, "\"ph\":\"X\",\"dur\":%.3f,", end - begin);
	fprintf(out, "\"args\":{%s%s\"mb_id\":%d,\"model_chunk\":%d}}", place, number, batch, chunk);
}

void labelled_job_put_names(struct labelled_job *job)
{
	for (int data = 0;
		job->style != RANKS && job->style != PAIRS && job->style != TENSOR && data < job->data;
		data++)
		for (int stage = 0; stage < job->stages; stage++) {
			fprintf(job->out,
				"%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{"
				"\"name\":\"PP rank %d\"}}",
				job->comma ? "," : "", data, stage, stage);
			fprintf(job->out,
				",{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"DP "
				"rank [%d]\"}}",
				data, data);
			job->comma = true;
		}
}

/* The i-th computing of a stage in 1F1B: micro-batch, and whether it is backward. */
static int order(const struct labelled_job *job, int stage, int i, bool *back)
{
	int warm = job->stages - 1 - stage, count = job->batches;

	warm = warm < count ? warm : count;
	*back = i >= warm && (i >= 2 * count - warm || (i - warm) % 2 == 1);
	if (i < warm)
		return i;
	if (i >= 2 * count - warm)
		return i - count;
	return *back ? (i - warm) / 2 : warm + (i - warm) / 2;
}

/* A pipeline: each computing begins when the one before and its input have come. Sets when each stage ends.
 */
static void schedule(struct labelled_job *job, int step, int data, double computed[LABELLED_STAGES])
{
	double end[LABELLED_STAGES][2 * LABELLED_BATCHES], done[LABELLED_STAGES][LABELLED_BATCHES][2];
	int next[LABELLED_STAGES] = {0};

	memset(done, 0, sizeof(done));
	for (int left = job->stages * 2 * job->batches; left > 0;)
		for (int stage = 0; stage < job->stages; stage++) {
			bool back, fed;
			int batch, from;
			double begin = next[stage] ? end[stage][next[stage] - 1] : data * job->late, work;

			if (next[stage] == 2 * job->batches)
				continue;
			batch = order(job, stage, next[stage], &back);
			from = back ? stage + 1 : stage - 1;
			fed = from >= 0 && from < job->stages;
			work = (back ? job->backward : job->forward) *
			       job->factor[step][stage][data][batch][back];
			if ((fed && done[from][batch][back] == 0) ||
				(back && !fed && done[stage][batch][0] == 0))
				continue;
			if (fed) {
				double moved = job->message * (back ? 1 : job->link[from][data]);
				double ready = done[from][batch][back];

				labelled_job_put(job, back ? "backward-send" : "forward-send", step, from,
					data, batch, 0, ready, ready + moved);
				labelled_job_put(job, back ? "backward-recv" : "forward-recv", step, stage,
					data, batch, 0, ready, ready + moved);
				begin = fmax(begin, ready + moved);
			}
			labelled_job_put(job, back ? "backward-compute" : "forward-compute", step, stage,
				data, batch, 0, begin, begin + work);
			done[stage][batch][back] = end[stage][next[stage]++] = begin + work;
			left--;
		}
	for (int stage = 0; stage < job->stages; stage++)
		computed[stage] = end[stage][2 * job->batches - 1];
}

void labelled_job_put_step(struct labelled_job *job, int step)
{
	double computed[LABELLED_DATA][LABELLED_STAGES], latest[LABELLED_STAGES] = {0}, end = 0;

	for (int data = 0; data < job->data; data++)
		schedule(job, step, data, computed[data]);
	for (int data = 0; data < job->data; data++)
		for (int stage = 0; stage < job->stages; stage++) {
			double pause = job->collection[step][stage][data], at = computed[data][stage];

			labelled_job_put(job, "gc", step, stage, data, -1, -1, at, at + pause);
			computed[data][stage] += pause;
			latest[stage] = fmax(latest[stage], at + pause);
		}
	for (int data = 0; data < job->data; data++)
		for (int stage = 0; stage < job->stages; stage++) {
			double at = job->reduce > 0 ? latest[stage] + job->reduce : computed[data][stage];

			if (job->reduce > 0)
				labelled_job_put(job, "grads-reduce-scatter", step, stage, data, -1, -1,
					computed[data][stage], at);
			labelled_job_put(job, "optimizer", step, stage, data, -1, -1, at, at + job->update);
			end = fmax(end, at + job->update);
		}
	job->now += end + 1000;
}
