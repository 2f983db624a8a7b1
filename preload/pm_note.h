/*
 * What a program or a library has to say of a run that is being recorded: a sentence in the trace of its
 * process.
 *
 * Nobody needs to link libpmhook.so. Where it is preloaded, the function is found by its name:
 *
 *     __typeof__(pmhook_note) *note = dlsym(RTLD_DEFAULT, "pmhook_note");
 *
 * and from Python by ctypes.CDLL(None).pmhook_note.
 */
#ifndef PM_NOTE_H
#define PM_NOTE_H

#define PM_NOTE_KEY_BYTES 32    /* with the terminating zero */
#define PM_NOTE_TEXT_BYTES 8192 /* likewise */

/*
 * Writes "key: text" as a note (pm_format.h has the keys with a meaning). The key has lower-case letters,
 * digits and '_'. Any thread, at any time between its calls of CUDA's libraries or within one; what is passed
 * is copied. 0: written; -1: it is not, as nothing is recorded (yet: the first call of CUDA's libraries
 * decides) or an argument is not as it should be. errno stays.
 */
int pmhook_note(const char *key, const char *text);

#endif
