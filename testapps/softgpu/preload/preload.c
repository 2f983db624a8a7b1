/*
 * libsoftgpu_preload.so has next to no code (device_files.c): it is linked to all stand-ins, so that LD_PRELOAD
 * of this one brings them into a process before its own libraries are looked for. A library with a run path of
 * its own (those of PyTorch's wheel: the vendor's wheels beside it) takes what is loaded already under the same
 * name, but does not look at LD_LIBRARY_PATH first.
 */
extern const char softgpu_preload[];
const char softgpu_preload[] = "softgpu";
