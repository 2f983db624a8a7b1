/* One page over HTTP, for a Prometheus that scrapes it: one request at a time, which is read no further than
 * its first line. */
#ifndef CMDS_AGENT_SERVE_H
#define CMDS_AGENT_SERVE_H

#include <stddef.h>

/* Listens at an IPv4 address and port, "127.0.0.1:9462"; port 0: any, which `port` becomes. The socket, or -1
 * with errno; EINVAL: not of that form. */
int agent_listen(const char *address, unsigned *port);

/* Answers requests for /metrics with the text until `seconds` have passed; without a socket (-1) it only
 * sleeps. 0 when a signal came, else 1. */
int agent_serve(int socket, double seconds, const char *text, size_t length);

#endif
