/// The messages of the protocol, as bytes of JSON without blanks.
package enum WireMessage {
    /// Appends `{"ent":…,"id":…,"type":…}`: exactly these keys, in this order.
    package static func appendPlain(_ event: ThinEvent, to bytes: inout [UInt8]) {
        append(event, at: nil, ts: nil, aid: nil, to: &bytes)
    }

    /// Appends the three keys, and behind them `at`, the text of a cursor, `ts`, the record's time stamp in milliseconds, and
    /// `aid`, where they are given.
    package static func append(
        _ event: ThinEvent, at: [UInt8]?, ts: Int64?, aid: ArchiveID?, to bytes: inout [UInt8]
    ) {
        append("{\"ent\":", to: &bytes)
        appendString(event.entity, to: &bytes)
        append(",\"id\":", to: &bytes)
        appendString(event.id, to: &bytes)
        append(",\"type\":", to: &bytes)
        appendString(event.type, to: &bytes)
        if let at { appendCursor(at, to: &bytes) }
        if let ts { append(",\"ts\":\(ts)", to: &bytes) }
        if let aid {
            append(",\"aid\":\"", to: &bytes)
            aid.append(to: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// Appends a JSON string, quotes included.
    ///
    /// It escapes what RFC 8259 §7 demands and nothing else: the quote, the backslash and U+0000 to U+001F. DEL, U+2028 and
    /// U+2029 stay as they are: JSON allows them, JavaScript has read them in strings since ES2019, and neither WebSocket nor
    /// event streams cut lines at them.
    package static func appendString(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        let characters = text.utf8Span.span
        for index in characters.indices {
            let byte = characters[index]
            if byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") {
                bytes.append(byte)
            } else {
                appendEscape(of: byte, to: &bytes)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func appendEscape(of byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        default:
            append("u00", to: &bytes)
            bytes.append(UInt8(ascii: "0") + byte >> 4)
            let low = byte & 0xF
            bytes.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
        }
    }

    static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: text.utf8)
    }
}

/// The body of an answer of `/sync/v1`, put together event by event.
package struct SyncPage: Sendable {
    private var bytes = Array("{\"events\":[".utf8)
    /// The events in it.
    package private(set) var count = 0

    package init() {}

    /// Every event of a page carries its cursor and its time stamp, whatever was requested, and `aid` where that was requested.
    package mutating func append(_ event: ThinEvent, at: [UInt8], ts: Int64, aid: ArchiveID?) {
        if count > 0 { bytes.append(UInt8(ascii: ",")) }
        count += 1
        WireMessage.append(event, at: at, ts: ts, aid: aid, to: &bytes)
    }

    /// - Parameters:
    ///   - at: the cursor to ask with next.
    ///   - more: whether there is more already.
    package consuming func finished(at: [UInt8], more: Bool) -> [UInt8] {
        bytes.append(UInt8(ascii: "]"))
        WireMessage.appendCursor(at, to: &bytes)
        bytes.append(contentsOf: ",\"more\":\(more)}".utf8)
        return bytes
    }
}
