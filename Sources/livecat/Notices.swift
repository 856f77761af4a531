import HTTP
import LiveClientReactor
import Options

extension StreamMessage {
    /// The text of a control message for people; nil for ordinary messages.
    var notice: String? {
        switch self {
        case .event, .changed, .other: nil
        case .live: "live: everything before was delivered"
        case .beat: "beat: nothing new"
        case .resync(let why, _): "resync (\(why.why.printable)): what was missed cannot be given"
        case .source(.stalled(let since)): "source stalled" + Self.time(" since ", since)
        case .source(.live(let since)): "source live again" + Self.time(" since ", since)
        case .bye(let code, let why, let retry):
            "bye (code: \(code.rawValue), reason: \"\(why.printable)\"" + (retry.map { ", retry_ms: \($0)" } ?? "")
                + ")"
        case .expiring(let end): "expiring: the token ends" + Self.time(" at ", end.map { $0.clampedMilliseconds })
        case .token(let end):
            "the next token is accepted" + Self.time(", it ends at ", end.map { $0.clampedMilliseconds })
        case .read(let mark):
            "read: " + (mark.thing.map { "\($0.entity) \($0.id)" } ?? "everything").printable
                + " up to \(mark.upTo.text.printable)"
        case .unknownControl: "a control message that this version does not know"
        }
    }

    var tone: Tone {
        switch self {
        case .resync, .source(.stalled), .bye: .error
        default: .control
        }
    }

    static func time(_ before: String, _ milliseconds: Int64?) -> String {
        // A value beyond the year 9999 is not a broker's time.
        guard let milliseconds, (0..<253_402_300_800_000).contains(milliseconds) else { return "" }
        return before + InternetDate.text(millisecondsSince1970: milliseconds)
    }
}

extension Int64 {
    /// Seconds as milliseconds; -1, which is not a time, if the value is too large.
    fileprivate var clampedMilliseconds: Int64 { multipliedReportingOverflow(by: 1000).overflow ? -1 : self * 1000 }
}

extension ArchiveGap {
    /// The text for people.
    var notice: String {
        "gap" + StreamMessage.time(" from ", from) + (to.map { StreamMessage.time(" to ", $0) } ?? " on")
            + ": the archive may lack what happened then"
    }
}
