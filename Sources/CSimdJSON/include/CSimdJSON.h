#pragma once
// Strict JSON over simdjson: its first stage (structural index, UTF-8, strings) finds the tokens, a walk of our own
// checks the grammar of every one of them and keeps a tape of the values that a JSON pointer can reach.
// simdjson's own documents are not used, because they refuse valid JSON: integers beyond 64 bits, 1e400, and lone
// surrogates in strings that nobody reads. A parser belongs to one thread at a time.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lg_json_parser lg_json_parser;

/// What is wrong with a document; `LG_JSON_FINE` is nothing.
enum {
    LG_JSON_FINE = 0,
    LG_JSON_EMPTY = 1,
    LG_JSON_SYNTAX = 2,
    LG_JSON_NUMBER = 3,
    LG_JSON_ESCAPE = 4,
    LG_JSON_CONTROL = 5,
    LG_JSON_UNCLOSED = 6,
    LG_JSON_UTF8 = 7,
    LG_JSON_DEPTH = 8,
    LG_JSON_TOO_LARGE = 9,
    LG_JSON_MEMORY = 10,
};

enum {
    LG_JSON_NULL = 0,
    LG_JSON_FALSE = 1,
    LG_JSON_TRUE = 2,
    LG_JSON_NUMBER_VALUE = 3,
    LG_JSON_STRING = 4,
    LG_JSON_ARRAY = 5,
    LG_JSON_OBJECT = 6,
};

enum {
    /// A string with at least one escape.
    LG_JSON_ESCAPED = 1,
    /// A string with half a surrogate pair: valid by the grammar, without a form in UTF-8.
    LG_JSON_LONE_SURROGATE = 2,
    /// A number without fraction and exponent.
    LG_JSON_INTEGRAL = 4,
};

/// One value, or the name of a member, which stands right before its value.
typedef struct {
    uint32_t start; ///< first byte; of a string the one after its quote
    uint32_t end;   ///< one past the last byte; of a string its closing quote
    uint32_t next;  ///< the element after this one and all that is in it
    uint8_t kind;
    uint8_t flags;
} lg_json_element;

/// What `lg_json_resolve`, `lg_json_member` and `lg_json_find_text` found.
enum {
    LG_JSON_FOUND = 0,
    LG_JSON_ABSENT = 1,
    /// A member on the way stands more than once.
    LG_JSON_TWICE = 2,
    /// A string with half a surrogate pair, which is no text.
    LG_JSON_HALF_PAIR = 3,
};

lg_json_parser *lg_json_create(void);
void lg_json_destroy(lg_json_parser *parser);

/// Copies `length` bytes and reads them. Containers may stand `maximum_depth` deep in each other; values are taped down
/// to `taped_depth` (the document itself is 0), below that they are only checked. Linear in `length`; the stack does
/// not grow with the document. `offset` becomes the place of the fault where one is known.
int lg_json_parse(
    lg_json_parser *parser, const uint8_t *bytes, size_t length, uint32_t maximum_depth, uint32_t taped_depth,
    size_t *offset);

/// Gives back what a document of more than `retained` bytes made the parser hold.
void lg_json_trim(lg_json_parser *parser, size_t retained);

/// The number of bytes that the parser holds on to.
size_t lg_json_held_bytes(const lg_json_parser *parser);

lg_json_element lg_json_element_at(const lg_json_parser *parser, uint32_t element);

/// The value of the member of that name; of several, the first, and `LG_JSON_TWICE`.
int lg_json_member(
    const lg_json_parser *parser, uint32_t object, const uint8_t *name, size_t length, uint32_t *value);

/// Follows a pointer (RFC 6901), given as its reference tokens: for each two bytes of length, low one first, and the
/// bytes, with ~0 and ~1 already replaced.
int lg_json_resolve(
    const lg_json_parser *parser, uint32_t element, const uint8_t *path, size_t length, uint32_t *value);

/// Follows a pointer as `lg_json_resolve` does, to a text: a string that is not empty, or an integer of at most 64 bits
/// in decimal. Everything else is absent. `text` becomes its first byte, unescaped, and stays good until the next call of
/// this parser.
int lg_json_find_text(
    lg_json_parser *parser, uint32_t element, const uint8_t *path, size_t length, const uint8_t **text, size_t *count);

/// Writes the text of a string, or the characters of any other value, and returns how many bytes it wrote.
/// `out` takes at least `end - start` bytes of the element. A lone surrogate becomes U+FFFD.
size_t lg_json_text(const lg_json_parser *parser, uint32_t element, uint8_t *out);

/// Writes the characters of a value as they stand in the document, of a string those between its quotes, and returns
/// how many: `end - start`.
size_t lg_json_source(const lg_json_parser *parser, uint32_t element, uint8_t *out);

/// The integer, when the element is one of at most 64 bits: its bits, and whether it is below zero.
bool lg_json_integer(const lg_json_parser *parser, uint32_t element, uint64_t *bits, bool *negative);

#ifdef __cplusplus
}
#endif
