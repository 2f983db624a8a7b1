/*
 * softgpu_fit: the curves of a GPU's matrix products and convolutions, from a table of measured operations.
 *
 * The one idea: a row of the table is an operation and how long it took; for each kind of work and type
 * differential evolution (rand/1/bin) looks for the curve whose times are nearest, by the mean of the
 * absolute logarithms. What a host-bound measurement says of a short operation is a bound: it took that long
 * at most.
 */
#include "core/model.h"
#include "core/text.h"
#include "core/tiles.h"

#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELDS 16
#define POPULATION 60
#define WEIGHT 0.7
#define CROSSOVER 0.9
#define BOUND_WEIGHT 0.3 /* of a row that is a bound only, against one that is a time */
#define NOTHING 1e-3     /* a number below that is printed as 0 */
#define SMOOTH 0.1       /* a logarithm's absolute value is rounded off below that */

struct row {
	int type;
	struct sg_geometry geometry;
	double us;
	int is_bound;
};

static struct {
	const char *profile;
	int generations;
	double host_us;
	int near, errors;
	unsigned long seed;
} options = {"h200", 150, 55, 0, 0, 1};

static struct row *rows;
static size_t row_count;
static volatile sig_atomic_t is_interrupted;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fputs("softgpu_fit: ", stderr);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
	va_end(list);
	exit(1);
}

/* ---- the table ---- */

static const char *const fields[] = {"kind", "shape", "dtype", "layout", "median_us", "device_us", NULL};
enum field { KIND, SHAPE, DTYPE, LAYOUT, MEDIAN, DEVICE, FIELD_COUNT };

