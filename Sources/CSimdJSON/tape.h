#pragma once
// The parser's memory, shared by the walk that fills it and the look-ups that read it.
#include "include/CSimdJSON.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <simdjson.h>
#include <vector>

/// The values of a document. An array that is not cleared when it grows: each element is written once, in order.
class lg_json_tape {
public:
    /// The element; there has to be one.
    const lg_json_element &operator[](size_t element) const noexcept {
        if (element >= count) std::abort();
        return elements[element];
    }

    lg_json_element *room() noexcept { return elements.get(); }
    uint32_t capacity() const noexcept { return size; }
    size_t bytes() const noexcept { return size * sizeof(lg_json_element); }

    /// Says how many elements were written.
    void fill(uint32_t written) noexcept { count = written; }

    /// Room for so many, where there is less. What was written is lost.
    void reserve(uint32_t wanted) {
        if (wanted <= size) return;
        elements.reset(new lg_json_element[wanted]);
        size = wanted;
    }

    /// Twice the room, with the first `written` elements.
    void grow(uint32_t written) {
        uint32_t wanted = size < 64 ? 64 : 2 * size;
        std::unique_ptr<lg_json_element[]> larger(new lg_json_element[wanted]);
        std::copy_n(elements.get(), written, larger.get());
        elements = std::move(larger);
        size = wanted;
    }

    void release() noexcept {
        elements.reset();
        size = 0;
        count = 0;
    }

private:
    std::unique_ptr<lg_json_element[]> elements;
    uint32_t size = 0;
    uint32_t count = 0;
};

struct lg_json_parser {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> indexer;
    /// The document and, after it, zeroes that let a token be read without asking for the end at each byte.
    std::unique_ptr<uint8_t[]> bytes;
    size_t capacity = 0;
    size_t length = 0;
    lg_json_tape tape;
    /// The containers that are open, outermost first.
    struct level {
        uint32_t element;
        bool object;
    };
    std::vector<level> levels;
    /// The last text that was found and had to be unescaped.
    std::vector<uint8_t> text;
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
