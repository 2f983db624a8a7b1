/* Checks the reading of Nsight Systems exports: made databases with the columns of several versions. */
#include "imported_make.h"

#include <sqlite3.h>

static void make_base(const char *path, const char *statements)
{
	sqlite3 *base;
	char *error = NULL;

	unlink(path);
	if (sqlite3_open(path, &base) != SQLITE_OK ||
		sqlite3_exec(base, statements, NULL, NULL, &error) != SQLITE_OK) {
		printf("%s: %s\n", path, error ? error : sqlite3_errmsg(base));
		exit(1);
	}
	sqlite3_close(base);
}

/* Process 144 (0x90) is on GPU 1, 145 on GPU 0; both use correlation 7. */
static const char recent[] =
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
	"INSERT INTO StringIds VALUES (1000000, 'void gemm<float>(int)'), (5, 'gemm'), (6, "
	"'ncclDevKernel_SendRecv(x)'), (8, 'cudaLaunchKernel'), (9, 'step');"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
	"correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 1, 7, 7, 0x1000090000000, 1000000, 5), "
	"(150, 300, 0, 13, 7, 0x1000091000000, 6, 6);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
	"correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 1, 7, 1, 0x1000090000000, 4, 1), "
	"(30, 40, 1, 7, 2, 0x1000090000000, 4, 99);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
	"correlationId INTEGER, globalPid INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (50, 45, 1, 7, 3, 0x1000090000000);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId "
	"INTEGER, nameId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (90, 95, 0x1000090000011, 7, 8), (140, 145, 0x1000091000012, "
	"7, 8), (1, 2, 0x1000090000011, 55, 8);"
	"CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, "
	"textId INTEGER);"
	"INSERT INTO NVTX_EVENTS VALUES (5, 500, 59, 'forward', 0x1000090000011, NULL), (6, 60, 60, NULL, "
	"0x1000090000011, 9), (7, NULL, 34, 'mark', 0x1000090000011, NULL), (8, 9, 75, 'domain', 0, NULL);"
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
	"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779782330176752435);";

static void check_recent(const char *path)
{
	const int64_t base_ns = 1779782330176752435;
	static const struct {
		int64_t begin_ns, end_ns;
		const char *name;
		int device, stream;
		int64_t call_ns; /* -1: none */
		enum imported_kind kind;
		enum imported_activity activity;
	} expected[] = {{10, 20, "Memcpy HtoD", 1, 7, -1, IMPORTED_MEMORY, IMPORTED_COPY},
		{30, 40, "Memcpy", 1, 7, -1, IMPORTED_MEMORY, IMPORTED_COPY},
		{50, 50, "Memset", 1, 7, -1, IMPORTED_MEMORY, IMPORTED_SET},
		{100, 200, "void gemm<float>(int)", 1, 7, 90, IMPORTED_COMPUTE, IMPORTED_KERNEL},
		{150, 300, "ncclDevKernel_SendRecv(x)", 0, 13, 140, IMPORTED_COMMUNICATION, IMPORTED_KERNEL}};
	struct imported imported;
	const struct imported_events *events = &imported.events;

	CHECK(imported_read(&imported, path, IMPORTED_WANT_LABELS) == 0 && !imported.trouble, "%s",
		imported.trouble);
	CHECK(imported.format == IMPORTED_NSYS && imported.backward == 1, "backward");
	CHECK(events->count == 5 && imported.calls.count == 2 && imported.spans.count == 2, "%zu %zu %zu",
		events->count, imported.calls.count, imported.spans.count);
	for (size_t i = 0; i < 5 && events->count == 5; i++) {
		const struct imported_queue *queue = &imported.queues[events->queue[i]];
		uint32_t call = events->call[i];

		CHECK(events->begin_ns[i] == base_ns + expected[i].begin_ns &&
				events->end_ns[i] == base_ns + expected[i].end_ns,
			"%s: times", expected[i].name);
		CHECK(strcmp(imported.strings.items[events->name[i]], expected[i].name) == 0,
			"%s, expected %s", imported.strings.items[events->name[i]], expected[i].name);
		CHECK(queue->device == expected[i].device && queue->stream == expected[i].stream, "%s: queue",
			expected[i].name);
		CHECK(imported.workers[queue->worker].device == queue->device, "%s: worker",
			expected[i].name);
		CHECK(call == IMPORTED_NONE ? expected[i].call_ns == -1
					    : imported.calls.begin_ns[call] == base_ns + expected[i].call_ns,
			"%s: call", expected[i].name);
		CHECK(events->kind[i] == expected[i].kind && events->activity[i] == expected[i].activity,
			"%s: kind", expected[i].name);
	}
	CHECK(imported.worker_count == 2 && imported.workers[0].device == 0 &&
			imported.workers[0].process == 0x91,
		"workers by device");
	CHECK(strcmp(imported.strings.items[imported.spans.name[0]], "forward") == 0 &&
			strcmp(imported.strings.items[imported.spans.name[1]], "step") == 0,
		"ranges");
	imported_free(&imported);
}

