#ifndef LIVEGATE_ENVIRONMENT_H
#define LIVEGATE_ENVIRONMENT_H

#include <unistd.h>

extern char **environ;

/// The variables of the process, `NAME=VALUE` each, with a null behind the last.
static inline char **process_environment(void) { return environ; }

#endif
