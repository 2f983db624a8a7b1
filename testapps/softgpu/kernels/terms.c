/*
 * Kernels whose bytes are a sum of products of numbers among their arguments (rows.h has them).
 *
 * The one idea: a row says that sum in a line, so that a kernel more is a line more:
 *
 *     terms  = term { " " term }
 *     term   = [number] type { ["/"] factor }
 *     type   = T, U, V  bytes of the first, second, third type among the template's arguments
 *              O        bytes of its OpaqueType
 *              B        a byte
 *     factor = a to z   the argument at that place, a whole number
 *              (a)      elements of the tensor that the argument there describes
 *              X, Y, Z  blocks of the grid
 *
 * The row counts only where the kernel's image has all these arguments with such sizes: a kernel of the same
 * name from another version of PyTorch has none then.
 */
#include "rule.h"
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define ACCESSOR_DIMS 6
#define INFO_DIMS 25 /* of at::cuda::detail::TensorInfo */
#define INFO_BYTES(index) (2 * sizeof(void *) + 2 * INFO_DIMS * (index))
#define MOST_ELEMENTS \
	1e11 /* of a tensor; more were read wrongly, or come of results that nothing has computed */

/* ---- what the name says ---- */

/* After a template's argument that is no type of elements: a literal ("Li4E"), a class ("NS0_3VarE"). */
static const char *skip(const char *at)
{
	const char *end = *at == 'L' || *at == 'N' ? strchr(at, 'E') : NULL;

	return end != NULL ? end + 1 : NULL;
}

/* Bytes of up to three types of elements among a template's arguments, which begin at `at`. */
static void read_types(struct sg_known *known, const char *at)
{
	size_t before = 0;

	memset(known->each, 0, sizeof(known->each));
	for (size_t count = 0; count < 3 && at != NULL && *at != 'E';) {
		size_t size = sg_type_read_size(&at, before);

		if (size > 0)
			known->each[count++] = (unsigned char)(before = size);
		else
			at = skip(at);
	}
}

static int find_from(struct sg_known *known, const char *name, size_t from)
{
	for (size_t i = from; i < ROWS; i++) {
		const char *at = strstr(name, rows[i].holds), *opaque = strstr(name, "OpaqueTypeILi");

		if (at == NULL)
			continue;
		known->op = (int)i;
		known->source = rows[i].rule;
		read_types(known, at + strlen(rows[i].holds));
		known->pointers =
			opaque != NULL ? (unsigned)strtoul(opaque + strlen("OpaqueTypeILi"), NULL, 10) : 0;
		return 1;
	}
	return 0;
}

int sg_terms_find(struct sg_known *known, const char *name)
{
	return find_from(known, name, 0);
}

/* ---- what the arguments say ---- */

/* The product of `dims` sizes; 0: these are no sizes. */
static double product(const char *sizes, size_t dims, size_t index_bytes)
{
	double count = 1;

	for (size_t i = 0; i < dims; i++) {
		int64_t size = 0;

		memcpy(&size, sizes + i * index_bytes, index_bytes);
		if (size < 0)
			return 0;
		count *= (double)size;
	}
	return count < MOST_ELEMENTS ? count : 0;
}

/* Of a TensorInfo (address, sizes, strides, dims), or a GenericPackedTensorAccessor (address, sizes,
 * strides), whose indices have 4 or 8 bytes each; negative: it is neither. */
static double elements_of(const char *arg, size_t size_bytes)
{
	const char *sizes = arg + sizeof(void *);
	size_t room = size_bytes - sizeof(void *);
	double count;

	for (size_t index = 4; index <= 8; index += 4)
		if (size_bytes == INFO_BYTES(index)) {
			int dims;

			memcpy(&dims, sizes + 2 * INFO_DIMS * index, sizeof(dims));
			return dims >= 0 && dims <= INFO_DIMS ? product(sizes, (size_t)dims, index) : -1;
		}
	if (size_bytes <= sizeof(void *) || room % 8 != 0 || room / 8 > 2 * ACCESSOR_DIMS)
		return -1;
	/* of 8 bytes the upper halves, which are 0, would be sizes too */
	count = product(sizes, room / 8, 4);
	return count > 0 || room % 16 != 0 ? count : product(sizes, room / 16, 8);
}

static double number_of(const void *arg, size_t size_bytes)
{
	int32_t small;
	int64_t large;

	memcpy(&small, arg, sizeof(small));
	if (size_bytes == sizeof(small))
		return small;
	memcpy(&large, arg, sizeof(large));
	return (double)large;
}

/* The factor at *at, after which *at then stands. `args` NULL: only whether the arguments' sizes allow it.
 */
static double factor(const char **at, const size_t *sizes, dim3 grid, void *const *args)
{
	int of_tensor = **at == '(';
	size_t number;

	*at += of_tensor;
	if (**at >= 'X' && **at <= 'Z')
		return *(*at)++ == 'X' ? grid.x : (*at)[-1] == 'Y' ? grid.y : grid.z;
	number = (size_t)(*(*at)++ - 'a');
	*at += of_tensor;
	for (size_t i = 0; i <= number; i++)
		if (sizes[i] == 0)
			return -1;
	if (of_tensor)
		return sizes[number] <= sizeof(void *) ? -1
		       : args != NULL                  ? elements_of(args[number], sizes[number])
						       : 1;
	if (sizes[number] != 4 && sizes[number] != 8)
		return -1;
	return args != NULL ? number_of(args[number], sizes[number]) : 1;
}

static double size_of(const struct sg_known *known, char letter)
{
	if (letter >= 'T' && letter <= 'V')
		return known->each[letter - 'T'];
	return letter == 'O' ? known->pointers : 1;
}

/* Negative: not known. */
static double sum_of(const struct sg_known *known, const size_t *sizes, dim3 grid, void *const *args)
{
	const char *at = rows[known->op].terms;
	double sum = 0;

	while (*at != '\0') {
		char *end;
		double count = (double)strtoul(at, &end, 10), size;

		count = end == at ? 1 : count;
		at = end;
		size = size_of(known, *at++);
		if (size <= 0)
			return -1;
		for (count *= size; *at != ' ' && *at != '\0';) {
			int divides = *at == '/';
			double value;

			at += divides;
			value = factor(&at, sizes, grid, args);
			if (value < 0 || (divides && value == 0))
				return -1;
			count = divides ? count / value : count * value;
		}
		sum += count;
		at += *at == ' ';
	}
	return sum;
}

int sg_terms_fit(struct sg_known *known, const char *name, const size_t *sizes)
{
	static const dim3 any = {1, 1, 1};

	known->sizes = sizes;
	while (sum_of(known, sizes, any, NULL) < 0)
		if (!find_from(known, name, (size_t)known->op + 1))
			return 0;
	return 1;
}

double sg_terms_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	return known->sizes != NULL ? sum_of(known, known->sizes, grid, args) : -1;
}
