/*
 * What predictions begin with. A network: what its file tells, and what another profiler's does not.
 * Clusters: what a file says in which units, collectives over several links of a node worked out by hand, and
 * the known clusters: each is read, and found by the names that drivers give to its GPUs.
 */
#include "../analyzer/check.h"
#include "strategy/strategy.h"
#include "chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB (1024.0 * 1024 * 1024)

static void check_file(void)
{
	static struct strategy_cluster cluster;
	FILE *out = fopen("test_strategy_input.txt", "w");

	fputs("device A GPU of two words # by its name\n"
	      "workers_per_node 4\nlink_gb_s 100\nlink_latency_us 2\nnetwork_gb_s 10\nnetwork_links 3\n",
		out);
	fclose(out);
	CHECK(strategy_cluster_read(&cluster, "test_strategy_input.txt") == 0, "%s", cluster.error);
	CHECK(near(cluster.network_links, 3) && near(cluster.inside.latency, 2000) &&
			near(cluster.between.bandwidth, 10) && cluster.workers_per_node == 4,
		"%g links, %g ns", cluster.network_links, cluster.inside.latency);
	CHECK(cluster.memory <= 0 && cluster.memory_bandwidth <= 0, "no memory is in the file");
	strategy_cluster_free(&cluster);
	out = fopen("test_strategy_input.txt", "w");
	fputs("link_gb_s 100\nnetwork_links 0.5\n", out);
	fclose(out);
	CHECK(strategy_cluster_read(&cluster, "test_strategy_input.txt") < 0 &&
			strstr(cluster.error, "line 2: unknown setting 'network_links'"),
		"%s", cluster.error);
	strategy_cluster_free(&cluster);
	remove("test_strategy_input.txt");
}

/*
 * Eight workers on two nodes, S = 800 bytes, no latency, 10 bytes a ns on a node, 1 between. The ring is 14
 * S/8 / B: B = 1 with one link, 3 with three, 4 with five, as a node has four workers. Forty links of nodes
 * with forty workers are faster than those on the nodes, so that these count: 158 S/80 / 10. Of workers 3 ...
 * 7 one node has only worker 3, so that one link is used: 8 S/5.
 */
static void check_links(void)
{
	static struct strategy_cluster cluster;

	cluster_init(&cluster, 8, 0, 10);
	cluster.workers_per_node = 4;
	cluster.between.bandwidth = 1;
	cluster.network_links = 1;
	CHECK(near(strategy_all_reduce(&cluster, 0, 8, 800), 1400), "one link");
	cluster.network_links = 3;
	CHECK(near(strategy_all_reduce(&cluster, 0, 8, 800), 1400. / 3), "three links");
	CHECK(near(strategy_ring_half(&cluster, 800), 700. / 3), "three links, half of the ring");
	CHECK(near(strategy_message(&cluster, 3, 4, 800), 800), "a message has one link");
	CHECK(near(strategy_ring_link(&cluster, 0, 8, 3, 2).bandwidth, 10), "on a node");
	cluster.network_links = 5;
	CHECK(near(strategy_all_reduce(&cluster, 0, 8, 800), 350), "more links than workers");
	CHECK(near(strategy_all_reduce(&cluster, 3, 5, 800), 1280), "a worker alone on its node");
	cluster.exceptions = &(struct strategy_exception){7, 0, {0, 2}};
	cluster.exception_count = 1;
	CHECK(near(strategy_ring_half(&cluster, 800), 350), "a link with a line of its own");
	cluster.exception_count = 0;
	cluster.workers = 80;
	cluster.workers_per_node = 40;
	cluster.network_links = 40;
	CHECK(near(strategy_all_reduce(&cluster, 0, 80, 800), 158), "no faster than on a node");
}

static void check_known(void)
{
	static const struct {
		const char *device, *cluster;
	} known[] = {
		{"Tesla V100-SXM2-16GB", "dgx-1"},
		{"NVIDIA A100-SXM4-40GB", "dgx-a100"},
		{"NVIDIA A100-SXM4-80GB", "dgx-a100"},
		{"NVIDIA A100 80GB PCIe", "pcie4"},
		{"NVIDIA A10", "pcie4"},
		{"NVIDIA H100 80GB HBM3", "dgx-h100"},
		{"NVIDIA H100 PCIe", "pcie5"},
		{"NVIDIA H200", "dgx-h100"},
		{"NVIDIA H200 NVL", "pcie5"},
		{"NVIDIA GeForce RTX 2080 Ti", "pcie3"},
		{"NVIDIA A100-SXM4-40GB MIG 1g.5gb", NULL},
		{"NVIDIA A1000 Laptop GPU", NULL},
		{"", NULL},
	};
	static struct strategy_cluster cluster;
	char *names = strategy_known_clusters(), *rest = names, *name;
	size_t count = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char *found = strategy_known_cluster(known[i].device);

		CHECK(found && known[i].cluster ? strcmp(found, known[i].cluster) == 0
						: !found && !known[i].cluster,
			"%s: %s", known[i].device, found ? found : "none");
		free(found);
	}
	while ((name = strsep(&rest, ", "))) {
		if (!*name)
			continue;
		count++;
		CHECK(strategy_cluster_read(&cluster, name) == 0, "%s", cluster.error);
		CHECK(cluster.inside.bandwidth >= cluster.between.bandwidth && cluster.network_links >= 1,
			"%s", name);
		strategy_cluster_free(&cluster);
	}
	CHECK(count >= 7, "%zu known clusters", count);
	free(names);
}

