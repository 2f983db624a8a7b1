/*
 * The table of objects. A slot is taken by its address; one that was given up may be taken by another.
 */
#include "object.h"

#include "trace/write.h"

struct object pmh_objects[OBJECTS];

struct object *pmh_object_make(uintptr_t address)
{
	for (unsigned again = 0; again < 8; again++) {
		struct object *free = NULL;
		uintptr_t was = 0;
		unsigned i = object_slot(address);

		for (unsigned tries = 0; tries < OBJECT_TRIES; tries++, i = (i + 1) % OBJECTS) {
			struct object *o = &pmh_objects[i];
			uintptr_t there = atomic_load_explicit(&o->address, memory_order_acquire);

			if (there == address)
				return o;
			if (there <= OBJECT_GONE && !free) {
				free = o;
				was = there;
			}
			if (!there)
				break;
		}
		if (!free)
			break;
		if (atomic_compare_exchange_strong(&free->address, &was, address))
			return free;
		/* another thread took the slot */
	}
	pmh_lose(PM_LOSS_OBJECTS, 1);
	return NULL;
}

void pmh_object_gone(const void *address)
{
	struct object *o = object_of(address, false);

	if (!o)
		return;
	o->value_count = 0;
	atomic_store_explicit(&o->number, 0, memory_order_relaxed);
	atomic_store_explicit(&o->queue, 0, memory_order_relaxed);
	atomic_store_explicit(&o->address, OBJECT_GONE, memory_order_release);
}

void pmh_objects_forget(void)
{
	for (unsigned i = 0; i < OBJECTS; i++)
		if (atomic_load_explicit(&pmh_objects[i].address, memory_order_relaxed)) {
			atomic_store_explicit(&pmh_objects[i].number, 0, memory_order_relaxed);
			atomic_store_explicit(&pmh_objects[i].queue, 0, memory_order_relaxed);
		}
}
