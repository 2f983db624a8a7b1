/*
 * Which program a trace is of: the note "command: ...".
 */
#ifndef COMMAND_H
#define COMMAND_H

/*
 * Leaves the note in the trace: the program's name and, of Python, the script's or the module's, without
 * their folders. With PMHOOK_ARGUMENTS=on all arguments, with *** for the values of those whose names say
 * key, token, secret, password or the like. Once a process, under the lock of the decision (core/process.c);
 * what cannot be read is left out.
 */
void pmh_command_note(const char *program);

#endif
