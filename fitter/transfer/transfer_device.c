/* GPUs and their peak rates: see transfer_table.h. */
#include "transfer_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double transfer_rate(const char *text)
{
	static const char prefixes[] = "kMGTP";
	static const char *const units[] = {"", "FLOP/s", "FLOPS", "B/s"};
	char *end;
	double rate = strtod(text, &end);
	const char *prefix;

	while (*end == ' ')
		end++;
	prefix = *end ? strchr(prefixes, *end) : NULL;
	if (prefix) {
		rate *= pow(1000, (double)(prefix - prefixes + 1));
		end++;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(end, units[i]) == 0)
			return end > text && rate > 0 && isfinite(rate) ? rate : -1;
	return -1;
}

size_t transfer_device_find(const struct transfer_table *table, const char *name)
{
	size_t i = 0;

	while (i < table->device_count && strcmp(table->devices[i].name, name) != 0)
		i++;
	return i;
}

static int read_row(struct transfer_table *table, const struct csv *csv, size_t row, const ptrdiff_t at[3])
{
	static const char *const words[] = {"", "flops", "bandwidth"};
	char *const *cells = csv->cells + row * csv->column_count;
	double rates[3];
	struct transfer_device *device;

	for (int i = 1; i < 3; i++) {
		rates[i] = transfer_rate(cells[at[i]]);
		if (!(rates[i] > 0)) {
			snprintf(table->error, sizeof(table->error),
				"%.200s: line %zu: %s '%.40s' is not a rate above 0 such as 15.7T or 900G",
				csv->path, csv->lines[row], words[i], cells[at[i]]);
			return -EINVAL;
		}
	}
	if (!*cells[at[0]] || transfer_device_find(table, cells[at[0]]) < table->device_count) {
		snprintf(table->error, sizeof(table->error), "%.200s: line %zu: %s '%.60s'", csv->path,
			csv->lines[row], *cells[at[0]] ? "a second row for device" : "no name of the device",
			cells[at[0]]);
		return -EINVAL;
	}
	device = MEM_PUSH(table->devices, table->device_count, table->device_room);
	*device =
		(struct transfer_device){arena_format(&table->arena, "%s", cells[at[0]]), rates[1], rates[2]};
	return 0;
}

int transfer_devices_read(struct transfer_table *table, const char *path)
{
	static const char *const names[] = {"device", "flops", "bandwidth"};
	ptrdiff_t at[3];
	struct csv csv;
	int status = csv_read(&csv, path);

	if (status < 0)
		snprintf(table->error, sizeof(table->error), "%s", csv.error);
	for (int i = 0; i < 3 && status == 0; i++) {
		at[i] = csv_find(&csv, names[i]);
		if (at[i] >= 0)
			continue;
		snprintf(table->error, sizeof(table->error),
			"%.200s: no column '%s': expected device,flops,bandwidth", csv.path, names[i]);
		status = -EINVAL;
	}
	for (size_t row = 0; status == 0 && row < csv.row_count; row++)
		status = read_row(table, &csv, row, at);
	csv_free(&csv);
	return status;
}
