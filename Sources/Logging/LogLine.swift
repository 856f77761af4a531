/// The format of a line.
package enum LogFormat: UInt8, Sendable {
    /// For people: `2026-11-21T10:40:46.123Z warning kafka: a topic is missing topic=incidents`.
    case text
    /// For machines: one JSON object a line.
    case json
}

/// Lines in preparation, one after the other. Confined to the thread that writes them.
struct LogText {
    /// Facts beyond this limit are left out, and the line reports that.
    static let maximumLineBytes = 16 * 1_024
    static let lineEnd = UInt8(ascii: "\n")

    private(set) var bytes: [UInt8] = []
    private var stamp = SecondStamp()

    /// Adds a line with its end.
    mutating func append(_ record: LogRecord, format: LogFormat) {
        let limit = bytes.count + Self.maximumLineBytes
        switch format {
        case .json: appendJSON(record, limit)
        case .text: appendText(record, limit)
        }
        bytes.append(Self.lineEnd)
    }

    /// Removes all lines, and keeps the memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    private mutating func appendJSON(_ record: LogRecord, _ limit: Int) {
        append("{\"time\":\"")
        stamp.append(record.time, to: &bytes)
        append("\",\"level\":\"")
        append(record.level.name)
        append("\",\"message\":")
        appendQuoted(record.message)
        append(",\"part\":")
        appendQuoted(record.part)
        for (key, value) in record.facts where value != .absent {
            guard bytes.count < limit else {
                append(",\"cut\":true")
                break
            }
            append(",\"")
            append(key.name)
            append("\":")
            appendValue(value, quoted: true)
        }
        append("}")
    }

    private mutating func appendText(_ record: LogRecord, _ limit: Int) {
        stamp.append(record.time, to: &bytes)
        append(" ")
        append(record.level.name)
        append(" ")
        append(record.part)
        append(": ")
        append(record.message)
        for (key, value) in record.facts where value != .absent {
            guard bytes.count < limit else {
                append(" cut=true")
                break
            }
            append(" ")
            append(key.name)
            append("=")
            appendValue(value, quoted: false)
        }
    }

    private mutating func appendValue(_ value: LogValue, quoted: Bool) {
        switch value {
        case .text(let text) where !quoted && Self.isBare(text): append(text)
        case .text(let text): appendQuoted(text)
        case .cut(let text, let count): appendQuoted(text, of: count)
        case .number(let number): append(number.description)
        case .truth(let truth): append(truth ? "true" : "false")
        case .absent: break
        }
    }

    /// Whether a value without quotes is still unambiguous.
    private static func isBare(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 256
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "._-:/@+[]".utf8.contains(byte)
                }
            }
    }

    /// Whether a text needs neither an escape nor a cut when it is quoted.
    private static func needsNoEscape(_ text: String) -> Bool {
        let bytes = text.utf8Span.span
        guard bytes.count <= LogValue.maximumTextBytes else { return false }
        for index in bytes.indices {
            switch bytes[index] {
            case 0x20..<0x7F where bytes[index] != UInt8(ascii: "\"") && bytes[index] != UInt8(ascii: "\\"): continue
            default: return false
            }
        }
        return true
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends a JSON string without characters that control a terminal or end a line for any reader of lines: C0, DEL, C1,
    /// U+2028, U+2029 and those that change the direction of writing.
    ///
    /// - Parameter total: the bytes of the whole text if `text` is only its beginning.
    private mutating func appendQuoted(_ text: String, of total: Int? = nil) {
        bytes.append(UInt8(ascii: "\""))
        // Nearly every value; character by character it would cost ten times as much.
        if total == nil, Self.needsNoEscape(text) {
            append(text)
            bytes.append(UInt8(ascii: "\""))
            return
        }
        let end = bytes.count + LogValue.maximumTextBytes
        var isCut = total != nil
        for scalar in text.unicodeScalars {
            guard bytes.count < end else {
                isCut = true
                break
            }
            switch scalar {
            case "\"": append("\\\"")
            case "\\": append("\\\\")
            case "\n": append("\\n")
            case "\r": append("\\r")
            case "\t": append("\\t")
            default:
                switch scalar.value {
                case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069:
                    let digits = String(scalar.value, radix: 16)
                    append("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
                default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                }
            }
        }
        if isCut { append("… (\(total ?? text.utf8.count) bytes)") }
        bytes.append(UInt8(ascii: "\""))
    }
}
