/* Checks each collective of the stand-in NCCL against a plain loop over what every rank is known to put in.
 */
#include <stdint.h>
#include <string.h>

#include "test_common.h"
#include "test_nccl.h"

/* ---- numbers of any type, as doubles; only values that half-width floats hold exactly are used ---- */

static const struct {
	ncclDataType_t type;
	size_t bytes;
	int is_integer;
} types[] = {
	{ncclInt8, 1, 1},
	{ncclUint8, 1, 1},
	{ncclInt32, 4, 1},
	{ncclUint32, 4, 1},
	{ncclInt64, 8, 1},
	{ncclUint64, 8, 1},
	{ncclFloat16, 2, 0},
	{ncclFloat32, 4, 0},
	{ncclFloat64, 8, 0},
	{ncclBfloat16, 2, 0},
};
#define TYPES (sizeof(types) / sizeof(types[0]))

static uint16_t half_of(double value)
{
	int exponent = 15, sign = value < 0;

	if (value == 0)
		return 0;
	value = sign ? -value : value;
	for (; value >= 2; value /= 2)
		exponent++;
	for (; value < 1; value *= 2)
		exponent--;
	return (uint16_t)(sign << 15 | exponent << 10 | (int)((value - 1) * 1024));
}

static double half_value(uint16_t bits)
{
	double value = 1 + (bits & 1023) / 1024.0;
	int exponent = (bits >> 10 & 31) - 15;

	if ((bits & 0x7fff) == 0)
		return 0;
	for (; exponent > 0; exponent--)
		value *= 2;
	for (; exponent < 0; exponent++)
		value /= 2;
	return bits >> 15 ? -value : value;
}

static void put(ncclDataType_t type, void *array, size_t i, double value)
{
	float single = (float)value;
	uint32_t bits;

	memcpy(&bits, &single, sizeof(bits));
	switch (type) {
	case ncclInt8:
		((int8_t *)array)[i] = (int8_t)value;
		break;
	case ncclUint8:
		((uint8_t *)array)[i] = (uint8_t)value;
		break;
	case ncclInt32:
		((int32_t *)array)[i] = (int32_t)value;
		break;
	case ncclUint32:
		((uint32_t *)array)[i] = (uint32_t)value;
		break;
	case ncclInt64:
		((int64_t *)array)[i] = (int64_t)value;
		break;
	case ncclUint64:
		((uint64_t *)array)[i] = (uint64_t)value;
		break;
	case ncclFloat16:
		((uint16_t *)array)[i] = half_of(value);
		break;
	case ncclFloat32:
		((float *)array)[i] = single;
		break;
	case ncclBfloat16:
		((uint16_t *)array)[i] = (uint16_t)(bits >> 16);
		break;
	default:
		((double *)array)[i] = value;
	}
}

static double get(ncclDataType_t type, const void *array, size_t i)
{
	uint32_t bits;
	float single;

	switch (type) {
	case ncclInt8:
		return ((const int8_t *)array)[i];
	case ncclUint8:
		return ((const uint8_t *)array)[i];
	case ncclInt32:
		return ((const int32_t *)array)[i];
	case ncclUint32:
		return ((const uint32_t *)array)[i];
	case ncclInt64:
		return (double)((const int64_t *)array)[i];
	case ncclUint64:
		return (double)((const uint64_t *)array)[i];
	case ncclFloat16:
		return half_value(((const uint16_t *)array)[i]);
	case ncclFloat32:
		return (double)((const float *)array)[i];
	case ncclBfloat16:
		bits = (uint32_t)((const uint16_t *)array)[i] << 16;
		memcpy(&single, &bits, sizeof(single));
		return (double)single;
	default:
		return ((const double *)array)[i];
	}
}

/* What a rank puts in at i. */
static double input(int rank, size_t i)
{
	return 1 + (double)((i * 7 + (size_t)rank * 3) % 4);
}

/* What the ranks make of it; exact but for averages of floats. */
static double combined(ncclRedOp_t op, int is_integer, int ranks, size_t i)
{
	double result = input(0, i);

	for (int rank = 1; rank < ranks; rank++) {
		double x = input(rank, i);

		if (op == ncclSum || op == ncclAvg)
			result += x;
		else if (op == ncclProd)
			result *= x;
		else if (op == ncclMax)
			result = x > result ? x : result;
		else
			result = x < result ? x : result;
	}
	if (op == ncclAvg)
		result = is_integer ? (double)(int)(result / ranks) : result / ranks;
	return result;
}

static int same(double got, double wanted)
{
	double difference = got - wanted;

	return difference < wanted / 200 && -difference < wanted / 200;
}

/* ---- one case: a type, a length ---- */

