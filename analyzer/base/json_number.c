/*
 * Numbers in JSON text, exactly: see json.h. Those that profilers write are read quickly; the others by way
 * of 128 bits.
 */
#include "json.h"

#define SIGNIFICANT_DIGITS 30

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A number as the digits that count and a power of ten; NULL: no number here. */
struct decimal {
	unsigned __int128 digits;
	int exponent;
	bool negative;
};

static const char *read_exponent(const char *place, int *exponent)
{
	bool negative = *place == '-';
	int value = 0;

	if (*place == '-' || *place == '+')
		place++;
	if (!is_digit(*place))
		return NULL;
	for (; is_digit(*place); place++)
		if (value < 10000)
			value = value * 10 + (*place - '0');
	*exponent += negative ? -value : value;
	return place;
}

static const char *read_decimal(const char *place, struct decimal *decimal)
{
	bool point = false, any = false;
	int count = 0;

	*decimal = (struct decimal){.negative = *place == '-'};
	if (*place == '-')
		place++;
	for (; is_digit(*place) || (*place == '.' && !point); place++) {
		if (*place == '.') {
			point = true;
			continue;
		}
		any = true;
		if (count < SIGNIFICANT_DIGITS) {
			decimal->digits = decimal->digits * 10 + (unsigned)(*place - '0');
			count += decimal->digits != 0;
			decimal->exponent -= point;
		} else {
			decimal->exponent += !point;
		}
	}
	if (!any)
		return NULL;
	if (*place == 'e' || *place == 'E')
		return read_exponent(place + 1, &decimal->exponent);
	return place;
}

/* digits x 10^exponent as a whole number, the rest dropped; false: it is beyond `limit`. */
static bool scale(
	const struct decimal *decimal, int exponent, unsigned __int128 limit, unsigned __int128 *value)
{
	*value = decimal->digits;
	exponent += decimal->exponent;
	for (; exponent < 0 && *value; exponent++)
		*value /= 10;
	for (; exponent > 0 && *value; exponent--) {
		if (*value > limit / 10)
			return false;
		*value *= 10;
	}
	return *value <= limit;
}

/* After what closes a number: a quote if it began with one. NULL where the window ends: digits may follow.
 */
static const char *close_number(const char *place, bool quoted)
{
	if (!place || !*place)
		return NULL;
	if (!quoted)
		return place;
	return *place == '"' ? place + 1 : NULL;
}

/* Up to 18 digits and nothing else; NULL: it is not so. */
static const char *short_integer(const char *place, int64_t *value)
{
	int64_t number = 0;
	int digits = 0;

	for (; is_digit(*place) && digits < 18; place++, digits++)
		number = number * 10 + (*place - '0');
	if (digits == 0 || !*place || is_digit(*place) || *place == '.' || *place == 'e' || *place == 'E')
		return NULL;
	*value = number;
	return place;
}

const char *json_integer(const char *place, int64_t *value)
{
	bool quoted = *place == '"';
	const char *behind = quoted ? NULL : short_integer(place, value);
	struct decimal decimal;
	unsigned __int128 whole;

	if (behind)
		return behind;
	place += quoted;
	place = close_number(read_decimal(place, &decimal), quoted);
	/* Identifiers of 64 bits come as unsigned numbers too: they are kept bit by bit. */
	if (!place || !scale(&decimal, 0, UINT64_MAX, &whole))
		return NULL;
	*value = decimal.negative ? (int64_t)(0 - (uint64_t)whole) : (int64_t)(uint64_t)whole;
	return place;
}

/* Billionths of a ns in a microsecond. */
#define RESTS ((uint64_t)1000000000)

static bool to_time(const struct decimal *decimal, struct json_time *time)
{
	unsigned __int128 limit = (unsigned __int128)INT64_MAX * RESTS, value;

	if (!scale(decimal, 12, limit, &value))
		return false;
	time->ns = (int64_t)(value / RESTS);
	time->rest = (uint32_t)(value % RESTS);
	if (decimal->negative) {
		time->ns = -time->ns - (time->rest != 0);
		time->rest = time->rest ? (uint32_t)(RESTS - time->rest) : 0;
	}
	return true;
}

/*
 * Up to 15 digits before the point and 3 after it, as profilers write them, need no wide numbers. NULL: it
 * is not so.
 */
static const char *short_micros(const char *place, struct json_time *time)
{
	uint64_t value = 0;
	uint32_t unit = 1000;
	int digits = 0;

	for (; is_digit(*place) && digits < 16; place++, digits++)
		value = value * 10 + (unsigned)(*place - '0');
	if (digits == 0 || value > (uint64_t)INT64_MAX / 1000 - 1)
		return NULL;
	if (*place == '.')
		for (place++; is_digit(*place) && unit > 1; place++, unit /= 10)
			value = value * 10 + (unsigned)(*place - '0');
	/* What else a number may consist of, and the end of the window. */
	if (!*place || is_digit(*place) || *place == '.' || *place == 'e' || *place == 'E')
		return NULL;
	*time = (struct json_time){(int64_t)(value * unit), 0};
	return place;
}

const char *json_micros(const char *place, struct json_time *time)
{
	bool quoted = *place == '"';
	const char *behind = quoted ? NULL : short_micros(place, time);
	struct decimal decimal;

	if (behind)
		return behind;
	place += quoted;
	place = close_number(read_decimal(place, &decimal), quoted);
	return place && to_time(&decimal, time) ? place : NULL;
}

int64_t json_time_sum(struct json_time a, struct json_time b)
{
	uint64_t rest = (uint64_t)a.rest + b.rest;
	int64_t sum;

	if (__builtin_add_overflow(a.ns, b.ns, &sum) ||
		__builtin_add_overflow(sum, (int64_t)((rest + RESTS / 2) / RESTS), &sum))
		return a.ns < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}
