import LiveClientReactor

/// `--verify`: counts missing and duplicate events, where ids end with numbers that increase by one.
///
/// `x-7` is number 7 of the row `x-`; each entity has its own rows. A row begins with the first number that arrives. A number is
/// one event: if `created` and `updated` are written for the same id, there are no rows to verify.
struct Verification {
    private struct Row: Hashable {
        let entity: String
        let prefix: String
    }

    /// Rows beyond this limit are not verified; their events are counted.
    static let maximumRows = 65_536

    private var last: [Row: Int] = [:]
    private(set) var events = 0
    private(set) var missing = 0
    private(set) var doubled = 0
    private(set) var resyncs = 0
    /// Events whose id does not end with a number, or whose row is beyond the limit.
    private(set) var unnumbered = 0

    /// Counts an event, and returns what is missing before it, for people.
    mutating func take(_ event: LiveEvent) -> String? {
        events += 1
        guard let (prefix, number) = Self.split(event.id) else {
            unnumbered += 1
            return nil
        }
        let row = Row(entity: event.entity, prefix: prefix)
        guard let before = last[row] else {
            guard last.count < Self.maximumRows else {
                unnumbered += 1
                return nil
            }
            last[row] = number
            return nil
        }
        guard number > before else {
            doubled += 1
            return nil
        }
        last[row] = number
        guard number > before + 1 else { return nil }
        missing += number - before - 1
        let from = "\(prefix)\(before + 1)"
        return "missing: \(event.entity) \(from)" + (number == before + 2 ? "" : " to \(prefix)\(number - 1)")
    }

    /// Begins again: the server has reported that earlier numbers mean nothing for later ones.
    mutating func resync() {
        resyncs += 1
        last = [:]
    }

    var summary: String {
        "verified: \(events) events, \(missing) missing, \(doubled) doubled, \(resyncs) resyncs"
            + (unnumbered == 0 ? "" : ", \(unnumbered) without a number")
    }

    /// The digits at the end of an id, at most 18, which fit an Int.
    static func split(_ id: String) -> (prefix: String, number: Int)? {
        let digits = id.utf8.reversed().prefix { $0 >= 0x30 && $0 <= 0x39 }.count
        guard (1...18).contains(digits), let number = Int(String(decoding: id.utf8.suffix(digits), as: UTF8.self))
        else {
            return nil
        }
        return (String(decoding: id.utf8.dropLast(digits), as: UTF8.self), number)
    }
}