struct box {
	ncclComm_t comm;
	cudaStream_t stream;
	int rank, ranks;
	ncclDataType_t type;
	size_t bytes;
	int is_integer;
	size_t count;
	char *send, *recv; /* ranks * count elements each, of "device" memory */
};

/* Fills the send buffer with the given number of elements, and the other one with ones that are never right.
 */
static void fill(const struct box *box, size_t count)
{
	OK(cudaStreamSynchronize(box->stream));
	for (size_t i = 0; i < count; i++)
		put(box->type, box->send, i, input(box->rank, i));
	for (size_t i = 0; i < (size_t)box->ranks * box->count; i++)
		put(box->type, box->recv, i, 99);
}

static void check_reductions(const struct box *box)
{
	static const ncclRedOp_t ops[] = {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};
	int root = (int)(box->count % (size_t)box->ranks);

	for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
		/* A product of many ranks would leave the small integers. */
		if (ops[k] == ncclProd && box->ranks > 3)
			continue;
		fill(box, box->count);
		OK(ncclAllReduce(
			box->send, box->recv, box->count, box->type, ops[k], box->comm, box->stream));
		OK(ncclReduce(
			box->send, box->send, box->count, box->type, ops[k], root, box->comm, box->stream));
		OK(cudaStreamSynchronize(box->stream));
		for (size_t i = 0; i < box->count; i++) {
			double wanted = combined(ops[k], box->is_integer, box->ranks, i);

			CHECK(same(get(box->type, box->recv, i), wanted));
			CHECK(same(get(box->type, box->send, i),
				box->rank == root ? wanted : input(box->rank, i)));
		}
		fill(box, box->count * (size_t)box->ranks);
		/* In place: the result replaces this rank's own piece. */
		OK(ncclReduceScatter(box->send, box->send + (size_t)box->rank * box->count * box->bytes,
			box->count, box->type, ops[k], box->comm, box->stream));
		OK(cudaStreamSynchronize(box->stream));
		for (size_t i = 0; i < box->count; i++) {
			size_t at = (size_t)box->rank * box->count + i;

			CHECK(same(get(box->type, box->send, at),
				combined(ops[k], box->is_integer, box->ranks, at)));
		}
	}
}

static void check_scaled_sum(const struct box *box)
{
	char scalar[8], *device_scalar;
	ncclRedOp_t host_op, device_op;

	put(box->type, scalar, 0, 2);
	OK(cudaMalloc((void **)&device_scalar, 8));
	OK(cudaMemcpy(device_scalar, scalar, 8, cudaMemcpyHostToDevice));
	OK(ncclRedOpCreatePreMulSum(&host_op, scalar, box->type, ncclScalarHostImmediate, box->comm));
	OK(ncclRedOpCreatePreMulSum(&device_op, device_scalar, box->type, ncclScalarDevice, box->comm));
	memset(scalar, 0, sizeof(scalar));
	fill(box, box->count);
	OK(ncclAllReduce(box->send, box->recv, box->count, box->type, host_op, box->comm, box->stream));
	OK(ncclAllReduce(box->send, box->send, box->count, box->type, device_op, box->comm, box->stream));
	OK(ncclRedOpDestroy(host_op, box->comm));
	EXPECT(ncclRedOpDestroy(host_op, box->comm), ncclInvalidArgument);
	EXPECT(ncclAllReduce(box->send, box->recv, box->count, box->type, host_op, box->comm, box->stream),
		ncclInvalidArgument);
	OK(ncclRedOpDestroy(device_op, box->comm));
	OK(cudaStreamSynchronize(box->stream));
	for (size_t i = 0; i < box->count; i++) {
		double wanted = 2 * combined(ncclSum, box->is_integer, box->ranks, i);

		CHECK(same(get(box->type, box->recv, i), wanted) &&
			same(get(box->type, box->send, i), wanted));
	}
	OK(cudaFree(device_scalar));
}

