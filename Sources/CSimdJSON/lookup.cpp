#include "tape.h"

#include <cstring>

using namespace livegate;

namespace livegate {

const uint8_t *unescape(const uint8_t *from, uint8_t out[4], size_t &written) noexcept {
    written = 1;
    if (*from != '\\') {
        out[0] = *from;
        return from + 1;
    }
    switch (from[1]) {
    case 'b': out[0] = '\b'; return from + 2;
    case 'f': out[0] = '\f'; return from + 2;
    case 'n': out[0] = '\n'; return from + 2;
    case 'r': out[0] = '\r'; return from + 2;
    case 't': out[0] = '\t'; return from + 2;
    case 'u': break;
    default: out[0] = from[1]; return from + 2;
    }
    int32_t point = hexadecimal(from + 2);
    from += 6;
    if ((point & 0xF800) == 0xD800) {
        int32_t low = from[0] == '\\' && from[1] == 'u' ? hexadecimal(from + 2) : -1;
        if (is_high_surrogate(point) && is_low_surrogate(low)) {
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
            from += 6;
        } else {
            point = 0xFFFD;
        }
    }
    if (point < 0x80) {
        out[0] = uint8_t(point);
    } else if (point < 0x800) {
        out[0] = uint8_t(0xC0 | point >> 6);
        out[1] = uint8_t(0x80 | (point & 0x3F));
        written = 2;
    } else if (point < 0x10000) {
        out[0] = uint8_t(0xE0 | point >> 12);
        out[1] = uint8_t(0x80 | (point >> 6 & 0x3F));
        out[2] = uint8_t(0x80 | (point & 0x3F));
        written = 3;
    } else {
        out[0] = uint8_t(0xF0 | point >> 18);
        out[1] = uint8_t(0x80 | (point >> 12 & 0x3F));
        out[2] = uint8_t(0x80 | (point >> 6 & 0x3F));
        out[3] = uint8_t(0x80 | (point & 0x3F));
        written = 4;
    }
    return from;
}

}  // namespace livegate

namespace {

/// Whether a name with escapes is these bytes: "\u0069d" is "id".
bool is_named_by_escapes(
    const lg_json_parser &parser, const lg_json_element &element, const uint8_t *name, size_t length) noexcept {
    // No name that anybody asks for has half a pair in it.
    if (element.flags & LG_JSON_LONE_SURROGATE) return false;
    const uint8_t *from = parser.bytes.get() + element.start;
    const uint8_t *stop = parser.bytes.get() + element.end;
    size_t matched = 0;
    while (from < stop) {
        uint8_t character[4];
        size_t size;
        from = unescape(from, character, size);
        if (length - matched < size || std::memcmp(name + matched, character, size) != 0) return false;
        matched += size;
    }
    return matched == length;
}

/// Whether the name at `element` is these bytes. Most names differ in their lengths or first bytes already.
inline bool is_named(
    const lg_json_parser &parser, const lg_json_element &element, const uint8_t *name, size_t length) noexcept {
    if (element.flags & LG_JSON_ESCAPED) return is_named_by_escapes(parser, element, name, length);
    if (element.end - element.start != length) return false;
    const uint8_t *from = parser.bytes.get() + element.start;
    return length == 0 || (*from == *name && std::memcmp(from, name, length) == 0);
}

/// `lg_json_member` of an element that is an object.
inline int member(
    const lg_json_parser &parser, uint32_t object, const uint8_t *name, size_t length, uint32_t *value) noexcept {
    // What lies in an element is on the tape.
    const lg_json_element *tape = &parser.tape[0];
    const uint32_t stop = tape[object].next;
    int found = LG_JSON_ABSENT;
    for (uint32_t element = object + 1; element < stop; element = tape[element + 1].next) {
        if (!is_named(parser, tape[element], name, length)) continue;
        if (found == LG_JSON_FOUND) return LG_JSON_TWICE;
        *value = element + 1;
        found = LG_JSON_FOUND;
    }
    return found;
}

/// RFC 6901 §4: digits without a leading zero.
int indexed(const lg_json_parser &parser, uint32_t array, const uint8_t *digits, size_t length, uint32_t *value) {
    if (length == 0 || length > 9 || (digits[0] == '0' && length > 1)) return LG_JSON_ABSENT;
    uint32_t place = 0;
    for (size_t digit = 0; digit < length; digit++) {
        if (digits[digit] < '0' || digits[digit] > '9') return LG_JSON_ABSENT;
        place = place * 10 + (digits[digit] - '0');
    }
    uint32_t stop = parser.tape[array].next;
    uint32_t element = array + 1;
    for (; place > 0 && element < stop; place--) element = parser.tape[element].next;
    if (element >= stop) return LG_JSON_ABSENT;
    *value = element;
    return LG_JSON_FOUND;
}

}  // namespace

