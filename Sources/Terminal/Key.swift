/// The meaning of a key on a terminal's keyboard for a line editor, with the names of readline.
package enum Key: Equatable, Sendable {
    case text(Unicode.Scalar)
    case enter
    case interrupt
    /// Ctrl-D: the end of input on an empty line, otherwise deletes forward.
    case endOfInput
    case backspace, delete
    case left, right, wordLeft, wordRight, home, end
    case previous, next
    case killToEnd, killToStart, killWordBack, killWordForward
    case yank
    case clearScreen
}

/// Reads keys from the bytes of a terminal, which may be cut anywhere.
package struct KeyDecoder: Sendable {
    private enum State: Sendable {
        case ground
        case escape
        /// After `ESC [` or `ESC O`: the parameters so far.
        case sequence([UInt8])
        /// Inside a UTF-8 sequence; `missing` bytes of it have not arrived yet.
        case utf8([UInt8], missing: Int)
    }

    /// The longest terminal sequence with a meaning here has six bytes; longer ones are skipped.
    private static let maximumParameterBytes = 16

    private var state = State.ground

    package init() {}

    package mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
        var keys: [Key] = []
        for byte in bytes {
            switch state {
            case .ground: ground(byte, &keys)
            case .escape: escape(byte, &keys)
            case .sequence(let parameters): sequence(byte, parameters, &keys)
            case .utf8(let begun, let missing): utf8(byte, begun, missing, &keys)
            }
        }
        return keys
    }

    private mutating func ground(_ byte: UInt8, _ keys: inout [Key]) {
        switch byte {
        case 0x1B: state = .escape
        case 0xC2...0xDF: state = .utf8([byte], missing: 1)
        case 0xE0...0xEF: state = .utf8([byte], missing: 2)
        case 0xF0...0xF4: state = .utf8([byte], missing: 3)
        case 0x20..<0x7F: keys.append(.text(Unicode.Scalar(byte)))
        default: if let key = Self.control(byte) { keys.append(key) }
        }
    }

    private static func control(_ byte: UInt8) -> Key? {
        switch byte {
        case 0x01: .home
        case 0x02: .left
        case 0x03: .interrupt
        case 0x04: .endOfInput
        case 0x05: .end
        case 0x06: .right
        case 0x08, 0x7F: .backspace
        case 0x09: .text("\t")
        case 0x0A, 0x0D: .enter
        case 0x0B: .killToEnd
        case 0x0C: .clearScreen
        case 0x0E: .next
        case 0x10: .previous
        case 0x15: .killToStart
        case 0x17: .killWordBack
        case 0x19: .yank
        default: nil
        }
    }

    private mutating func escape(_ byte: UInt8, _ keys: inout [Key]) {
        state = .ground
        switch byte {
        case 0x5B, 0x4F: state = .sequence([])
        case 0x1B: state = .escape
        case 0x62: keys.append(.wordLeft)
        case 0x66: keys.append(.wordRight)
        case 0x64: keys.append(.killWordForward)
        case 0x08, 0x7F: keys.append(.killWordBack)
        default: break
        }
    }

    private mutating func sequence(_ byte: UInt8, _ parameters: [UInt8], _ keys: inout [Key]) {
        // ECMA-48 §5.4: parameters are 0x20 to 0x3F; a byte from 0x40 to 0x7E ends the sequence.
        if byte >= 0x20 && byte < 0x40 {
            state = .sequence(parameters.count < Self.maximumParameterBytes ? parameters + [byte] : parameters)
            return
        }
        state = .ground
        let words = parameters.split(separator: 0x3B).map { String(decoding: $0, as: UTF8.self) }
        // The second parameter is the modifier: 3 is Alt, 5 is Ctrl.
        let isWord = words.count > 1 && (words[1] == "5" || words[1] == "3")
        switch byte {
        case 0x41: keys.append(.previous)
        case 0x42: keys.append(.next)
        case 0x43: keys.append(isWord ? .wordRight : .right)
        case 0x44: keys.append(isWord ? .wordLeft : .left)
        case 0x46: keys.append(.end)
        case 0x48: keys.append(.home)
        case 0x7E:
            switch words.first {
            case "1", "7": keys.append(.home)
            case "4", "8": keys.append(.end)
            case "3": keys.append(isWord ? .killWordForward : .delete)
            default: break
            }
        default: break
        }
    }

    private mutating func utf8(_ byte: UInt8, _ begun: [UInt8], _ missing: Int, _ keys: inout [Key]) {
        guard byte & 0xC0 == 0x80 else {
            // The bytes so far are not a character; this byte may begin one.
            state = .ground
            ground(byte, &keys)
            return
        }
        let bytes = begun + [byte]
        if missing > 1 {
            state = .utf8(bytes, missing: missing - 1)
            return
        }
        state = .ground
        guard let text = String(validating: bytes, as: UTF8.self), let scalar = text.unicodeScalars.first else {
            return
        }
        // C1 control characters would control the terminal when they are printed.
        if scalar.value >= 0xA0 { keys.append(.text(scalar)) }
    }
}
