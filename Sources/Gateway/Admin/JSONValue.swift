/// JSON that is written, in the order in which it was put together (RFC 8259).
indirect enum JSONValue: Sendable, Equatable {
    case object([Member])
    case array([JSONValue])
    case text(String)
    case integer(Int64)
    /// Written with up to three digits after the point; a value that is not a number is null.
    case decimal(Double)
    case truth(Bool)
    case null

    struct Member: Sendable, Equatable {
        let name: String
        let value: JSONValue
    }

    /// An object from names and values.
    static func members(_ members: KeyValuePairs<String, JSONValue>) -> JSONValue {
        .object(members.map { Member(name: $0.key, value: $0.value) })
    }

    static func integer(_ value: some BinaryInteger) -> JSONValue { .integer(Int64(clamping: value)) }

    /// A value, or null.
    static func optional<Wrapped>(_ value: Wrapped?, _ make: (Wrapped) -> JSONValue) -> JSONValue {
        value.map(make) ?? .null
    }

    /// One line, with its end.
    var line: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        bytes.append(0x0A)
        return bytes
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.write(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .text(let text): Self.write(text, to: &bytes)
        case .integer(let value): bytes.append(contentsOf: "\(value)".utf8)
        case .decimal(let value): Self.write(value, to: &bytes)
        case .truth(let value): bytes.append(contentsOf: "\(value)".utf8)
        case .null: bytes.append(contentsOf: "null".utf8)
        }
    }

    private static func write(_ value: Double, to bytes: inout [UInt8]) {
        let thousandths = (value * 1000).rounded()
        guard let thousandths = Int64(exactly: thousandths) else { return bytes.append(contentsOf: "null".utf8) }
        if thousandths < 0 { bytes.append(UInt8(ascii: "-")) }
        bytes.append(contentsOf: "\(thousandths.magnitude / 1000)".utf8)
        let rest = thousandths.magnitude % 1000
        guard rest > 0 else { return }
        let digits = String(rest + 1000).dropFirst()
        bytes.append(UInt8(ascii: "."))
        bytes.append(contentsOf: digits.utf8)
        while bytes.last == UInt8(ascii: "0") { bytes.removeLast() }
    }

    private static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case 0x22, 0x5C: bytes.append(contentsOf: [0x5C, byte])
            // Control characters, and DEL for the sake of terminals.
            case 0..<0x20, 0x7F:
                bytes.append(contentsOf: "\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
