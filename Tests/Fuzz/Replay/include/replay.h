#pragma once
#include <stddef.h>
#include <stdint.h>

/// What a fuzz target defines and libFuzzer calls.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);
