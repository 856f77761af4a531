#pragma once
// The parser's memory, shared by the walk that fills it and the look-ups that read it.
#include "include/CSimdJSON.h"

#include <memory>
#include <simdjson.h>
#include <vector>

struct lg_json_parser {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> indexer;
    /// The document and, after it, zeroes that let a token be read without asking for the end at each byte.
    std::unique_ptr<uint8_t[]> bytes;
    size_t capacity = 0;
    size_t length = 0;
    std::vector<lg_json_element> tape;
    /// The containers that are open, outermost first.
    struct level {
        uint32_t element;
        bool object;
    };
    std::vector<level> levels;
};

namespace livegate {

/// An element that was not taped, because it stands too deep.
constexpr uint32_t untaped = UINT32_MAX;

/// What follows the document in `bytes`; the longest look ahead is one escaped surrogate pair.
constexpr size_t padding = 64;

/// The value of four hexadecimal digits, or -1.
inline int32_t hexadecimal(const uint8_t *digits) noexcept {
    int32_t value = 0;
    for (int place = 0; place < 4; place++) {
        uint8_t digit = digits[place];
        value <<= 4;
        if (digit >= '0' && digit <= '9') {
            value |= digit - '0';
        } else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f') {
            value |= (digit | 0x20) - 'a' + 10;
        } else {
            return -1;
        }
    }
    return value;
}

inline bool is_high_surrogate(int32_t unit) noexcept { return (unit & 0xFC00) == 0xD800; }
inline bool is_low_surrogate(int32_t unit) noexcept { return (unit & 0xFC00) == 0xDC00; }

/// Reads one character of a string whose escapes were checked, escaped or not a byte at a time: writes one to four
/// bytes to `out`, sets their number, and returns where the next character begins.
const uint8_t *unescape(const uint8_t *from, uint8_t out[4], size_t &written) noexcept;

}  // namespace livegate
