/* A page over HTTP: see agent_serve.h. */
#include "agent_serve.h"
#include "live.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { REQUEST_BYTES = 2048, REQUEST_S = 2 };

/* The address in front of the colon, and the port after it; false: not of that form. */
static int parse(const char *text, struct sockaddr_in *address)
{
	const char *colon = strrchr(text, ':');
	char host[INET_ADDRSTRLEN], *end;
	unsigned long port;

	if (!colon || (size_t)(colon - text) >= sizeof(host))
		return 0;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	port = strtoul(colon + 1, &end, 10);
	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	return end != colon + 1 && !*end && port <= 65535 &&
	       inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

int agent_listen(const char *address, unsigned *port)
{
	struct sockaddr_in own;
	socklen_t length = sizeof(own);
	const int yes = 1;
	int file;

	if (!parse(address, &own)) {
		errno = EINVAL;
		return -1;
	}
	file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (file < 0)
		return -1;
	(void)setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(file, (const struct sockaddr *)&own, sizeof(own)) != 0 || listen(file, 16) != 0 ||
		getsockname(file, (struct sockaddr *)&own, &length) != 0) {
		const int error = errno;

		close(file);
		errno = error == EINVAL ? EADDRNOTAVAIL : error;
		return -1;
	}
	*port = ntohs(own.sin_port);
	return file;
}

/* All of it, to a peer that takes it in time. */
static void put(int peer, const char *text, size_t length)
{
	while (length > 0) {
		const ssize_t done = send(peer, text, length, MSG_NOSIGNAL);

		if (done <= 0)
			return;
		text += done;
		length -= (size_t)done;
	}
}

static void answer(int peer, const char *text, size_t length)
{
	const struct timeval most = {.tv_sec = REQUEST_S};
	char request[REQUEST_BYTES + 1], head[256];
	ssize_t got;
	int good;

	(void)setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	(void)setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	got = recv(peer, request, REQUEST_BYTES, 0);
	if (got <= 0)
		return;
	request[got] = '\0';
	good = strncmp(request, "GET /metrics ", 13) == 0 || strncmp(request, "GET /metrics?", 13) == 0;
	if (!good) {
		text = "pmanalyze agent: /metrics\n";
		length = strlen(text);
	}
	put(peer, head,
		(size_t)snprintf(head, sizeof(head),
			"HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
			"Content-Length: %zu\r\nConnection: close\r\n\r\n",
			good ? "200 OK" : "404 Not Found", length));
	put(peer, text, length);
	(void)shutdown(peer, SHUT_WR);
	/* what the peer has still to say is taken, or the connection would be reset under the answer */
	while (recv(peer, request, REQUEST_BYTES, 0) > 0)
		;
}

int agent_serve(int socket, double seconds, const char *text, size_t length)
{
	const double end_s = live_now_s() + seconds;

	for (double left_s = seconds; left_s > 0; left_s = end_s - live_now_s()) {
		struct pollfd ready = {.fd = socket, .events = POLLIN};
		const int count = poll(&ready, 1, (int)(1000 * left_s) + 1);

		if (count < 0)
			return 0;
		if (count > 0) {
			const int peer = accept4(socket, NULL, NULL, SOCK_CLOEXEC);

			if (peer >= 0) {
				answer(peer, text, length);
				close(peer);
			}
		}
	}
	return 1;
}
