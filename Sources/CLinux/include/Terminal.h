#ifndef LIVEGATE_TERMINAL_H
#define LIVEGATE_TERMINAL_H

/// The columns of a terminal, or 0 when the descriptor is none or does not know them. ioctl is variadic in C, which
/// Swift cannot call.
int terminal_columns(int descriptor);

#endif
