/// The number in a close frame (RFC 6455 §7.4; Livegate's own codes begin at 4400).
package struct CloseCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let normal = CloseCode(rawValue: 1000)
    package static let goingAway = CloseCode(rawValue: 1001)
    package static let protocolError = CloseCode(rawValue: 1002)
    package static let unsupported = CloseCode(rawValue: 1003)
    /// Never sent: stands for a close frame without a code.
    package static let noStatus = CloseCode(rawValue: 1005)
    /// Never sent: stands for a connection that ended without a close frame.
    package static let abnormal = CloseCode(rawValue: 1006)
    package static let invalidPayload = CloseCode(rawValue: 1007)
    package static let policyViolation = CloseCode(rawValue: 1008)
    package static let messageTooLarge = CloseCode(rawValue: 1009)
    package static let serverFailure = CloseCode(rawValue: 1011)
    package static let restart = CloseCode(rawValue: 1012)
    package static let overload = CloseCode(rawValue: 1013)
    package static let tokenExpired = CloseCode(rawValue: 4401)
    package static let revoked = CloseCode(rawValue: 4403)
    package static let noPong = CloseCode(rawValue: 4408)
    package static let tooSlow = CloseCode(rawValue: 4409)
    package static let tooMuch = CloseCode(rawValue: 4429)

    /// RFC 6455 §5.5: a control frame's 125 bytes less the two of the code.
    package static let maximumReasonBytes = 123

    /// Whether the code is allowed in a close frame (RFC 6455 §7.4 and IANA's registry: 1004 to 1006 and 1015 are reserved for
    /// values that are never sent, 1016 to 2999 are not assigned).
    package var mayBeSent: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

/// What a client does after it was closed.
package enum ClientAction: Hashable, Sendable {
    /// The conversation is over.
    case finish
    /// Reconnect with backoff. With `isBug` the client first reports the code: a retry will not fix the cause.
    case backOff(isBug: Bool)
    /// Reconnect after the reason's `retry_ms`, no earlier than this; without a `retry_ms`, with backoff.
    case wait(minimumMilliseconds: Int)
    /// Fetch a token and reconnect at once.
    case refreshToken
    /// Do not reconnect.
    case stop
}

extension CloseCode {
    /// One line of the protocol's table of close codes.
    package struct Row: Sendable {
        package let code: CloseCode
        /// The text that the server sends as the reason.
        package let reason: String
        package let action: ClientAction
    }

    /// Every code that a Livegate server sends, as in the protocol's section "Close codes".
    package static let table: [Row] = [
        Row(code: .normal, reason: "done", action: .finish),
        Row(code: .goingAway, reason: "server stops", action: .backOff(isBug: false)),
        Row(code: .protocolError, reason: "protocol error", action: .backOff(isBug: true)),
        Row(code: .unsupported, reason: "not supported", action: .backOff(isBug: true)),
        Row(code: .invalidPayload, reason: "invalid payload", action: .backOff(isBug: true)),
        Row(code: .policyViolation, reason: "rule broken", action: .backOff(isBug: true)),
        Row(code: .messageTooLarge, reason: "message too large", action: .backOff(isBug: true)),
        Row(code: .serverFailure, reason: "server failed", action: .backOff(isBug: false)),
        Row(code: .restart, reason: "restart", action: .wait(minimumMilliseconds: 0)),
        Row(code: .overload, reason: "overload", action: .wait(minimumMilliseconds: 5000)),
        Row(code: .tokenExpired, reason: "token expired", action: .refreshToken),
        Row(code: .revoked, reason: "revoked", action: .stop),
        Row(code: .noPong, reason: "no pong", action: .backOff(isBug: false)),
        Row(code: .tooSlow, reason: "too slow", action: .backOff(isBug: false)),
        Row(code: .tooMuch, reason: "too much", action: .wait(minimumMilliseconds: 0)),
    ]

    private var row: Row? { Self.table.first { $0.code == self } }

    /// The fixed reason, with `retry_ms=N` at its end where the client should reconnect at a certain time.
    ///
    /// - Parameter why: the text that replaces the fixed reason.
    package func reason(why: String? = nil, retryMilliseconds: Int? = nil) -> String {
        let fixed = why ?? row?.reason ?? ""
        guard let retryMilliseconds else { return fixed }
        return fixed.isEmpty ? "retry_ms=\(retryMilliseconds)" : "\(fixed) retry_ms=\(retryMilliseconds)"
    }

    /// Whether the close states when to reconnect: its client waits that long, without its own backoff.
    package var namesRetry: Bool { if case .wait = clientAction { true } else { false } }

    /// What a client does on this code. An unknown code, or none at all, counts as an ordinary lost connection.
    package var clientAction: ClientAction { row?.action ?? .backOff(isBug: false) }

    /// The longest wait that a reason can demand, one day: a mistake must not send a client away for good.
    package static let maximumRetryMilliseconds = 86_400_000

    /// N of the `retry_ms=N` that ends `reason`; nil where there is none or it is over `maximumRetryMilliseconds`.
    package static func retryMilliseconds(inReason reason: String) -> Int? {
        guard let last = reason.utf8.split(separator: UInt8(ascii: " ")).last else { return nil }
        let name = "retry_ms=".utf8
        let digits = last.dropFirst(name.count)
        guard last.starts(with: name), (1...8).contains(digits.count) else { return nil }
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return value <= maximumRetryMilliseconds ? value : nil
    }
}
