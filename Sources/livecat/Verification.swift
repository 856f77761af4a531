import LiveClientReactor

/// `--verify`: counts what is missing and what came twice, where ids end with numbers that grow by one.
///
/// `x-7` is number 7 of the row `x-`; each entity has rows of its own. A row begins with the first number that comes. A
/// number is one event: who writes `created` and `updated` for one id has no rows to verify.
struct Verification {
    private struct Row: Hashable {
        let entity: String
        let prefix: String
    }

    /// Rows beyond it are not verified, and counted.
    static let maximumRows = 65_536

    private var last: [Row: Int] = [:]
    private(set) var events = 0
    private(set) var missing = 0
    private(set) var doubled = 0
    private(set) var resyncs = 0
    /// Events whose id ends with no number, or whose row is one too many.
    private(set) var unnumbered = 0

    /// Takes an event; gives what is missing before it, for people.
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

    /// What came before says nothing about what comes: the server has said so itself.
    mutating func resync() {
        resyncs += 1
        last = [:]
    }

    var summary: String {
        "verified: \(events) events, \(missing) missing, \(doubled) doubled, \(resyncs) resyncs"
            + (unnumbered == 0 ? "" : ", \(unnumbered) without a number")
    }

    /// The digits at the end of an id, at most 18, which an Int holds.
    static func split(_ id: String) -> (prefix: String, number: Int)? {
        let digits = id.utf8.reversed().prefix { $0 >= 0x30 && $0 <= 0x39 }.count
        guard (1...18).contains(digits), let number = Int(String(decoding: id.utf8.suffix(digits), as: UTF8.self))
        else {
            return nil
        }
        return (String(decoding: id.utf8.dropLast(digits), as: UTF8.self), number)
    }
}
