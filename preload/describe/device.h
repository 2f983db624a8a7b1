/*
 * What devices are: an entry of the trace for each.
 */
#ifndef DEVICE_H
#define DEVICE_H

/* Writes down what the device is, once, when the driver answers. Takes the loader's lock, so no lock of ours
 * may be held. May change errno. */
void pmh_device_describe(int ordinal);
void pmh_device_describe_forget(void);

#endif
