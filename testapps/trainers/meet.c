/* An exchange through rank 0, which collects what all have and hands it out: see meet.h. */
#include "meet.h"

#include <err.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RETRY_MS = 20 };

struct party {
	int rank, world;
	const char *name; /* of rank 0's address */
	const void *mine;
	char *all;
	size_t size;
	int timeout_s;
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits until a socket has something to read or a connection to accept, but not beyond the deadline. */
static int wait_readable(int fd, int64_t deadline_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t left_ms = deadline_ms - now_ms();

	return left_ms > 0 && poll(&p, 1, (int)left_ms) > 0;
}

static int read_all(int fd, void *data, size_t size, int64_t deadline_ms)
{
	char *to = data;

	while (size) {
		ssize_t got = wait_readable(fd, deadline_ms) ? read(fd, to, size) : 0;

		if (got <= 0)
			return -1;
		to += got;
		size -= (size_t)got;
	}
	return 0;
}

/* A rank and its bytes, from a connection; the rank, or -1. */
static int read_one(const struct party *p, int fd, int64_t deadline_ms)
{
	uint32_t rank = 0;

	if (read_all(fd, &rank, sizeof(rank), deadline_ms) || rank < 1 || rank >= (uint32_t)p->world ||
		read_all(fd, p->all + rank * p->size, p->size, deadline_ms))
		return -1;
	return (int)rank;
}

static int listening(const struct party *p, const struct addrinfo *where)
{
	int listener = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int yes = 1;

	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
		bind(listener, where->ai_addr, where->ai_addrlen) < 0 || listen(listener, p->world) < 0)
		err(1, "rank 0: listening on %s", p->name);
	return listener;
}

static void collect_and_give(const struct party *p, const struct addrinfo *where)
{
	int64_t deadline_ms = now_ms() + 1000 * (int64_t)p->timeout_s;
	size_t size = (size_t)p->world * p->size;
	int listener = listening(p, where), met = 1;
	int *fds = calloc((size_t)p->world, sizeof(*fds)); /* 0: has not come */

	if (!fds)
		err(1, "%d connections", p->world);
	memcpy(p->all, p->mine, p->size);
	while (met < p->world) {
		int fd = wait_readable(listener, deadline_ms) ? accept4(listener, NULL, NULL, SOCK_CLOEXEC)
							      : -1;
		int rank = fd < 0 ? -1 : read_one(p, fd, deadline_ms);

		if (fd < 0)
			errx(1, "rank 0: %d of %d processes connected to %s within %d s", met, p->world,
				p->name, p->timeout_s);
		if (rank < 0) {
			close(fd);
			continue;
		}
		if (fds[rank])
			close(fds[rank]);
		else
			met++;
		fds[rank] = fd;
	}
	for (int rank = 1; rank < p->world; rank++) {
		if (send(fds[rank], p->all, size, MSG_NOSIGNAL) != (ssize_t)size)
			err(1, "rank 0: answering rank %d", rank);
		close(fds[rank]);
	}
	free(fds);
	close(listener);
}

static void give_and_take(const struct party *p, const struct addrinfo *where)
{
	int64_t deadline_ms = now_ms() + 1000 * (int64_t)p->timeout_s;
	const uint32_t rank = (uint32_t)p->rank;

	while (now_ms() < deadline_ms) {
		int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int got = fd >= 0 && !connect(fd, where->ai_addr, where->ai_addrlen) &&
			  send(fd, &rank, sizeof(rank), MSG_NOSIGNAL) == (ssize_t)sizeof(rank) &&
			  send(fd, p->mine, p->size, MSG_NOSIGNAL) == (ssize_t)p->size &&
			  !read_all(fd, p->all, (size_t)p->world * p->size, deadline_ms);

		close(fd);
		if (got)
			return;
		nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000}, NULL);
	}
	errx(1, "rank %d: rank 0 did not answer at %s within %d s", p->rank, p->name, p->timeout_s);
}

void meet(int rank, int world, const char *address, const char *port, const void *mine, void *all,
	size_t size, int timeout_s)
{
	struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char name[300];
	const struct party party = {rank, world, name, mine, all, size, timeout_s};
	int failure = getaddrinfo(address, port, &wanted, &found);

	if (failure)
		errx(1, "MASTER_ADDR=%s MASTER_PORT=%s: %s", address, port, gai_strerror(failure));
	snprintf(name, sizeof(name), "%s:%s", address, port);
	if (rank == 0)
		collect_and_give(&party, found);
	else
		give_and_take(&party, found);
	freeaddrinfo(found);
}
