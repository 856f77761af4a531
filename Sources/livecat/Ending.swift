import LiveClientReactor
import Options
import WebSocket

extension ConnectionEnding {
    /// livecat's exit status, if livecat did not end the connection itself.
    var status: ExitStatus {
        switch self {
        case .notConnected: .notConnected
        case .refused: .refused
        case .answered: .success
        case .closed(.normal, _), .closed(.goingAway, _): .success
        case .closed, .broken, .cut, .closeUnanswered, .noPong, .aborted: .lost
        }
    }

    /// Whether there was no WebSocket yet.
    var isBeforeOpening: Bool {
        switch self {
        case .notConnected, .refused, .answered: true
        default: false
        }
    }

    /// The code that a browser would report: 1006 for an end without a close frame (RFC 6455 §7.1.5).
    var closeCodeAndReason: (code: CloseCode, reason: String)? {
        switch self {
        case .notConnected, .refused, .answered: nil
        case .closed(let code, let reason): (code, reason)
        case .broken(let error): (error.closeCode, error.reason)
        case .cut, .closeUnanswered, .noPong, .aborted: (.abnormal, "")
        }
    }

    /// The notices that are shown for it.
    ///
    /// - Parameters:
    ///   - isOwn: whether livecat wanted the end.
    ///   - isTerse: whether only messages are shown, without a notice of a clean end.
    func notices(isOwn: Bool, isTerse: Bool) -> [(text: String, tone: Tone)] {
        let isClean = status == .success
        guard case .closed = self else { return explanation.map { ($0, .error) } }
        return isTerse && isClean ? [] : explanation.map { ($0, isClean || isOwn ? .control : .error) }
    }

    /// The text for people, one notice per element. Nothing that a peer sent can control the terminal.
    var explanation: [String] {
        switch self {
        case .notConnected(let failure): return ["error: \(failure.description.printable)"]
        case .refused(let answer):
            let reason = String(decoding: answer.reason, as: UTF8.self).printable
            let first = "error: unexpected server response: \(answer.status)" + (reason.isEmpty ? "" : " \(reason)")
            guard !answer.body.isEmpty else { return [first] }
            return [first, String(decoding: answer.body, as: UTF8.self).printable + (answer.isTruncated ? "…" : "")]
        case .answered: return []
        case .closed(let code, let reason):
            return ["disconnected (code: \(code.rawValue), reason: \"\(reason.printable)\")"]
        case .broken(let error): return ["error: \(error.description.printable) (code: \(error.closeCode.rawValue))"]
        case .cut(let how): return ["error: connection lost (code: 1006): \(how.printable)"]
        case .closeUnanswered: return ["error: no answer to the close within 5 s (code: 1006)"]
        case .noPong: return ["error: connection lost (code: 1006): no pong within 10 s"]
        case .aborted: return ["error: connection dropped (code: 1006)"]
        }
    }
}
