/* Checks which work a device has not finished, as far as a trace says: by device times, and by the host's
 * waits. */
#include "analyses/hang/hang_private.h"
#include "check.h"
#include "trace/standing.h"
#include "trace_builder.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

static struct builder builder;
static uint32_t kernel, other, graph, stream_wait, device_wait, query, queue, second;
static uint64_t now_ns;

static uint32_t operation(const char *function)
{
	return builder_operation(&builder, builder_function(&builder, function), 0, (const uint64_t[]){1});
}

static void begin(int32_t second_device)
{
	builder_init(&builder);
	builder.header.device_source = PM_DEVICE_CUPTI;
	kernel = operation("cudart LAUNCH cudaLaunchKernel int:a");
	other = operation("cudart SET cudaMemset int:a");
	graph = operation("cudart GRAPH cudaGraphLaunch int:a");
	stream_wait = operation("cudart SYNC cudaStreamSynchronize int:a");
	device_wait = operation("cudart SYNC cudaDeviceSynchronize int:a");
	query = operation("cudart SYNC cudaStreamQuery int:a");
	queue = builder_queue(&builder, 0, 0);
	second = builder_queue(&builder, second_device, 7);
	now_ns = 10000;
}

/* A call that gives a device work, with so many device times. */
static void work(uint32_t op, uint32_t its_queue, unsigned device_count)
{
	const uint32_t correlation = ++builder.correlation;

	now_ns += 100;
	builder_record(&builder, 1,
		&(struct builder_record){.begin = now_ns,
			.end = now_ns + 10,
			.op = op,
			.queue = (uint16_t)its_queue,
			.kind = PM_RECORD_CALL,
			.correlation = correlation});
	for (unsigned i = 0; i < device_count; i++)
		builder_record(&builder, 2,
			&(struct builder_record){.begin = now_ns + i,
				.end = now_ns + i + 1,
				.op = op,
				.queue = (uint16_t)its_queue,
				.kind = PM_RECORD_DEVICE,
				.flags = PM_FLAG_ACTIVITY,
				.correlation = correlation});
}

static void wait_for(uint32_t op, uint32_t its_queue, int32_t result)
{
	now_ns += 100;
	builder_call(&builder, 1, now_ns, now_ns + 50, op, its_queue, result, 0, 0);
}

static void check(const char *name, uint32_t expected)
{
	struct standing_work found;
	struct trace trace;

	builder.killed = true;
	builder_finish(&builder);
	if (trace_parse(&trace, name, builder.file.data, builder.file.size) < 0)
		errx(1, "%s", trace.error);
	standing_unfinished(&trace, &found);
	CHECK(found.op == expected, "%s: operation %u is not finished, expected %u", name, found.op,
		expected);
	trace_close(&trace);
	builder_free(&builder);
}

/* A launch is named by its kernel, in words for a report. */
static void check_words(void)
{
	struct arena arena = {0};
	struct trace trace;
	const char *text;

	begin(0);
	kernel = builder_operation(&builder,
		builder_function(&builder, "cudart LAUNCH cudaLaunchKernel string:kernel int:grid_x"), 0,
		(const uint64_t[]){builder_string(&builder, "_ZN2at6native4spinEPf"), 3});
	builder_finish(&builder);
	if (trace_parse(&trace, "words", builder.file.data, builder.file.size) < 0)
		errx(1, "%s", trace.error);
	text = hang_operation(&arena, &trace, kernel);
	CHECK(strcmp(text, "cudaLaunchKernel of spin") == 0, "it is %s", text);
	text = hang_operation(&arena, &trace, other);
	CHECK(strcmp(text, "cudaMemset a=1") == 0, "it is %s", text);
	arena_free(&arena);
	trace_close(&trace);
	builder_free(&builder);
}

int main(void)
{
	check_words();

	begin(0);
	work(other, queue, 1);
	work(kernel, queue, 0);
	check("times", kernel);

	begin(0);
	work(kernel, queue, 0);
	work(other, queue, 1);
	check("a later work is done", 0);

	/* the times of what is done have not come either */
	begin(0);
	work(other, queue, 0);
	wait_for(device_wait, 0, 0);
	work(kernel, second, 0);
	check("waited for the device", kernel);

	begin(0);
	work(other, queue, 0);
	wait_for(stream_wait, queue, 0);
	work(kernel, queue, 0);
	check("waited for the stream", kernel);

	begin(0);
	work(other, queue, 0);
	wait_for(stream_wait, second, 0);
	work(kernel, second, 0);
	check("waited for another stream", other);

	begin(0);
	work(other, queue, 0);
	wait_for(query, queue, 0);
	wait_for(stream_wait, queue, 700);
	work(kernel, queue, 0);
	check("asked, and failed to wait", other);

	begin(1);
	work(other, queue, 0);
	wait_for(device_wait, 0, 0);
	work(kernel, second, 0);
	check("waited for one device of two", other);

	begin(0);
	work(graph, queue, 3);
	work(graph, queue, 3);
	work(graph, queue, 1);
	work(kernel, queue, 0);
	check("some nodes of a graph", graph);

	begin(0);
	work(graph, queue, 3);
	work(graph, queue, 3);
	check("all nodes of a graph", 0);
	return check_end();
}
