#ifndef LIVEGATE_GET_OPTION_H
#define LIVEGATE_GET_OPTION_H

#include <getopt.h>
#include <stddef.h>

/// One step of `getopt_long`, with the global results read at once: they are variables of the process.
struct get_option_step {
    /// What `getopt_long` returned: −1 at the end, '?' for what it does not know, ':' for a missing value.
    int code;
    /// `optopt`: the value of the option that a '?' or ':' is about; 0 for a long one that is unknown or ambiguous.
    int about;
    /// `optind` after the step.
    int next;
    /// `optarg`, or null.
    const char *argument;
};

/// Takes the next option. `restart` makes glibc forget the command line that it was reading before.
static inline struct get_option_step get_option(int count, char **words, const char *shorts,
                                                const struct option *longs, int restart) {
    if (restart) optind = 0;
    opterr = 0;
    optarg = NULL;
    struct get_option_step step;
    step.code = getopt_long(count, words, shorts, longs, NULL);
    step.about = optopt;
    step.next = optind;
    step.argument = optarg;
    return step;
}

/// Takes the word that comes next as belonging to the option just read.
static inline void get_option_take_word(void) { optind += 1; }

#endif
