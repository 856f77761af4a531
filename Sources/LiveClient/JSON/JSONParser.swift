/// Parses a JSON document byte by byte, because messages of a server are a few hundred bytes long.
struct JSONParser {
    private let bytes: [UInt8]
    private let maximumDepth: Int
    private var position = 0

    init(_ bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    /// The document; nil if it is invalid.
    mutating func document() -> JSONNode? {
        guard let root = value(depth: 0), next == nil else { return nil }
        return root
    }

    /// The next byte after blanks; nil means the end.
    private var next: UInt8? {
        mutating get {
            while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
            return here
        }
    }

    private var here: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) -> JSONNode? {
        guard let first = next else { return nil }
        let start = position
        let content: JSONNode.Content?
        switch first {
        case UInt8(ascii: "{"): content = depth < maximumDepth ? object(depth + 1) : nil
        case UInt8(ascii: "["): content = depth < maximumDepth ? array(depth + 1) : nil
        case UInt8(ascii: "\""): content = string().map(JSONNode.Content.string)
        case UInt8(ascii: "t"): content = word("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): content = word("false") ? .bool(false) : nil
        case UInt8(ascii: "n"): content = word("null") ? .null : nil
        default: content = number()
        }
        return content.map { JSONNode($0, source: bytes[start..<position]) }
    }

    private mutating func word(_ word: String) -> Bool {
        guard bytes[position...].starts(with: word.utf8) else { return false }
        position += word.utf8.count
        return true
    }

    private mutating func object(_ depth: Int) -> JSONNode.Content? {
        position += 1
        var members: [(name: String?, value: JSONNode)] = []
        if skip("}") { return .object(members) }
        while true {
            guard next == UInt8(ascii: "\""), let name = string(), skip(":"), let value = value(depth: depth) else {
                return nil
            }
            members.append((name, value))
            if skip("}") { return .object(members) }
            guard skip(",") else { return nil }
        }
    }

    private mutating func array(_ depth: Int) -> JSONNode.Content? {
        position += 1
        var elements: [JSONNode] = []
        if skip("]") { return .array(elements) }
        while true {
            guard let value = value(depth: depth) else { return nil }
            elements.append(value)
            if skip("]") { return .array(elements) }
            guard skip(",") else { return nil }
        }
    }

    // MARK: Numbers

    private mutating func digits() -> Int {
        let start = position
        while let digit = here, (0x30...0x39).contains(digit) { position += 1 }
        return position - start
    }

    /// RFC 8259 §6: no zero before other digits, and digits after a point and an exponent.
    private mutating func number() -> JSONNode.Content? {
        let start = position
        if here == UInt8(ascii: "-") { position += 1 }
        let begin = position
        let count = digits()
        guard count == 1 || count > 1 && bytes[begin] != UInt8(ascii: "0") else { return nil }
        var isInteger = true
        if here == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            guard digits() > 0 else { return nil }
        }
        if here == UInt8(ascii: "e") || here == UInt8(ascii: "E") {
            isInteger = false
            position += 1
            if here == UInt8(ascii: "+") || here == UInt8(ascii: "-") { position += 1 }
            guard digits() > 0 else { return nil }
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        return .number(isInteger ? text == "-0" ? 0 : UInt64(text) : nil)
    }

    // MARK: Strings

    /// The outer nil means that it is not a string. The inner nil means a string with half a surrogate pair.
    private mutating func string() -> String?? {
        position += 1
        var text: [UInt8] = []
        var isWhole = true
        while let byte = here {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                // Invalid UTF-8 decodes to other bytes.
                let string = String(decoding: text, as: UTF8.self)
                guard string.utf8.elementsEqual(text) else { return nil }
                return .some(isWhole ? string : nil)
            case UInt8(ascii: "\\"):
                guard let escaped = escape() else { return nil }
                if let scalar = Unicode.Scalar(escaped) { text += String(scalar).utf8 } else { isWhole = false }
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    /// The value of an escape: a scalar, or half a surrogate pair. Nil: the escape is invalid.
    private mutating func escape() -> UInt32? {
        guard let letter = here else { return nil }
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UInt32(letter)
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0C
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "u"): break
        default: return nil
        }
        guard let unit = fourDigits() else { return nil }
        guard (0xD800..<0xDC00).contains(unit), bytes[position...].starts(with: "\\u".utf8) else { return unit }
        let behind = position
        position += 2
        guard let low = fourDigits() else { return nil }
        guard (0xDC00..<0xE000).contains(low) else {
            // An unpaired half; what follows is parsed separately.
            position = behind
            return unit
        }
        return 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
    }

    private mutating func fourDigits() -> UInt32? {
        guard position + 4 <= bytes.count else { return nil }
        var unit: UInt32 = 0
        for byte in bytes[position..<position + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        position += 4
        return unit
    }
}