extern "C" {

lg_json_element lg_json_element_at(const lg_json_parser *parser, uint32_t element) { return parser->tape[element]; }

int lg_json_member(
    const lg_json_parser *parser, uint32_t object, const uint8_t *name, size_t length, uint32_t *value) {
    return parser->tape[object].kind == LG_JSON_OBJECT ? member(*parser, object, name, length, value) : LG_JSON_ABSENT;
}

int lg_json_resolve(
    const lg_json_parser *parser, uint32_t element, const uint8_t *path, size_t length, uint32_t *value) {
    const uint8_t *stop = path + length;
    while (path < stop) {
        size_t size = path[0] | size_t(path[1]) << 8;
        const uint8_t *token = path + 2;
        path = token + size;
        int found = LG_JSON_ABSENT;
        switch (parser->tape[element].kind) {
        case LG_JSON_OBJECT: found = member(*parser, element, token, size, &element); break;
        case LG_JSON_ARRAY: found = indexed(*parser, element, token, size, &element); break;
        }
        if (found != LG_JSON_FOUND) return found;
    }
    *value = element;
    return LG_JSON_FOUND;
}

int lg_json_find_text(
    lg_json_parser *parser, uint32_t element, const uint8_t *path, size_t length, const uint8_t **text, size_t *count) {
    int found = lg_json_resolve(parser, element, path, length, &element);
    if (found != LG_JSON_FOUND) return found;
    const lg_json_element &value = parser->tape[element];
    *text = parser->bytes.get() + value.start;
    *count = value.end - value.start;
    uint64_t bits;
    bool negative;
    switch (value.kind) {
    case LG_JSON_STRING:
        if (value.flags & LG_JSON_LONE_SURROGATE) return LG_JSON_HALF_PAIR;
        if (*count == 0) return LG_JSON_ABSENT;
        if (!(value.flags & LG_JSON_ESCAPED)) return LG_JSON_FOUND;
        parser->text.resize(*count);
        *count = lg_json_text(parser, element, parser->text.data());
        *text = parser->text.data();
        return LG_JSON_FOUND;
    case LG_JSON_NUMBER_VALUE:
        if (!lg_json_integer(parser, element, &bits, &negative)) return LG_JSON_ABSENT;
        // The grammar leaves one integer two forms: -0 is 0.
        if (**text == '-' && !negative) {
            *text += 1;
            *count -= 1;
        }
        return LG_JSON_FOUND;
    default:
        return LG_JSON_ABSENT;
    }
}

size_t lg_json_text(const lg_json_parser *parser, uint32_t place, uint8_t *out) {
    const lg_json_element &element = parser->tape[place];
    const uint8_t *from = parser->bytes.get() + element.start;
    const uint8_t *stop = parser->bytes.get() + element.end;
    if (element.kind != LG_JSON_STRING || !(element.flags & LG_JSON_ESCAPED)) {
        std::memcpy(out, from, size_t(stop - from));
        return size_t(stop - from);
    }
    uint8_t *to = out;
    while (from < stop) {
        uint8_t character[4];
        size_t size;
        from = unescape(from, character, size);
        // Escapes are never shorter than what they stand for, so this stays behind `stop - start`.
        std::memcpy(to, character, size);
        to += size;
    }
    return size_t(to - out);
}

size_t lg_json_source(const lg_json_parser *parser, uint32_t place, uint8_t *out) {
    const lg_json_element &element = parser->tape[place];
    std::memcpy(out, parser->bytes.get() + element.start, element.end - element.start);
    return element.end - element.start;
}

bool lg_json_integer(const lg_json_parser *parser, uint32_t place, uint64_t *bits, bool *negative) {
    const lg_json_element &element = parser->tape[place];
    if (element.kind != LG_JSON_NUMBER_VALUE || !(element.flags & LG_JSON_INTEGRAL)) return false;
    const uint8_t *from = parser->bytes.get() + element.start;
    const uint8_t *stop = parser->bytes.get() + element.end;
    bool below = *from == '-';
    uint64_t value = 0;
    for (from += below ? 1 : 0; from < stop; from++) {
        if (__builtin_mul_overflow(value, uint64_t(10), &value)) return false;
        if (__builtin_add_overflow(value, uint64_t(*from - '0'), &value)) return false;
    }
    if (below && value > uint64_t(1) << 63) return false;
    *negative = below && value != 0;
    *bits = *negative ? uint64_t(0) - value : value;
    return true;
}
}
