import HTTP
import LiveUpdates

/// Reads the parameters of a query one by one; what is refused is named in the refusal's detail.
struct ParameterReading {
    private let query: QueryParameters

    init(_ head: RequestHead) { query = QueryParameters(head.query) }

    /// The text of a cursor as the client sent it, or nil. What cannot be decoded becomes an empty text, which no cursor
    /// is: on a stream a broken cursor is answered by a resync, and never by a refusal.
    func cursor(_ name: String) throws(Refusal) -> [UInt8]? {
        switch query[name] {
        case .absent: nil
        case .one(let bytes): bytes
        case .malformed: []
        case .repeated: throw Self.twice(name)
        }
    }

    /// The fields that `with` names. A repeated word changes nothing.
    func fields(_ name: String) throws(Refusal) -> (at: Bool, ts: Bool, aid: Bool) {
        let refusal = Refusal(.badParameter, "\(name) is not a list of at, ts and aid.")
        var fields = (at: false, ts: false, aid: false)
        for word in try words(name, refusal) ?? [] {
            switch word {
            case "at": fields.at = true
            case "ts": fields.ts = true
            case "aid": fields.aid = true
            default: throw refusal
            }
        }
        return fields
    }

    func entities(_ name: String) throws(Refusal) -> EntityFilter? {
        let refusal = Refusal(
            .badParameter,
            """
            \(name) is not a list of 1 to \(EntityFilter.maximumNames) names of 1 to \(ThinEvent.maximumEntityBytes) \
            bytes.
            """)
        guard let names = try words(name, refusal) else { return nil }
        guard let filter = EntityFilter(names) else { throw refusal }
        return filter
    }

    /// Whether the parameter is there and is this word, the only one that it may be.
    func isPresent(_ name: String, as word: String) throws(Refusal) -> Bool {
        let refusal = Refusal(.badParameter, "\(name) is not \(word).")
        guard let text = try text(name, refusal) else { return false }
        guard text.elementsEqual(word.utf8) else { throw refusal }
        return true
    }

    /// A whole number of decimal digits. One that is over `Int.max` becomes that value; the range then decides whether it is too
    /// large.
    func number(_ name: String, in range: some RangeExpression<Int>, _ expected: String) throws(Refusal) -> Int? {
        let refusal = Refusal(.badParameter, "\(name) is not \(expected).")
        guard let digits = try text(name, refusal) else { return nil }
        guard !digits.isEmpty else { throw refusal }
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { throw refusal }
            let (tenfold, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, carried) = tenfold.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
            value = overflowed || carried ? .max : sum
        }
        guard range.contains(value) else { throw refusal }
        return value
    }

    /// The words between commas, decoded first: browsers encode the comma too. Nil where the parameter is absent.
    private func words(_ name: String, _ refusal: Refusal) throws(Refusal) -> [String]? {
        guard let text = try text(name, refusal) else { return nil }
        var words: [String] = []
        for word in text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard !word.isEmpty, let valid = String(validating: word, as: UTF8.self) else { throw refusal }
            words.append(valid)
        }
        return words
    }

    /// The bytes that are meant, or nil where the parameter is absent.
    func text(_ name: String, _ malformed: Refusal) throws(Refusal) -> [UInt8]? {
        switch query[name] {
        case .absent: nil
        case .one(let bytes): bytes
        case .malformed: throw malformed
        case .repeated: throw Self.twice(name)
        }
    }

    private static func twice(_ name: String) -> Refusal {
        Refusal(.badParameter, "Parameter \(name) given more than once.")
    }
}
