/// How a line looks.
package enum LogFormat: UInt8, Sendable {
    /// For people: `2026-11-21T10:40:46.123Z warning kafka: a topic is missing topic=incidents`.
    case text
    /// For machines: one JSON object a line.
    case json
}

/// A line in the making.
struct LogLine {
    /// A value from a peer can be as long as a message; nobody reads more of it than this.
    static let maximumValueBytes = 2_048
    /// Facts beyond it are left out, and the line says so.
    static let maximumLineBytes = 16 * 1_024

    private(set) var bytes: [UInt8] = []

    init(_ record: LogRecord, format: LogFormat) {
        bytes.reserveCapacity(256)
        switch format {
        case .json: appendJSON(record)
        case .text: appendText(record)
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func appendJSON(_ record: LogRecord) {
        append("{\"time\":\"\(Timestamp.text(record.time))\",\"level\":\"\(record.level.name)\",\"message\":")
        appendQuoted(record.message)
        append(",\"\(LogKey.part.name)\":")
        appendQuoted(record.part)
        for (key, value) in record.facts where value != .absent {
            guard bytes.count < Self.maximumLineBytes else {
                append(",\"cut\":true")
                break
            }
            append(",\"\(key.name)\":")
            switch value {
            case .text(let text): appendQuoted(text)
            case .number(let number): append("\(number)")
            case .truth(let truth): append("\(truth)")
            case .absent: break
            }
        }
        append("}")
    }

    private mutating func appendText(_ record: LogRecord) {
        append("\(Timestamp.text(record.time)) \(record.level.name) \(record.part): \(record.message)")
        for (key, value) in record.facts where value != .absent {
            guard bytes.count < Self.maximumLineBytes else {
                append(" cut=true")
                break
            }
            append(" \(key.name)=")
            switch value {
            case .text(let text) where Self.isBare(text): append(text)
            case .text(let text): appendQuoted(text)
            case .number(let number): append("\(number)")
            case .truth(let truth): append("\(truth)")
            case .absent: break
            }
        }
    }

    /// Whether a value can stand without quotes and still ends where it ends.
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

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// A JSON string, in which nothing is left that steers a terminal or ends a line for anybody who reads lines:
    /// C0, DEL, C1, U+2028, U+2029 and what turns the direction of writing.
    private mutating func appendQuoted(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        let end = bytes.count + Self.maximumValueBytes
        for scalar in text.unicodeScalars {
            guard bytes.count < end else {
                append("… (\(text.utf8.count) bytes)")
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
        bytes.append(UInt8(ascii: "\""))
    }
}
