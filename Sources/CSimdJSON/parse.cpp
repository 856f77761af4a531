#include "tape.h"

#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

using namespace livegate;

namespace {

/// Checks every token that simdjson's index points at, and what stands between them.
class walk {
public:
    walk(lg_json_parser &parser, uint32_t maximum_depth, uint32_t taped_depth) noexcept
        : parser(parser), bytes(parser.bytes.get()), index(parser.indexer->structural_indexes.get()),
          count(parser.indexer->n_structural_indexes), maximum_depth(maximum_depth), taped_depth(taped_depth) {}

    int run() noexcept;

    /// Where the walk stands: the place of the fault after a refusal.
    uint32_t at = 0;

private:
    enum class expecting { value, value_or_end, name, name_or_end, colon, comma_or_end, nothing };

    int step(uint8_t first) noexcept;
    int value(uint8_t first) noexcept;
    int name() noexcept;
    int open(bool object) noexcept;
    int close(bool object) noexcept;
    int string() noexcept;
    int number() noexcept;
    int literal(const char *word, uint32_t size, uint8_t kind) noexcept;
    void append(uint8_t kind, uint8_t flags, uint32_t start, uint32_t stop) noexcept;
    bool only_blanks(uint32_t from, uint32_t to) noexcept;

    lg_json_parser &parser;
    const uint8_t *bytes;
    const uint32_t *index;
    uint32_t count;
    uint32_t maximum_depth;
    uint32_t taped_depth;
    uint32_t end = 0;
    expecting state = expecting::value;
};

int walk::run() noexcept {
    uint32_t length = uint32_t(parser.length);
    if (count == 0) return LG_JSON_EMPTY;
    if (!only_blanks(0, index[0])) return LG_JSON_SYNTAX;
    for (uint32_t position = 0; position < count; position++) {
        at = index[position];
        if (at >= length) return LG_JSON_SYNTAX;
        int fault = step(bytes[at]);
        if (fault != LG_JSON_FINE) return fault;
        uint32_t next = position + 1 < count ? index[position + 1] : length;
        // The index leaves out blanks and the insides of tokens; anything else between two tokens is a fault.
        if (end != next && !only_blanks(end, next)) return LG_JSON_SYNTAX;
    }
    at = length;
    return state == expecting::nothing ? LG_JSON_FINE : LG_JSON_UNCLOSED;
}

int walk::step(uint8_t first) noexcept {
    switch (state) {
    case expecting::value_or_end:
        if (first == ']') return close(false);
        return value(first);
    case expecting::value:
        return value(first);
    case expecting::name_or_end:
        if (first == '}') return close(true);
        return first == '"' ? name() : LG_JSON_SYNTAX;
    case expecting::name:
        return first == '"' ? name() : LG_JSON_SYNTAX;
    case expecting::colon:
        end = at + 1;
        state = expecting::value;
        return first == ':' ? LG_JSON_FINE : LG_JSON_SYNTAX;
    case expecting::comma_or_end: {
        bool object = parser.levels.back().object;
        if (first == ',') {
            end = at + 1;
            state = object ? expecting::name : expecting::value;
            return LG_JSON_FINE;
        }
        if (first == (object ? '}' : ']')) return close(object);
        return LG_JSON_SYNTAX;
    }
    case expecting::nothing:
        return LG_JSON_SYNTAX;
    }
    return LG_JSON_SYNTAX;
}

int walk::value(uint8_t first) noexcept {
    if (first == '{') return open(true);
    if (first == '[') return open(false);
    int fault;
    switch (first) {
    case '"': fault = string(); break;
    case 't': fault = literal("true", 4, LG_JSON_TRUE); break;
    case 'f': fault = literal("false", 5, LG_JSON_FALSE); break;
    case 'n': fault = literal("null", 4, LG_JSON_NULL); break;
    default: fault = number();
    }
    state = parser.levels.empty() ? expecting::nothing : expecting::comma_or_end;
    return fault;
}

int walk::name() noexcept {
    state = expecting::colon;
    return string();
}

int walk::open(bool object) noexcept {
    // Checked before anything grows: a document of brackets costs its own length and this many levels.
    if (parser.levels.size() >= maximum_depth) return LG_JSON_DEPTH;
    uint32_t element = parser.levels.size() <= taped_depth ? uint32_t(parser.tape.size()) : untaped;
    append(object ? LG_JSON_OBJECT : LG_JSON_ARRAY, 0, at, at + 1);
    parser.levels.push_back({element, object});
    state = object ? expecting::name_or_end : expecting::value_or_end;
    return LG_JSON_FINE;
}

int walk::close(bool object) noexcept {
    (void)object;
    uint32_t element = parser.levels.back().element;
    parser.levels.pop_back();
    end = at + 1;
    if (element != untaped) {
        parser.tape[element].end = end;
        parser.tape[element].next = uint32_t(parser.tape.size());
    }
    state = parser.levels.empty() ? expecting::nothing : expecting::comma_or_end;
    return LG_JSON_FINE;
}

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

int walk::string() noexcept {
    const uint8_t *from = bytes + at + 1;
    const uint8_t *stop = bytes + parser.length;
    uint8_t flags = 0;
    for (;;) {
        from = quote_or_backslash(from);
        if (from >= stop) return LG_JSON_UNCLOSED;
        if (*from == '"') break;
        flags |= LG_JSON_ESCAPED;
        switch (from[1]) {
        case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
            from += 2;
            continue;
        case 'u':
            break;
        default:
            at = uint32_t(from - bytes);
            return LG_JSON_ESCAPE;
        }
        int32_t unit = hexadecimal(from + 2);
        if (unit < 0) {
            at = uint32_t(from - bytes);
            return LG_JSON_ESCAPE;
        }
        from += 6;
        if (is_high_surrogate(unit) && from[0] == '\\' && from[1] == 'u' && is_low_surrogate(hexadecimal(from + 2))) {
            from += 6;
        } else if ((unit & 0xF800) == 0xD800) {
            flags |= LG_JSON_LONE_SURROGATE;
        }
    }
    uint32_t close = uint32_t(from - bytes);
    append(LG_JSON_STRING, flags, at + 1, close);
    end = close + 1;
    return LG_JSON_FINE;
}

/// RFC 8259 §6: no plus sign, no leading zero, digits on both sides of the point.
int walk::number() noexcept {
    auto is_digit = [](uint8_t byte) { return uint8_t(byte - '0') <= 9; };
    const uint8_t *from = bytes + at;
    uint8_t flags = LG_JSON_INTEGRAL;
    if (*from == '-') from++;
    if (!is_digit(*from)) return from == bytes + at ? LG_JSON_SYNTAX : LG_JSON_NUMBER;
    if (*from == '0') {
        from++;
        if (is_digit(*from)) return LG_JSON_NUMBER;
    } else {
        while (is_digit(*from)) from++;
    }
    if (*from == '.') {
        flags = 0;
        if (!is_digit(*++from)) return LG_JSON_NUMBER;
        while (is_digit(*from)) from++;
    }
    if ((*from | 0x20) == 'e') {
        flags = 0;
        from++;
        if (*from == '+' || *from == '-') from++;
        if (!is_digit(*from)) return LG_JSON_NUMBER;
        while (is_digit(*from)) from++;
    }
    end = uint32_t(from - bytes);
    append(LG_JSON_NUMBER_VALUE, flags, at, end);
    return LG_JSON_FINE;
}

int walk::literal(const char *word, uint32_t size, uint8_t kind) noexcept {
    if (std::memcmp(bytes + at, word, size) != 0) return LG_JSON_SYNTAX;
    end = at + size;
    append(kind, 0, at, end);
    return LG_JSON_FINE;
}

void walk::append(uint8_t kind, uint8_t flags, uint32_t start, uint32_t stop) noexcept {
    end = stop;
    if (parser.levels.size() > taped_depth) return;
    parser.tape.push_back({start, stop, uint32_t(parser.tape.size()) + 1, kind, flags});
}

bool walk::only_blanks(uint32_t from, uint32_t to) noexcept {
    for (uint32_t place = from; place < to; place++) {
        uint8_t byte = bytes[place];
        if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t') {
            at = place;
            return false;
        }
    }
    return from <= to;
}