static int find(const char *const *names, const char *name)
{
	for (int i = 0; names[i] != NULL; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}

/* "1x64x1000x512": a batch, m, n, k of row-major operands. */
static int read_product(struct sg_geometry *g, const char *shape)
{
	g->work = SG_PRODUCT;
	if (sscanf(shape, "%lfx%lfx%lfx%lf", &g->count, &g->m, &g->n, &g->k) != 4)
		return -1;
	g->alignment = sg_alignment(g->element_bytes, g->k, g->n);
	return 0;
}

/* "n64_c64_h56_k64_r3_s1_g1": padding of r / 2. */
static int read_convolution(struct sg_geometry *g, const char *shape, int is_channels_last)
{
	double n, c, h, k, r, s, groups, out;

	if (sscanf(shape, "n%lf_c%lf_h%lf_k%lf_r%lf_s%lf_g%lf", &n, &c, &h, &k, &r, &s, &groups) != 7)
		return -1;
	out = floor((h + 2 * floor(r / 2) - r) / s) + 1;
	g->count = groups;
	g->images = n;
	g->channels = c / groups, g->filters = k / groups;
	g->pixels = h * h, g->out_pixels = out * out;
	g->taps = r * r, g->stride = s * s;
	g->is_channels_last = is_channels_last;
	g->alignment = sg_alignment(g->element_bytes, g->channels, g->filters);
	return 0;
}

/* 0: the row is none of these. */
static int read_row(struct row *row, char *const *value)
{
	const char *kind = value[KIND], *type = value[DTYPE];
	double device = value[DEVICE] != NULL ? atof(value[DEVICE]) : 0;

	memset(row, 0, sizeof(*row));
	row->type = find(sg_curve_types, strcmp(type, "bf16") == 0 ? "fp16" : type);
	row->geometry.is_known = 1;
	row->geometry.element_bytes = strcmp(type, "fp32") == 0 || strcmp(type, "tf32") == 0 ? 4 : 2;
	row->us = device > 0 ? device : value[MEDIAN] != NULL ? atof(value[MEDIAN]) : 0;
	row->is_bound = device <= 0 && row->us < options.host_us;
	if (row->type < 0 || row->us <= 0)
		return 0;
	if (strcmp(kind, "product") == 0)
		return read_product(&row->geometry, value[SHAPE]) == 0;
	if (strncmp(kind, "conv_", 5) != 0 || find(sg_work_names, kind + 5) < 0)
		return 0;
	row->geometry.work = (enum sg_work_kind)find(sg_work_names, kind + 5);
	/* Those with a filter for each channel are bound by memory, and no products. */
	return read_convolution(&row->geometry, value[SHAPE], strcmp(value[LAYOUT], "nhwc") == 0) == 0 &&
	       (row->geometry.count == 1 || row->geometry.channels > 1);
}

static int split_line(char *line, char *words[FIELDS])
{
	int count = 0;

	line[strcspn(line, "\r\n")] = '\0';
	for (char *word = strsep(&line, ","); word != NULL && count < FIELDS; word = strsep(&line, ","))
		words[count++] = word;
	return count;
}

static void read_table(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[4096], *words[FIELDS];
	int column[FIELD_COUNT], head_count;

	if (file == NULL || fgets(line, sizeof(line), file) == NULL)
		fail("%s: %m; expected a table as tests/gpu/operations.py writes it", path);
	for (int f = 0; f < FIELD_COUNT; f++)
		column[f] = -1;
	head_count = split_line(line, words);
	for (int i = 0; i < head_count; i++) {
		int f = find(fields, words[i]);

		if (f >= 0)
			column[f] = i;
	}
	for (int f = 0; f < MEDIAN; f++) {
		if (column[f] < 0)
			fail("%s:1: no column '%s'; expected a table as tests/gpu/operations.py writes it",
				path, fields[f]);
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		char *value[FIELD_COUNT];
		int count = split_line(line, words);

		for (int f = 0; f < FIELD_COUNT; f++)
			value[f] = column[f] >= 0 && column[f] < count ? words[column[f]] : NULL;
		if (value[LAYOUT] == NULL)
			continue;
		rows = realloc(rows, (row_count + 1) * sizeof(*rows));
		if (rows == NULL)
			fail("out of memory");
		row_count += (size_t)read_row(&rows[row_count], value);
	}
	fclose(file);
}

/* ---- the search ---- */

struct bound {
	double least, most;
};
/* In the order of struct sg_curve. */
static const struct bound bounds[SG_CURVE_VALUES] = {{0.2, 1}, {0, 120}, {0, 6000}, {0, 800}, {0, 5000},
	{0.5, 0.97}, {500, 9000}, {0.02, 1}, {0, 1200}, {0, 12000}, {0.02, 1}, {0.05, 1}, {0.02, 0.8},
	{1, 64}};

static double random_unit(void)
{
	/* xorshift64: a seed gives one result everywhere */
	options.seed ^= options.seed << 13;
	options.seed ^= options.seed >> 7;
	options.seed ^= options.seed << 17;
	return (double)(options.seed >> 11) * 0x1p-53;
}

static struct sg_tile_device device_of(int type)
{
	return (struct sg_tile_device){sg_profile.multiprocessors, sg_profile.peak[type],
		sg_profile.memory_rate, type == SG_COST_F32};
}

static double curve_us(const struct sg_curve *curve, const struct row *row)
{
	const struct sg_tile_device device = device_of(row->type);
	struct sg_part parts[SG_PARTS];
	int count = sg_tile_parts(curve, &device, &row->geometry, parts);

	return sg_parts_ns(parts, count) / 1000;
}

/* The logarithm of what was measured to what the curve says; a bound is no error while it holds. */
static double log_ratio(const struct sg_curve *curve, const struct row *row)
{
	double ratio = log(row->us / curve_us(curve, row));

	return row->is_bound && ratio > 0 ? 0 : ratio;
}

static double distance(const double *values, const struct row *const *chosen, size_t count)
{
	struct sg_curve curve;
	double sum = 0, weights = 0;

	memcpy(&curve, values, sizeof(curve));
	for (size_t i = 0; i < count; i++) {
		double weight = chosen[i]->is_bound ? BOUND_WEIGHT : 1;
		double error = log_ratio(&curve, chosen[i]);

		sum += weight * sqrt(error * error + SMOOTH * SMOOTH);
		weights += weight;
	}
	return sum / weights;
}

static double limit(double value, const struct bound *bound)
{
	return fmin(fmax(value, bound->least), bound->most);
}

static size_t pick(void)
{
	return (size_t)(random_unit() * POPULATION);
}

/* Mutates and crosses one member; x has the population. */
static void make_trial(double x[POPULATION][SG_CURVE_VALUES], size_t member, double *trial)
{
	size_t a = pick(), b = pick(), c = pick();
	size_t forced = (size_t)(random_unit() * (double)SG_CURVE_VALUES);

	for (size_t d = 0; d < SG_CURVE_VALUES; d++) {
		int crosses = d == forced || random_unit() < CROSSOVER;

		trial[d] = crosses ? limit(x[a][d] + WEIGHT * (x[b][d] - x[c][d]), &bounds[d]) : x[member][d];
	}
}

static struct sg_curve search(const struct row *const *chosen, size_t count, const char *name)
{
	static double x[POPULATION][SG_CURVE_VALUES];
	double cost[POPULATION], trial[SG_CURVE_VALUES];
	struct sg_curve curve;
	size_t best = 0;

	for (size_t i = 0; i < POPULATION; i++) {
		for (size_t d = 0; d < SG_CURVE_VALUES; d++)
			x[i][d] = bounds[d].least + random_unit() * (bounds[d].most - bounds[d].least);
		cost[i] = distance(x[i], chosen, count);
	}
	for (int g = 0; g < options.generations && !is_interrupted; g++) {
		for (size_t i = 0; i < POPULATION; i++) {
			double now;

			make_trial(x, i, trial);
			now = distance(trial, chosen, count);
			if (now <= cost[i]) {
				memcpy(x[i], trial, sizeof(trial));
				cost[i] = now;
			}
			best = cost[i] < cost[best] ? i : best;
		}
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%-24s %3d%%, mean error %.3f ", name,
				100 * (g + 1) / options.generations, cost[best]);
	}
	if (isatty(STDERR_FILENO))
		fputc('\r', stderr);
	memcpy(&curve, x[best], sizeof(curve));
	return curve;
}

