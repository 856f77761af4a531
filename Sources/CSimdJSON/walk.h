#pragma once
// The walk over a document's tokens: checks the grammar of each, and writes the tape.
#include "tape.h"

#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace livegate {

/// What the walk came to: a fault or `LG_JSON_FINE`, and where it stood.
struct outcome {
    int fault;
    uint32_t at;
};

/// The first quote or backslash, sixteen or eight bytes at a time. The padding holds a quote, so it ends.
inline const uint8_t *quote_or_backslash(const uint8_t *from) noexcept {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    for (;; from += 16) {
        const __m128i word = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
        const int hits = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(word, quote), _mm_cmpeq_epi8(word, backslash)));
        if (hits != 0) return from + __builtin_ctz(unsigned(hits));
    }
#else
    constexpr uint64_t ones = 0x0101010101010101ull;
    constexpr uint64_t tops = 0x8080808080808080ull;
    for (;; from += 8) {
        uint64_t word;
        std::memcpy(&word, from, 8);
        uint64_t quotes = word ^ (ones * '"');
        uint64_t backslashes = word ^ (ones * '\\');
        uint64_t hits = ((quotes - ones) & ~quotes & tops) | ((backslashes - ones) & ~backslashes & tops);
        if (hits == 0) continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        // A borrow can only mark bytes above a true hit, so the lowest mark is true.
        return from + (__builtin_ctzll(hits) >> 3);
#else
        while (*from != '"' && *from != '\\') from++;
        return from;
#endif
    }
#endif
}