/// Room for `length` bytes, their padding and their index. Grows by doubling up to 1 MiB (the size to which Kafka
/// limits records unless told otherwise), beyond that to what is asked for.
bool make_room(lg_json_parser &parser, size_t length) noexcept {
    if (parser.capacity >= length && parser.bytes && parser.indexer) return true;
    size_t capacity = parser.capacity < 1024 ? 1024 : parser.capacity;
    while (capacity < length && capacity < (1u << 20)) capacity *= 2;
    if (capacity < length) capacity = length;
    parser.bytes.reset(new (std::nothrow) uint8_t[capacity + padding]);
    parser.capacity = 0;
    if (!parser.bytes) return false;
    // The depth given here is that of simdjson's own second stage, which is not used.
    simdjson::error_code error = parser.indexer
        ? parser.indexer->set_capacity(capacity)
        : simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, 1, parser.indexer);
    if (error != simdjson::SUCCESS) {
        parser.indexer.reset();
        return false;
    }
    parser.capacity = capacity;
    return true;
}

}  // namespace

extern "C" {

lg_json_parser *lg_json_create(void) { return new lg_json_parser; }

void lg_json_destroy(lg_json_parser *parser) { delete parser; }

int lg_json_parse(
    lg_json_parser *parser, const uint8_t *bytes, size_t length, uint32_t maximum_depth, uint32_t taped_depth,
    size_t *offset) {
    parser->tape.clear();
    parser->levels.clear();
    parser->length = 0;
    *offset = 0;
    if (length == 0) return LG_JSON_EMPTY;
    // Places are 32 bits wide, in simdjson's index as on the tape.
    if (length > simdjson::SIMDJSON_MAXSIZE_BYTES - 2 * padding) return LG_JSON_TOO_LARGE;
    if (!make_room(*parser, length)) return LG_JSON_MEMORY;
    std::memcpy(parser->bytes.get(), bytes, length);
    std::memset(parser->bytes.get() + length, 0, padding);
    parser->bytes[length] = '"';
    parser->length = length;
    switch (parser->indexer->stage1(parser->bytes.get(), length, simdjson::stage1_mode::regular)) {
    case simdjson::SUCCESS: break;
    case simdjson::EMPTY: return LG_JSON_EMPTY;
    case simdjson::UTF8_ERROR: return LG_JSON_UTF8;
    case simdjson::UNESCAPED_CHARS: return LG_JSON_CONTROL;
    case simdjson::UNCLOSED_STRING: return LG_JSON_UNCLOSED;
    default: return LG_JSON_SYNTAX;
    }
    walk walk(*parser, maximum_depth, taped_depth);
    int fault = walk.run();
    *offset = walk.at;
    if (fault != LG_JSON_FINE) parser->tape.clear();
    return fault;
}

void lg_json_trim(lg_json_parser *parser, size_t retained) {
    if (parser->capacity > retained) {
        parser->tape.clear();
        parser->length = 0;
        parser->bytes.reset();
        parser->indexer.reset();
        parser->capacity = 0;
    }
    if (parser->tape.capacity() * sizeof(lg_json_element) > retained) std::vector<lg_json_element>().swap(parser->tape);
}

size_t lg_json_held_bytes(const lg_json_parser *parser) {
    // simdjson's index takes four bytes for each byte of the document.
    return parser->capacity * 5 + parser->tape.capacity() * sizeof(lg_json_element)
        + parser->levels.capacity() * sizeof(lg_json_parser::level);
}
}
