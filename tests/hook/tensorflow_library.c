/*
 * A libtensorflow_framework.so.2 that has its profiler's switch of annotations and nothing else.
 */
#include <stdbool.h>

void enable(bool on) __asm__("_ZN3tsl8profiler15AnnotationStack6EnableEb");
int tensorflow_enabled; /* how often on, less how often off */

void enable(bool on)
{
	tensorflow_enabled += on ? 1 : -1;
}
