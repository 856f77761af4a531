/// A line that begins with a slash, with `--slash` (the same meaning as in wscat): `/ping [data]`, `/pong [data]`,
/// `/close [code [reason]]`.
enum SlashCommand: Equatable {
    case ping(String)
    case pong(String)
    case close(code: UInt16, reason: String)

    /// The error in such a line, as a notice.
    struct Problem: Error, Equatable {
        let text: String
    }

    /// RFC 6455 §5.5: a control frame carries at most 125 bytes; the code of a close frame is two of them.
    static let maximumControlBytes = 125

    init(_ line: String) throws(Problem) {
        let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
        switch words.first {
        case "/ping": self = .ping(try Self.payload(words))
        case "/pong": self = .pong(try Self.payload(words))
        case "/close":
            var code: UInt16 = 1000
            if words.count > 1 {
                guard let number = UInt16(words[1]), Self.mayBeSent(number) else {
                    throw Problem(text: "not a close code: 1000 to 1003, 1007 to 1014 and 3000 to 4999 can be sent")
                }
                code = number
            }
            let reason = words.dropFirst(2).joined(separator: " ")
            guard reason.utf8.count <= Self.maximumControlBytes - 2 else {
                throw Problem(text: "the reason is over \(Self.maximumControlBytes - 2) bytes")
            }
            self = .close(code: code, reason: reason)
        default: throw Problem(text: "unrecognized slash command: /ping, /pong and /close are known")
        }
    }

    private static func payload(_ words: [String]) throws(Problem) -> String {
        let text = words.count > 1 ? words[1] : ""
        guard text.utf8.count <= maximumControlBytes else {
            throw Problem(text: "the data is over \(maximumControlBytes) bytes")
        }
        return text
    }

    /// RFC 6455 §7.4: the codes that a close frame may contain.
    private static func mayBeSent(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
