/* What a file that is no trace looks like, by its first bytes: formats that people have beside their traces.
 */
#include "importer.h"

#include <string.h>

#define IS(text) sizeof(text) - 1, text

static const struct {
	size_t place, length;
	const char *bytes, *clause;
} known[] = {
	{0,
		IS("\x7f"
		   "ELF"),
		"an ELF program or library"},
	{0, IS("PK\3\4"), "a ZIP archive (as torch.save writes): unpack it if traces are in it"},
	{257, IS("ustar"), "a tar archive: unpack it"},
	{0, IS("\x28\xb5\x2f\xfd"), "packed by zstd: unpack it (zstd -d)"},
	{0,
		IS("\xfd"
		   "7zXZ"),
		"packed by xz: unpack it (xz -d)"},
	{0, IS("BZh"), "packed by bzip2: unpack it (bzip2 -d)"},
	{0, IS("NVR\0"), "a report of Nsight Compute (its kernels have no place in a run)"},
	{0, IS("PAR1"), "a Parquet file: export as SQLite (nsys export --type sqlite)"},
	{0, IS("\x89HDF"), "an HDF5 file: export as SQLite (nsys export --type sqlite)"},
	{0, IS("ARROW1"), "an Arrow file: export as SQLite (nsys export --type sqlite)"},
	{0, IS("\x89PNG"), "a picture"},
	{0, IS("%PDF"), "a PDF document"},
	{0, IS("<!DOCTYPE html"), "an HTML page"},
	{0, IS("<html"), "an HTML page"},
	{0, IS("PERFFILE2"), "a recording of perf"},
};

static bool ends_in(const char *path, const char *suffix)
{
	size_t length = strlen(path), bytes = strlen(suffix);

	return length >= bytes && strcmp(path + length - bytes, suffix) == 0;
}

static bool is_text(const struct importer_head *head)
{
	size_t length = head->length < 512 ? head->length : 512;

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)head->bytes[i] < ' ' && !strchr("\t\n\r", head->bytes[i]))
			return false;
	return true;
}

const char *importer_looks_like(const struct importer_head *head)
{
	if (head->length == 0)
		return "an empty file";
	if (ends_in(head->path, ".nsys-rep") || ends_in(head->path, ".qdrep"))
		return "a report of Nsight Systems: export it first (nsys export --type sqlite)";
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (head->length >= known[i].place + known[i].length &&
			memcmp(head->bytes + known[i].place, known[i].bytes, known[i].length) == 0)
			return known[i].clause;
	if (ends_in(head->path, ".pftrace") || ends_in(head->path, ".perfetto-trace"))
		return "a trace of Perfetto in its own format: convert it (traceconv json)";
	return is_text(head) ? "text, neither a JSON object nor an array of events" : NULL;
}