inline bool is_blank(uint8_t byte) noexcept { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

/// The rest of a string from its first backslash on: finds the closing quote, and adds to `flags`. Where it is not
/// correct, `from` becomes the place of the fault.
inline int escaped(const uint8_t *&from, const uint8_t *stop, uint8_t &flags) noexcept {
    for (;;) {
        from = quote_or_backslash(from);
        if (from >= stop) return LG_JSON_UNCLOSED;
        if (*from == '"') return LG_JSON_FINE;
        flags |= LG_JSON_ESCAPED;
        switch (from[1]) {
        case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
            from += 2;
            continue;
        case 'u':
            break;
        default:
            return LG_JSON_ESCAPE;
        }
        int32_t unit = hexadecimal(from + 2);
        if (unit < 0) return LG_JSON_ESCAPE;
        from += 6;
        if (is_high_surrogate(unit) && from[0] == '\\' && from[1] == 'u' && is_low_surrogate(hexadecimal(from + 2))) {
            from += 6;
        } else if ((unit & 0xF800) == 0xD800) {
            flags |= LG_JSON_LONE_SURROGATE;
        }
    }
}

/// RFC 8259 §6: no plus sign, no leading zero, digits on both sides of the point. Returns the byte behind it, or nothing.
inline const uint8_t *number_end(const uint8_t *from, uint8_t &flags) noexcept {
    auto is_digit = [](uint8_t byte) { return uint8_t(byte - '0') <= 9; };
    flags = LG_JSON_INTEGRAL;
    if (*from == '-') from++;
    if (!is_digit(*from)) return nullptr;
    if (*from == '0') {
        from++;
        if (is_digit(*from)) return nullptr;
    } else {
        while (is_digit(*from)) from++;
    }
    if (*from == '.') {
        flags = 0;
        if (!is_digit(*++from)) return nullptr;
        while (is_digit(*from)) from++;
    }
    if ((*from | 0x20) == 'e') {
        flags = 0;
        from++;
        if (*from == '+' || *from == '-') from++;
        if (!is_digit(*from)) return nullptr;
        while (is_digit(*from)) from++;
    }
    return from;
}

#define LG_STEP inline __attribute__((always_inline))

/// Checks every token that simdjson's index points at, and what stands between them.
///
/// Every step is part of `run`, so that what it keeps stays in registers: a value costs some thirty instructions.
class walk {
public:
    LG_STEP walk(lg_json_parser &parser, uint32_t maximum_depth, uint32_t taped_depth) noexcept
        : parser(parser), bytes(parser.bytes.get()), length(uint32_t(parser.length)), maximum_depth(maximum_depth),
          taped_depth(taped_depth), tape(parser.tape.room()), tape_capacity(parser.tape.capacity()),
          levels(parser.levels.data()), levels_capacity(uint32_t(parser.levels.size())) {}

    LG_STEP outcome run() noexcept {
        const uint32_t *index = parser.indexer->structural_indexes.get();
        const uint32_t *const stop = index + parser.indexer->n_structural_indexes;
        if (index == stop) return {LG_JSON_EMPTY, 0};
        int fault = LG_JSON_FINE;
        if (!only_blanks(0, *index)) return {LG_JSON_SYNTAX, at};
        for (; index != stop; index++) {
            at = *index;
            if (at >= length) return {LG_JSON_SYNTAX, at};
            fault = step(bytes[at]);
            if (fault != LG_JSON_FINE) return {fault, at};
            uint32_t next = index + 1 != stop ? index[1] : length;
            // The index leaves out blanks and the insides of tokens; anything else between two tokens is a fault.
            if (end != next && !only_blanks(end, next)) return {LG_JSON_SYNTAX, at};
        }
        if (state != expecting::nothing) return {LG_JSON_UNCLOSED, length};
        parser.tape.fill(count);
        return {LG_JSON_FINE, length};
    }

private:
    enum class expecting { value, value_or_end, name, name_or_end, colon, comma_or_end, nothing };

    LG_STEP int step(uint8_t first) noexcept {
        switch (state) {
        case expecting::value_or_end:
            if (first == ']') return close();
            return value(first);
        case expecting::value:
            return value(first);
        case expecting::name_or_end:
            if (first == '}') return close();
            return first == '"' ? name() : LG_JSON_SYNTAX;
        case expecting::name:
            return first == '"' ? name() : LG_JSON_SYNTAX;
        case expecting::colon:
            end = at + 1;
            state = expecting::value;
            return first == ':' ? LG_JSON_FINE : LG_JSON_SYNTAX;
        case expecting::comma_or_end:
            if (first == ',') {
                end = at + 1;
                state = is_in_object ? expecting::name : expecting::value;
                return LG_JSON_FINE;
            }
            if (first == (is_in_object ? '}' : ']')) return close();
            return LG_JSON_SYNTAX;
        case expecting::nothing:
            break;
        }
        return LG_JSON_SYNTAX;
    }

    LG_STEP int value(uint8_t first) noexcept {
        if (first == '{') return open(true);
        if (first == '[') return open(false);
        state = depth == 0 ? expecting::nothing : expecting::comma_or_end;
        switch (first) {
        case '"': return string();
        case 't': return literal("true", 4, LG_JSON_TRUE);
        case 'f': return literal("false", 5, LG_JSON_FALSE);
        case 'n': return literal("null", 4, LG_JSON_NULL);
        default: return number();
        }
    }

    LG_STEP int name() noexcept {
        state = expecting::colon;
        return string();
    }

    LG_STEP int open(bool object) noexcept {
        // Checked before anything grows: a document of brackets costs its own length and this many levels.
        if (depth >= maximum_depth) return LG_JSON_DEPTH;
        if (depth == levels_capacity) grow_levels();
        levels[depth] = {depth <= taped_depth ? count : untaped, object};
        append(object ? LG_JSON_OBJECT : LG_JSON_ARRAY, 0, at, at + 1);
        depth++;
        is_in_object = object;
        state = object ? expecting::name_or_end : expecting::value_or_end;
        return LG_JSON_FINE;
    }

    LG_STEP int close() noexcept {
        uint32_t element = levels[--depth].element;
        end = at + 1;
        if (element != untaped) {
            tape[element].end = end;
            tape[element].next = count;
        }
        state = depth == 0 ? expecting::nothing : expecting::comma_or_end;
        is_in_object = depth > 0 && levels[depth - 1].object;
        return LG_JSON_FINE;
    }

    LG_STEP int string() noexcept {
        const uint8_t *from = quote_or_backslash(bytes + at + 1);
        uint8_t flags = 0;
        if (*from == '\\') {
            const int fault = escaped(from, bytes + length, flags);
            if (fault == LG_JSON_ESCAPE) at = uint32_t(from - bytes);
            if (fault != LG_JSON_FINE) return fault;
        } else if (from >= bytes + length) {
            return LG_JSON_UNCLOSED;
        }
        uint32_t closing = uint32_t(from - bytes);
        append(LG_JSON_STRING, flags, at + 1, closing);
        end = closing + 1;
        return LG_JSON_FINE;
    }

    LG_STEP int number() noexcept {
        uint8_t flags;
        const uint8_t *from = number_end(bytes + at, flags);
        if (!from) return is_number_begun(bytes[at]) ? LG_JSON_NUMBER : LG_JSON_SYNTAX;
        append(LG_JSON_NUMBER_VALUE, flags, at, uint32_t(from - bytes));
        return LG_JSON_FINE;
    }

    static bool is_number_begun(uint8_t first) noexcept { return first == '-' || uint8_t(first - '0') <= 9; }

    LG_STEP int literal(const char *word, uint32_t size, uint8_t kind) noexcept {
        if (std::memcmp(bytes + at, word, size) != 0) return LG_JSON_SYNTAX;
        append(kind, 0, at, at + size);
        return LG_JSON_FINE;
    }

    LG_STEP void append(uint8_t kind, uint8_t flags, uint32_t start, uint32_t stop) noexcept {
        end = stop;
        if (depth > taped_depth) return;
        if (count == tape_capacity) grow_tape();
        tape[count] = {start, stop, count + 1, kind, flags};
        count++;
    }

    LG_STEP bool only_blanks(uint32_t from, uint32_t to) noexcept {
        for (uint32_t place = from; place < to; place++) {
            if (!is_blank(bytes[place])) {
                at = place;
                return false;
            }
        }
        return from <= to;
    }

    LG_STEP void grow_tape() noexcept {
        parser.tape.grow(count);
        tape = parser.tape.room();
        tape_capacity = parser.tape.capacity();
    }

    LG_STEP void grow_levels() noexcept {
        parser.levels.resize(levels_capacity < 16 ? 16 : 2 * levels_capacity);
        levels = parser.levels.data();
        levels_capacity = uint32_t(parser.levels.size());
    }

    lg_json_parser &parser;
    const uint8_t *const bytes;
    const uint32_t length;
    const uint32_t maximum_depth;
    const uint32_t taped_depth;
    lg_json_element *tape;
    uint32_t tape_capacity;
    lg_json_parser::level *levels;
    uint32_t levels_capacity;
    /// Elements on the tape.
    uint32_t count = 0;
    /// Containers that are open.
    uint32_t depth = 0;
    /// The kind of the innermost of them.
    bool is_in_object = false;
    /// Where the walk stands: the place of the fault after a refusal.
    uint32_t at = 0;
    /// One past the last token.
    uint32_t end = 0;
    expecting state = expecting::value;
};

#undef LG_STEP

}  // namespace livegate
