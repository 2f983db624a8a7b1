/* One page over HTTP, for a Prometheus that scrapes it: one request at a time, which is read no further than
 * its first line. */
#ifndef CMDS_AGENT_SERVE_H
#define CMDS_AGENT_SERVE_H

#include <stddef.h>

/* "127.0.0.1:9462": IPv4 and port, 0 for any. The socket, or -1 with errno; EINVAL: not of that form. `port`
 * becomes what it is. */
int agent_listen(const char *address, unsigned *port);

/* Answers requests for /metrics with the text until `seconds` have passed; -1: only sleeps. Answers false
 * when a signal came. */
int agent_serve(int socket, double seconds, const char *text, size_t length);

#endif
