/* The exchange of one piece of data from rank 0 to all others: see meet.h. */
#include "meet.h"

#include <err.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 60000, RETRY_MS = 20 };

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

static void give(int world, const struct addrinfo *where, const char *name, const void *data, size_t size)
{
	int64_t deadline_ms = now_ms() + TIMEOUT_MS;
	int listener = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int yes = 1;

	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
		bind(listener, where->ai_addr, where->ai_addrlen) < 0 || listen(listener, world) < 0)
		err(1, "rank 0: listening on %s", name);
	for (int met = 1; met < world;) {
		int fd = wait_readable(listener, deadline_ms) ? accept4(listener, NULL, NULL, SOCK_CLOEXEC)
							      : -1;
		char hello;

		if (fd < 0)
			errx(1, "rank 0: %d of %d processes came to %s within %d s", met, world, name,
				TIMEOUT_MS / 1000);
		if (!read_all(fd, &hello, 1, deadline_ms) &&
			send(fd, data, size, MSG_NOSIGNAL) == (ssize_t)size)
			met++;
		close(fd);
	}
	close(listener);
}

static void take(int rank, const struct addrinfo *where, const char *name, void *data, size_t size)
{
	int64_t deadline_ms = now_ms() + TIMEOUT_MS;

	while (now_ms() < deadline_ms) {
		int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int got = fd >= 0 && !connect(fd, where->ai_addr, where->ai_addrlen) &&
			  send(fd, "r", 1, MSG_NOSIGNAL) == 1 && !read_all(fd, data, size, deadline_ms);

		close(fd);
		if (got)
			return;
		nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000}, NULL);
	}
	errx(1, "rank %d: rank 0 did not answer at %s within %d s", rank, name, TIMEOUT_MS / 1000);
}

void meet(int rank, int world, const char *address, const char *port, void *data, size_t size)
{
	struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char name[300];
	int failure = getaddrinfo(address, port, &wanted, &found);

	if (failure)
		errx(1, "MASTER_ADDR=%s MASTER_PORT=%s: %s", address, port, gai_strerror(failure));
	snprintf(name, sizeof(name), "%s:%s", address, port);
	if (rank == 0)
		give(world, found, name, data, size);
	else
		take(rank, found, name, data, size);
	freeaddrinfo(found);
}
