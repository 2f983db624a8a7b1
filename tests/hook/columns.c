/*
 * Prints the further columns of the rows that columns.py compares with the vendor's headers: library, name,
 * twin, version, numbers.
 */
#include <stdio.h>

#include "pm_cupti.h"
#include "pm_hooks.h"

static const struct row {
	const char *library, *name, *twin;
	int since;
	int numbers[8];
} rows[] = {
#define COLUMN(column, value) COLUMN_##column(value)
#define COLUMN_NONE
#define COLUMN_ROLE(role)
#define COLUMN_TOUCHES(arguments)
#define COLUMN_TABLE(arguments)
#define COLUMN_FREES(address)
#define COLUMN_SINCE(version) .since = version,
#define COLUMN_CALLBACK(list) .numbers = {PM_OPEN list},
#define COLUMN_CHANGED(major)
#define COLUMN_ACCESS(accesses)
#define COLUMN_SHAPE(label)
#define COLUMN_TWIN(name_) .twin = #name_,
#define ROW(library_, name_, ...) \
	{.library = #library_, .name = #name_, PM_PAIRS(COLUMN, PM_NOTHING, __VA_ARGS__)},
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) ROW(library, name, __VA_ARGS__)
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) ROW(library, name, __VA_ARGS__)
#define PM_WATCH(library, result, name, pairs, after, ...) ROW(library, name, __VA_ARGS__)
#include "pm_hooks.def"
};

int main(void)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		printf("%s %s %s %d", rows[i].library, rows[i].name, rows[i].twin ? rows[i].twin : "-",
			rows[i].since);
		for (const int *number = rows[i].numbers; *number; number++)
			printf(" %d", *number);
		puts("");
	}
#define OTHER(n) printf("other - - 0 %d\n", n);
	PM_CUPTI_OTHER_DRIVER_LAUNCHES(OTHER)
#define OTHER_RUNTIME(n) printf("other_runtime - - 0 %d\n", n);
	PM_CUPTI_OTHER_RUNTIME_LAUNCHES(OTHER_RUNTIME)
	return 0;
}
