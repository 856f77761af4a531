/// What only C can ask a terminal: ioctl is variadic, which Swift cannot call.
#ifndef C_TERMINAL_H
#define C_TERMINAL_H

/// The lines of a terminal, or 0 when the descriptor is none or does not know them.
int terminal_rows(int descriptor);

#endif