/* ---- what comes out ---- */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_curve(int work, int type, const struct sg_curve *curve)
{
	double values[SG_CURVE_VALUES];

	memcpy(values, curve, sizeof(values));
	printf("%-15s %-5s", sg_work_names[work], sg_curve_types[type]);
	for (size_t d = 0; d < SG_CURVE_VALUES; d++)
		printf(" %*.4g", (int)strlen(sg_curve_columns[d]), fabs(values[d]) < NOTHING ? 0 : values[d]);
	putchar('\n');
}

/* Without the row itself: what another run of the same kind may expect. */
static double left_out(const struct sg_neighbour *near, size_t count, size_t out)
{
	struct sg_neighbour others[count > 0 ? count : 1];
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (i != out)
			others[kept++] = near[i];
	}
	return log(sg_neighbour_factor(others, kept, near[out].at));
}

/* Errors of rows that are times, by the curve and with the other rows as neighbours. */
struct errors {
	double *plain, *near;
	size_t count;
};
static struct errors all_errors;

static struct errors new_errors(size_t room)
{
	struct errors errors = {calloc(room + 1, sizeof(double)), calloc(room + 1, sizeof(double)), 0};

	if (errors.plain == NULL || errors.near == NULL)
		fail("out of memory");
	return errors;
}

static void free_errors(struct errors *errors)
{
	free(errors->plain);
	free(errors->near);
}

static void add_error(struct errors *errors, double plain, double near)
{
	errors->plain[errors->count] = plain;
	errors->near[errors->count++] = near;
}

static void print_errors(const char *name, struct errors *errors)
{
	size_t count = errors->count;

	if (count == 0)
		return;
	qsort(errors->plain, count, sizeof(double), compare_doubles);
	qsort(errors->near, count, sizeof(double), compare_doubles);
	fprintf(stderr,
		"%-24s %5zu rows, error %5.1f%% in the median, %5.1f%% at the 90th percentile; with neighbours "
		"%5.1f%%, %5.1f%%\n",
		name, count, 100 * errors->plain[count / 2], 100 * errors->plain[count * 9 / 10],
		100 * errors->near[count / 2], 100 * errors->near[count * 9 / 10]);
}

static void judge(const char *name, const struct sg_curve *curve, const struct row *const *chosen,
	size_t count, const struct sg_neighbour *near)
{
	struct errors errors = new_errors(count);

	for (size_t i = 0; i < count; i++) {
		double error = log_ratio(curve, chosen[i]);
		double plain = fabs(expm1(-error)), left = fabs(expm1(left_out(near, count, i) - error));

		if (chosen[i]->is_bound)
			continue;
		add_error(&errors, plain, left);
		add_error(&all_errors, plain, left);
	}
	print_errors(name, &errors);
	free_errors(&errors);
}

static void fit_kind(int work, int type)
{
	const struct row **chosen = calloc(row_count + 1, sizeof(*chosen));
	struct sg_neighbour *near = calloc(row_count + 1, sizeof(*near));
	char name[64];
	size_t count = 0;
	struct sg_curve curve;

	if (chosen == NULL || near == NULL)
		fail("out of memory");
	for (size_t i = 0; i < row_count; i++) {
		if ((int)rows[i].geometry.work == work && rows[i].type == type)
			chosen[count++] = &rows[i];
	}
	snprintf(name, sizeof(name), "%s %s", sg_work_names[work], sg_curve_types[type]);
	if (count >= 8) {
		curve = options.near || options.errors ? sg_profile.curves.of[work][type]
						       : search(chosen, count, name);
		for (size_t i = 0; i < count; i++) {
			sg_place(&chosen[i]->geometry, near[i].at);
			near[i].log_ratio = log_ratio(&curve, chosen[i]);
		}
		if (!options.near)
			judge(name, &curve, chosen, count, near);
		if (!options.near && !options.errors)
			print_curve(work, type, &curve);
		for (size_t i = 0; options.near && i < count; i++) {
			if (chosen[i]->is_bound && near[i].log_ratio == 0)
				continue;
			printf("near %s %s", sg_work_names[work], sg_curve_types[type]);
			for (int d = 0; d < SG_PLACES; d++)
				printf(" %.3g", near[i].at[d]);
			printf(" %.2f\n", near[i].log_ratio);
		}
	}
	free(near);
	free(chosen);
}