/* What a file lacks is the measured GPU's; what it has stays. */
static void check_complete(void)
{
	static struct strategy_cluster cluster;
	struct strategy_net net = {.device = {.memory = 16 * GIB, .bandwidth = 900}};

	cluster_init(&cluster, 2, 1, 1);
	strategy_cluster_complete(&cluster, &net);
	CHECK(near(cluster.memory, 16 * GIB) && cluster.memory_is_devices, "the GPU's memory");
	CHECK(near(cluster.memory_bandwidth, 720), "%g", cluster.memory_bandwidth);
	cluster.memory = 8 * GIB;
	cluster.memory_bandwidth = 500;
	cluster.memory_is_devices = false;
	strategy_cluster_complete(&cluster, &net);
	CHECK(near(cluster.memory, 8 * GIB) && !cluster.memory_is_devices, "the file's memory");
	CHECK(near(cluster.memory_bandwidth, 500), "%g", cluster.memory_bandwidth);
}

/* Rings of four workers: 6 (L + S/(4B)), L = 5 ns, B = 2 bytes a ns. */
static void check_link_fit(void)
{
	struct strategy_transfer transfers[] = {{800, 630, 3}, {80, 90, 40}, {8000, 6030, 1}};
	struct strategy_link link = {7, 1}, before = link;

	CHECK(strategy_link_fit(transfers, 3, 4, &link) == 0 && near(link.latency, 5) &&
			near(link.bandwidth, 2),
		"%g ns, %g", link.latency, link.bandwidth);
	/* one size does not tell the latency: 630 = 6 (7 + 200/B) */
	link = before;
	CHECK(strategy_link_fit(transfers, 1, 4, &link) == 0 && near(link.latency, 7) &&
			near(link.bandwidth, 200 / 98.),
		"%g ns, %g", link.latency, link.bandwidth);
	/* nor do two whose line begins below 0 */
	link = before;
	CHECK(strategy_link_fit((struct strategy_transfer[]){{800, 500, 1}, {8000, 6000, 1}}, 2, 4, &link) ==
				0 &&
			near(link.latency, 7) && link.bandwidth > 2 && link.bandwidth < 2.7,
		"%g ns, %g", link.latency, link.bandwidth);
	/* nor do sizes that take less than the latency */
	link.latency = 1e6;
	CHECK(strategy_link_fit(transfers, 1, 4, &link) == 0 && link.latency <= 0 &&
			near(link.bandwidth, 200 / 105.),
		"%g ns, %g", link.latency, link.bandwidth);
	link = before;
	CHECK(strategy_link_fit(transfers, 0, 4, &link) < 0 && near(link.latency, 7),
		"nothing was transferred");
	CHECK(strategy_link_fit(transfers, 3, 1, &link) < 0, "one worker");
}

static int read_net(struct strategy_net *net, const char *recorder, const char *parameters)
{
	const char *path = "test_strategy_net.json";
	FILE *out = fopen(path, "w");
	int status;

	fprintf(out,
		"{\"recorder\": \"%s\", \"device\": {\"name\": \"A GPU\", \"memory_bytes\": 1e9, "
		"\"bytes_per_second\": 5e11}, \"samples\": 4, \"layers\": ["
		"{\"layer\": \"conv1\", \"kind\": \"conv1\", \"sizes\": \"3x3x3->8\", \"input\": \"4x3x10x10\", "
		"\"parameters\": %s, \"forward_ns\": 1, \"backward_ns\": 2, \"update_ns\": 0},"
		"{\"layer\": \"conv2\", \"kind\": \"conv2\", \"sizes\": \"1x1x8->2 s1 p0\", \"input\": \"4x8x5x5\", "
		"\"parameters\": 16, \"forward_ns\": 1, \"backward_ns\": 2, \"update_ns\": 0}]}",
		recorder, parameters);
	fclose(out);
	status = strategy_net_read(net, &path, 1);
	remove(path);
	return status;
}

/* The first convolution moves by 2: its text lacks that, but the second takes in 8 x 5 x 5 numbers of 4
 * bytes. */
static void check_net(void)
{
	struct strategy_net net;

	CHECK(read_net(&net, "kineto", "216") == 0, "%s", net.error);
	CHECK(net.is_torch && !net.is_batch_unknown && near(net.batches[0], 4), "Kineto's are PyTorch's");
	CHECK(near(net.layers[0].output_bytes, 800), "%g", net.layers[0].output_bytes);
	CHECK(near(net.layers[1].output_bytes, 200), "%g", net.layers[1].output_bytes);
	CHECK(strcmp(net.device.name, "A GPU") == 0 && near(net.device.memory, 1e9) &&
			near(net.device.bandwidth, 500),
		"%s, %g bytes, %g", net.device.name, net.device.memory, net.device.bandwidth);
	strategy_net_free(&net);
	CHECK(read_net(&net, "pmhook", "216") == 0 && !net.is_torch, "no call sites in libtorch");
	strategy_net_free(&net);
	CHECK(read_net(&net, "kineto", "null") < 0 && strstr(net.error, "layer conv1 has is not known"), "%s",
		net.error);
	strategy_net_free(&net);
}

int main(void)
{
	check_net();
	check_link_fit();
	check_file();
	check_links();
	check_known();
	check_complete();
	return check_end();
}