static void check_packed(const char *path)
{
	static char bytes[1 << 20];
	FILE *file = fopen(path, "rb");
	size_t length = fread(bytes, 1, sizeof(bytes), file);
	static char packed[256];

	fclose(file);
	strcpy(packed, make_path("recent.sqlite.gz"));
	make_packed(packed, bytes, length, 1);
	check_recent(packed);
	unlink(packed);
}

/* Names under another column, no process, calls of the driver only, and no strings at all. */
static void check_old(void)
{
	struct imported imported;
	static char path[256];

	strcpy(path, make_path("old.sqlite"));
	make_base(path,
		"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (3, 'k');"
		"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, shortName);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 0, 4, 3), (30, 40, 0, 0, 5, 77);"
		"CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER (start, end, correlationId, nameId);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER VALUES (5, 6, 4, 3);"
		"CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, streamId, correlationId, globalPid);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (50, 60, 0, 0, 9, NULL)");
	CHECK(imported_read(&imported, path, 0) == 0 && !imported.trouble, "%s", imported.trouble);
	CHECK(imported.events.count == 3 && imported.worker_count == 1, "%zu", imported.events.count);
	if (imported.events.count == 3) {
		CHECK(strcmp(imported.strings.items[imported.events.name[0]], "k") == 0, "short name");
		CHECK(imported.events.call[0] == 0 && imported.events.begin_ns[0] == 10, "driver call");
		CHECK(imported.events.name[1] == 0, "a string that is missing");
		CHECK(strcmp(imported.strings.items[imported.events.name[2]], "CUDA graph") == 0, "graph");
	}
	imported_free(&imported);
	make_base(path, "CREATE TABLE something (a)");
	CHECK(imported_read(&imported, path, 0) == -1 && strstr(imported.trouble, "expected an export"), "%s",
		imported.trouble);
	imported_free(&imported);
	unlink(path);
}

/* Cut at any page and odd bytes: an answer or a sentence. */
static void check_hostile(const char *path)
{
	static char bytes[1 << 20], odd[1 << 20];
	FILE *file = fopen(path, "rb");
	size_t length = fread(bytes, 1, sizeof(bytes), file);
	uint32_t random = 7;
	struct imported imported;

	fclose(file);
	for (size_t cut = 16; cut < length; cut += 1000) {
		int status = make_read_bytes(&imported, "cut.sqlite", bytes, cut, ~0u);

		CHECK(imported.trouble || status == 0, "cut at %zu", cut);
		imported_free(&imported);
	}
	for (int i = 0; i < 500; i++) {
		memcpy(odd, bytes, length);
		for (int j = 0; j < 20; j++) {
			random = random * 1664525 + 1013904223;
			odd[16 + (random >> 8) % (length - 16)] = (char)(random >> 3);
		}
		make_read_bytes(&imported, "odd.sqlite", odd, length, ~0u);
		imported_free(&imported);
	}
}

int main(void)
{
	static char path[256];

	make_begin();
	strcpy(path, make_path("recent.sqlite"));
	make_base(path, recent);
	check_recent(path);
	check_packed(path);
	check_hostile(path);
	unlink(path);
	check_old();
	make_end();
	return check_end();
}
