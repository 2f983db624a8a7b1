/*
 * The list of threads. A thread is in it from its first hooked call to its end, which the C library tells by
 * a key's destructor.
 */
#include "thread.h"

#include <errno.h>
#include <pthread.h>

#include "guest.h"
#include "sigbus.h"
#include "state.h"

_Thread_local struct pmh_thread pmh_self __attribute__((tls_model("initial-exec")));

static pmh_lock listing = ATOMIC_FLAG_INIT;
static struct pmh_thread *threads;
static _Atomic uint32_t thread_count;
static pthread_key_t thread_key;

int pmh_threads_follow(void (*end)(void *thread))
{
	return pthread_key_create(&thread_key, end);
}

static void begin_thread(void *data)
{
	struct pmh_thread *self = data;

	/* before others can see it: its storage ends with the thread */
	self->unlisted = pthread_setspecific(thread_key, self) != 0;
	pmh_acquire(&listing);
	self->number = ++thread_count;
	if (!self->unlisted) {
		self->following = threads;
		threads = self;
	}
	pmh_release(&listing);
}

void pmh_thread_begin(void)
{
	const int saved_errno = errno;

	pmh_rarely(begin_thread, &pmh_self);
	if (atomic_load(&pmh_state) == PMH_RECORDING)
		pmh_sigbus_unblock();
	errno = saved_errno;
}

void pmh_thread_unlist(struct pmh_thread *thread, void (*f)(struct pmh_thread *))
{
	pmh_acquire(&listing);
	for (struct pmh_thread **link = &threads; *link; link = &(*link)->following)
		if (*link == thread) {
			*link = thread->following;
			f(thread);
			break;
		}
	pmh_release(&listing);
}

void pmh_each_thread(void (*f)(struct pmh_thread *))
{
	pmh_acquire(&listing);
	for (struct pmh_thread *t = threads; t; t = t->following)
		f(t);
	pmh_release(&listing);
}

uint32_t pmh_thread_count(void)
{
	return thread_count;
}

void pmh_threads_forget(void)
{
	threads = NULL;
	thread_count = 0;
	pmh_lock_forget(&listing);
	pmh_self.number = 0;
	pmh_self.following = NULL;
}