static void check_moves(const struct box *box)
{
	int root = (int)(box->count % (size_t)box->ranks);
	size_t n = box->count;

	fill(box, n * (size_t)box->ranks);
	OK(ncclBroadcast(
		box->rank == root ? box->send : NULL, box->recv, n, box->type, root, box->comm, box->stream));
	OK(cudaStreamSynchronize(box->stream));
	for (size_t i = 0; i < n; i++)
		CHECK(same(get(box->type, box->recv, i), input(root, i)));
	OK(ncclBcast(box->send, n, box->type, root, box->comm, box->stream));
	OK(cudaStreamSynchronize(box->stream));
	for (size_t i = 0; i < n; i++)
		CHECK(same(get(box->type, box->send, i), input(root, i)));
	fill(box, n);
	OK(ncclAllGather(box->send, box->recv, n, box->type, box->comm, box->stream));
	OK(cudaStreamSynchronize(box->stream));
	for (int from = 0; from < box->ranks; from++) {
		for (size_t i = 0; i < n; i++)
			CHECK(same(get(box->type, box->recv, (size_t)from * n + i), input(from, i)));
	}
	fill(box, n);
	OK(ncclGather(
		box->send, box->rank == root ? box->recv : NULL, n, box->type, root, box->comm, box->stream));
	OK(cudaStreamSynchronize(box->stream));
	for (int from = 0; from < box->ranks && box->rank == root; from++) {
		for (size_t i = 0; i < n; i++)
			CHECK(same(get(box->type, box->recv, (size_t)from * n + i), input(from, i)));
	}
	fill(box, n * (size_t)box->ranks);
	OK(ncclScatter(
		box->rank == root ? box->send : NULL, box->recv, n, box->type, root, box->comm, box->stream));
	OK(cudaStreamSynchronize(box->stream));
	for (size_t i = 0; i < n; i++)
		CHECK(same(get(box->type, box->recv, i), input(root, (size_t)box->rank * n + i)));
	OK(ncclAlltoAll(box->send, box->recv, n, box->type, box->comm, box->stream));
	OK(cudaStreamSynchronize(box->stream));
	for (int from = 0; from < box->ranks; from++) {
		for (size_t i = 0; i < n; i++)
			CHECK(same(get(box->type, box->recv, (size_t)from * n + i),
				input(from, (size_t)box->rank * n + i)));
	}
}

/* Everybody to everybody, itself included, twice in one group, the second time with another length. */
static void check_messages(const struct box *box)
{
	size_t n = box->count, half = n / 2;

	fill(box, n * (size_t)box->ranks);
	OK(ncclGroupStart());
	for (int other = 0; other < box->ranks; other++) {
		char *from = box->send + (size_t)other * n * box->bytes,
		     *to = box->recv + (size_t)other * n * box->bytes;

		OK(ncclSend(from, half, box->type, other, box->comm, box->stream));
		OK(ncclRecv(to, half, box->type, other, box->comm, box->stream));
		OK(ncclSend(from + half * box->bytes, n - half, box->type, other, box->comm, box->stream));
		OK(ncclRecv(to + half * box->bytes, n - half, box->type, other, box->comm, box->stream));
	}
	OK(ncclGroupEnd());
	OK(cudaStreamSynchronize(box->stream));
	for (int from = 0; from < box->ranks; from++) {
		for (size_t i = 0; i < n; i++)
			CHECK(same(get(box->type, box->recv, (size_t)from * n + i),
				input(from, (size_t)box->rank * n + i)));
	}
}

/* Sums that depend on the order: the same bits as a loop over the ranks gives, here and on every rank. */
static void check_order(const struct box *box)
{
	float *send = (float *)(void *)box->send, *recv = (float *)(void *)box->recv;

	for (size_t i = 0; i < box->count; i++)
		send[i] = 1.0f / (float)(1 + i + (size_t)box->rank * 1000);
	OK(ncclAllReduce(send, recv, box->count, ncclFloat32, ncclSum, box->comm, box->stream));
	OK(cudaStreamSynchronize(box->stream));
	for (size_t i = 0; i < box->count; i++) {
		float sum = 1.0f / (float)(1 + i);

		for (int rank = 1; rank < box->ranks; rank++)
			sum += 1.0f / (float)(1 + i + (size_t)rank * 1000);
		CHECK(recv[i] == sum);
	}
}

void check_collectives(ncclComm_t comm, int rank, int rank_count, cudaStream_t stream, int thorough)
{
	/* Below and above the small-message limit; the last one takes several rounds through the shared
	 * slots. */
	static const size_t counts[] = {1, 7, 3000, 700001};
	struct box box = {.comm = comm, .stream = stream, .rank = rank, .ranks = rank_count};

	for (size_t k = 0; k < (thorough ? 4u : 3u); k++) {
		for (size_t t = 0; t < TYPES; t++) {
			/* Many rounds take their time: two types see them. */
			if (k == 3 && types[t].type != ncclFloat32 && types[t].type != ncclBfloat16)
				continue;
			box.type = types[t].type;
			box.bytes = types[t].bytes;
			box.is_integer = types[t].is_integer;
			box.count = counts[k];
			OK(cudaMalloc((void **)&box.send, (size_t)rank_count * box.count * 8));
			OK(cudaMalloc((void **)&box.recv, (size_t)rank_count * box.count * 8));
			if (k < 3)
				check_reductions(&box);
			check_scaled_sum(&box);
			check_moves(&box);
			check_messages(&box);
			if (box.type == ncclFloat32)
				check_order(&box);
			OK(cudaFree(box.send));
			OK(cudaFree(box.recv));
		}
	}
}
