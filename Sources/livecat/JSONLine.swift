import HTTP

/// One line of `--json`: what happened and when, with its data.
struct JSONLine {
    private(set) var text: String

    /// - Parameter milliseconds: since 1970, UTC.
    init(type: String, milliseconds: Int64) {
        text = "{\"time\":\"\(InternetDate.text(millisecondsSince1970: milliseconds))\",\"type\":\"\(type)\""
    }

    mutating func add(_ name: String, _ value: String) {
        text += ",\"\(name)\":\"" + Self.escaped(value) + "\""
    }

    mutating func add(_ name: String, _ value: Int) { text += ",\"\(name)\":\(value)" }

    /// Adds it as `text` if it is UTF-8 and meant as text, else as `base64`.
    mutating func add(payload: [UInt8], isText: Bool, base64: ([UInt8]) -> String) {
        if isText, let text = String(validating: payload, as: UTF8.self) {
            add("text", text)
        } else {
            add("base64", base64(payload))
        }
    }

    var line: String { text + "}\n" }

    /// RFC 8259 §7. DEL, C1 and the line separators are escaped too, because a line may be shown on a terminal.
    private static func escaped(_ value: String) -> String {
        var text = ""
        text.reserveCapacity(value.utf8.count)
        for scalar in value.unicodeScalars {
            switch scalar.value {
            case 0x22: text += "\\\""
            case 0x5C: text += "\\\\"
            case 0x0A: text += "\\n"
            case 0x0D: text += "\\r"
            case 0x09: text += "\\t"
            case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
