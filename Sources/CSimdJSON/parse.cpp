#include "walk.h"

#include <algorithm>
#include <cstring>

using namespace livegate;

namespace {

/// The tape's room at once, 64 KiB: more than a record of 20 KB has.
constexpr uint32_t reserved_elements = 4096;

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

lg_json_parser *lg_json_create(void) { return new (std::nothrow) lg_json_parser; }

void lg_json_destroy(lg_json_parser *parser) { delete parser; }

int lg_json_parse(
    lg_json_parser *parser, const uint8_t *bytes, size_t length, uint32_t maximum_depth, uint32_t taped_depth,
    size_t *offset) {
    parser->tape.fill(0);
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
    // A value, or a name, has an entry in the index, and all but those that open a container have a second one beside it.
    // Most of a large document stands too deep to be taped: beyond the first elements the tape grows with what is.
    parser->tape.reserve(std::min(parser->indexer->n_structural_indexes / 2 + 1, reserved_elements));
    outcome outcome = walk(*parser, maximum_depth, taped_depth).run();
    *offset = outcome.at;
    return outcome.fault;
}

void lg_json_trim(lg_json_parser *parser, size_t retained) {
    if (parser->capacity > retained) {
        parser->tape.fill(0);
        parser->length = 0;
        parser->bytes.reset();
        parser->indexer.reset();
        parser->capacity = 0;
    }
    if (parser->tape.bytes() > retained) parser->tape.release();
    if (parser->text.capacity() > retained) std::vector<uint8_t>().swap(parser->text);
}

size_t lg_json_held_bytes(const lg_json_parser *parser) {
    // simdjson's index takes four bytes for each byte of the document.
    return parser->capacity * 5 + parser->tape.bytes()
        + parser->levels.capacity() * sizeof(lg_json_parser::level) + parser->text.capacity();
}
}
