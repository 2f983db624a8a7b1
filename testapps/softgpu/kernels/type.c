/* See type.h. */
#include "type.h"

#include "core/half.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const struct {
	const char *spelt;
	enum sg_type type;
} spellings[] = {{"h", SG_BYTE}, {"a", SG_CHAR}, {"s", SG_SHORT}, {"i", SG_INT}, {"l", SG_LONG},
	{"f", SG_FLOAT}, {"d", SG_DOUBLE}, {"b", SG_BOOL}, {"N3c104HalfE", SG_HALF},
	{"N3c108BFloat16E", SG_BFLOAT}};

size_t sg_type_size(enum sg_type type)
{
	switch (type) {
	case SG_BYTE:
	case SG_CHAR:
	case SG_BOOL:
		return 1;
	case SG_SHORT:
	case SG_HALF:
	case SG_BFLOAT:
		return 2;
	case SG_INT:
	case SG_FLOAT:
		return 4;
	case SG_LONG:
	case SG_DOUBLE:
		return 8;
	case SG_NO_TYPE:
		break;
	}
	return 0;
}

enum sg_type sg_type_read(const char **at, enum sg_type before)
{
	if (**at == 'S') {
		const char *end = strchr(*at, '_');

		if (end == NULL || end - *at > 3)
			return SG_NO_TYPE;
		*at = end + 1;
		return before;
	}
	if (strncmp(*at, "NS", 2) == 0) {
		/* c10 was spelt before: "NS5_8BFloat16E" */
		const char *rest = *at + 2 + strspn(*at + 2, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		int is_half = strncmp(rest, "_4HalfE", 7) == 0,
		    is_bfloat = strncmp(rest, "_8BFloat16E", 11) == 0;

		if (is_half || is_bfloat) {
			*at = rest + (is_half ? 7 : 11);
			return is_half ? SG_HALF : SG_BFLOAT;
		}
	}
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		size_t length = strlen(spellings[i].spelt);

		if (strncmp(*at, spellings[i].spelt, length) == 0) {
			*at += length;
			return spellings[i].type;
		}
	}
	return SG_NO_TYPE;
}

size_t sg_type_read_size(const char **at, size_t before)
{
	const char *from = *at;
	enum sg_type type;

	if (*from == 'j' || *from == 'm')
		return *(*at)++ == 'j' ? 4 : 8;
	type = sg_type_read(at, SG_NO_TYPE);
	return *from == 'S' && *at != from ? before : sg_type_size(type);
}

enum sg_type sg_type_after(const char *name, const char *text)
{
	const char *at = strstr(name, text);

	if (at == NULL)
		return SG_NO_TYPE;
	at += strlen(text);
	return sg_type_read(&at, SG_NO_TYPE);
}

#define LOAD(type) \
	do { \
		type value; \
		memcpy(&value, from, sizeof(value)); \
		return (long double)value; \
	} while (0)

long double sg_type_load(enum sg_type type, const void *from)
{
	uint16_t bits;

	switch (type) {
	case SG_BYTE:
	case SG_BOOL:
		LOAD(uint8_t);
	case SG_CHAR:
		LOAD(int8_t);
	case SG_SHORT:
		LOAD(int16_t);
	case SG_INT:
		LOAD(int32_t);
	case SG_LONG:
		LOAD(int64_t);
	case SG_FLOAT:
		LOAD(float);
	case SG_DOUBLE:
		LOAD(double);
	case SG_HALF:
		memcpy(&bits, from, sizeof(bits));
		return sg_float_from_half(bits);
	case SG_BFLOAT:
		memcpy(&bits, from, sizeof(bits));
		return sg_float_from_bfloat(bits);
	case SG_NO_TYPE:
		break;
	}
	return 0;
}

/* As a conversion on a device, which has no undefined values: NaN becomes 0, what is too large the nearest.
 */
static int64_t whole(long double value)
{
	if (value != value)
		return 0;
	if (value >= 0x1p63L)
		return INT64_MAX;
	return value < -0x1p63L ? INT64_MIN : (int64_t)value;
}

#define STORE(type, value) \
	do { \
		type stored = (type)(value); \
		memcpy(to, &stored, sizeof(stored)); \
	} while (0)

void sg_type_store(enum sg_type type, void *to, long double value)
{
	switch (type) {
	case SG_BYTE:
		STORE(uint8_t, whole(value));
		break;
	case SG_BOOL:
		STORE(uint8_t, value != 0);
		break;
	case SG_CHAR:
		STORE(int8_t, whole(value));
		break;
	case SG_SHORT:
		STORE(int16_t, whole(value));
		break;
	case SG_INT:
		STORE(int32_t, whole(value));
		break;
	case SG_LONG:
		STORE(int64_t, whole(value));
		break;
	case SG_FLOAT:
		STORE(float, value);
		break;
	case SG_DOUBLE:
		STORE(double, value);
		break;
	case SG_HALF:
		STORE(uint16_t, sg_half_from_float((float)value));
		break;
	case SG_BFLOAT:
		STORE(uint16_t, sg_bfloat_from_float((float)value));
		break;
	case SG_NO_TYPE:
		break;
	}
}
