/* A trace with a little of everything: see odd_trace.h. */
#include "odd_trace.h"

void odd_trace(struct builder *builder)
{
	const struct pm_graph_node nodes[] = {{1, 2}, {2, 1}, {99, 1}, {1, 0}};
	uint32_t work, copy, launch, kernel, queue, graph, reduce, own;
	uint64_t now_ns = 1000000;

	builder_init(builder);
	builder->header.device_source = PM_DEVICE_CUPTI;
	builder->header.worker_count = 2;
	builder->header.worker_ns = 3000;
	builder->header.worker_reads = 40;
	builder->header.worker_bytes = 4096;
	builder->footer.own_ns = 5000;
	builder->footer.new_ns = 700;
	builder->footer.unseen_calls = 1;
	queue = builder_queue(builder, 0, 0x10);
	work = builder_operation(builder,
		builder_function(
			builder, "cublas COMPUTE cublasSgemm_v2 int:m int:n int:k reads:a_ptr writes:c_ptr"),
		0, (const uint64_t[]){4, 4, 4, 0x1000, 0x2000});
	copy = builder_operation(builder,
		builder_function(builder,
			"cudart COPY cudaMemcpyAsync writes:dst reads:src bytes:bytes direction:dir"),
		0, (const uint64_t[]){0x1000, 0x10, 64, 1});
	graph = builder_graph(builder, nodes, 4);
	launch = builder_operation(builder,
		builder_function(builder, "cudart GRAPH cudaGraphLaunch graph:graph"), 0,
		(const uint64_t[]){graph});
	kernel = builder_operation(builder, builder_function(builder, "cupti LAUNCH kernel string:name"), 0,
		(const uint64_t[]){builder_string(builder, "gemm_kernel")});
	reduce = builder_operation(builder,
		builder_function(builder,
			"nccl COMM ncclAllReduce reads:send writes:recv bytes:bytes communicator:comm"),
		0, (const uint64_t[]){0x2000, 0x2000, 64, builder_communicator(builder, 0, 2, 0, 0xfeed)});
	own = builder_operation(builder,
		builder_function(builder, "cudart LAUNCH cudaLaunchKernel string:kernel int:grid_x"), 0,
		(const uint64_t[]){builder_string(builder, "own_kernel"), 7});
	builder_module(builder, work, "net.fc");
	builder_addresses(builder, (const uint64_t[]){0x1000, 0x2000}, 2);
	builder_addresses(builder, (const uint64_t[]){0x3000, 0x4000, 0x5000}, 3);
	builder_address_module(builder, 2, "net.conv1");
	builder_address_module(builder, 77, "of no address");
	builder_window(builder, true, 1, now_ns);
	for (int i = 0; i < 6; i++) {
		struct builder_record record = {.begin = now_ns + 600,
			.end = now_ns + 800,
			.op = launch,
			.queue = (uint16_t)queue,
			.kind = PM_RECORD_CALL};

		builder_call(builder, 1, now_ns, now_ns + 500, copy, queue, 0, now_ns + 700, now_ns + 900);
		record.correlation = ++builder->correlation;
		builder_record(builder, 1, &record);
		builder_call(
			builder, 1, now_ns + 900, now_ns + 950, work, queue, 0, now_ns + 5000, now_ns + 5100);
		record.kind = PM_RECORD_DEVICE;
		record.flags = PM_FLAG_ACTIVITY;
		record.op = kernel;
		for (uint32_t node = 1; node <= 4; node++) {
			record.begin = now_ns + 1000 + 100 * node;
			record.end = record.begin + 50;
			record.sequence = i % 2 ? node : 0;
			builder_record(builder, 1, &record);
		}
		record = (struct builder_record){.begin = now_ns + 5200,
			.end = now_ns + 5250,
			.op = reduce,
			.queue = (uint16_t)queue,
			.kind = PM_RECORD_CALL,
			.flags = PM_FLAG_GROUP,
			.sequence = (uint32_t)i + 1,
			.group = (uint8_t)(i + 1),
			.correlation = ++builder->correlation};
		builder_record(builder, 1, &record);
		/* addresses 1 to 3 in words 0 to 2, then from word 200 on: 5, 1, and 13 times 2; and there is
		 * more */
		record = (struct builder_record){.begin = now_ns + 5300,
			.end = now_ns + 5350,
			.op = own,
			.queue = (uint16_t)queue,
			.kind = PM_RECORD_CALL,
			.flags = PM_FLAG_TOUCHES,
			.packed_count = 20,
			.packed = {1 << 3, 2 << 2 | 1, 0x80 | (197 << 2 & 127) | 2, 197 << 2 >> 7, 2 << 3,
				(2 * 4 - 1) << 2, 1 << 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}};
		builder_record(builder, 1, &record);
		now_ns += 6000 + (i == 2 ? 1ull << 33 : 0);
	}
	builder_window(builder, false, 6, now_ns);
	builder_finish(builder);
}