static const char help[] =
	"Usage: softgpu_fit [OPTION]... TABLE...\n"
	"Fits the times of matrix products and convolutions to tables of operations measured on a GPU, as\n"
	"tests/gpu/operations.py writes them (CSV), and prints the curves for a device profile of softgpu.\n"
	"\n"
	"  -p, --profile=NAME      device profile with the GPU's peak rates, a name or a path with a '/' (h200)\n"
	"  -n, --near              print the neighbours of the profile's curves instead: what single operations\n"
	"                          of the tables differ by\n"
	"  -e, --errors            only say how far the profile's curves are from the tables\n"
	"  -g, --generations=N     of the search (150)\n"
	"      --host-us=US        operations shorter than that were bound by the host that launched them, where\n"
	"                          the table has no column device_us for them (55)\n"
	"  -s, --seed=N            of the search (1)\n"
	"  -h, --help              this text\n"
	"\n"
	"A GPU of your own:\n"
	"  python3 tests/gpu/operations.py mine.csv\n"
	"  softgpu_fit --profile=./mine.profile mine.csv >mine.curves     # mine.profile: its rates\n"
	"  add 'curves ./mine.curves' to mine.profile, then\n"
	"  softgpu_fit --profile=./mine.profile --near mine.csv >mine.near, and add 'near ./mine.near'\n";

static double number_of(const char *text, double least, double most, const char *name)
{
	char *end;
	double value = sg_text_number(text, &end);

	if (end == text || *end != '\0' || !(value >= least && value <= most))
		fail("--%s: found '%s', expected a number from %g to %g", name, text, least, most);
	return value;
}

static void read_options(int argc, char **argv)
{
	static const struct option longs[] = {{"profile", required_argument, NULL, 'p'},
		{"near", no_argument, NULL, 'n'}, {"errors", no_argument, NULL, 'e'},
		{"generations", required_argument, NULL, 'g'}, {"host-us", required_argument, NULL, 'u'},
		{"seed", required_argument, NULL, 's'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "p:neg:s:h", longs, NULL)) != -1) {
		switch (option) {
		case 'p':
			options.profile = optarg;
			break;
		case 'n':
			options.near = 1;
			break;
		case 'e':
			options.errors = 1;
			break;
		case 'g':
			options.generations = (int)number_of(optarg, 1, 1e6, "generations");
			break;
		case 'u':
			options.host_us = number_of(optarg, 0, 1e9, "host-us");
			break;
		case 's':
			options.seed = (unsigned long)number_of(optarg, 1, 1e15, "seed");
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		default:
			fputs("Try 'softgpu_fit --help'.\n", stderr);
			exit(1);
		}
	}
	if (optind == argc)
		fail("expected a table of measured operations; try 'softgpu_fit --help'");
}

static void interrupt(int signal)
{
	(void)signal;
	is_interrupted = 1;
}

int main(int argc, char **argv)
{
	char sentence[4500];

	read_options(argc, argv);
	if (sg_profile_read(&sg_profile, options.profile, sentence, sizeof(sentence)) != 0)
		fail("%s", sentence);
	for (int i = optind; i < argc; i++)
		read_table(argv[i]);
	if (row_count == 0)
		fail("%s: no matrix product or convolution in it", argv[optind]);
	signal(SIGINT, interrupt);
	if (!options.near && !options.errors) {
		puts("# Fitted by softgpu_fit.");
		printf("%-15s %-5s", "work", "type");
		for (size_t d = 0; d < SG_CURVE_VALUES; d++)
			printf(" %s", sg_curve_columns[d]);
		putchar('\n');
	}
	all_errors = new_errors(row_count);
	for (int work = 0; work < SG_WORKS; work++) {
		for (int type = 0; type < SG_CURVE_TYPES; type++)
			fit_kind(work, type);
	}
	print_errors("all", &all_errors);
	free_errors(&all_errors);
	if (fflush(stdout) != 0 || ferror(stdout))
		fail("cannot write the result: %m");
	return is_interrupted ? 130 : 0;
}
