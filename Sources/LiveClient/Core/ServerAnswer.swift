import HTTP

/// An answer that is neither 101 nor a stream: a refusal, or the document that the client asked for.
package struct ServerAnswer: Equatable, Sendable {
    package let status: Int
    /// The reason phrase, as the server sent it.
    package let reason: [UInt8]
    package let headers: HeaderFields
    /// The beginning of the body, as far as it arrived in time.
    package let body: [UInt8]
    /// Whether the body was longer than the client keeps, or than the largest document.
    package let isTruncated: Bool

    package init(status: Int, reason: [UInt8], headers: HeaderFields, body: [UInt8], isTruncated: Bool) {
        (self.status, self.reason, self.headers) = (status, reason, headers)
        (self.body, self.isTruncated) = (body, isTruncated)
    }

    /// `Retry-After` in milliseconds, if it is a number of seconds and at most a day.
    package var retryAfterMilliseconds: Int? {
        guard let text = headers.text("retry-after"), let seconds = Int(text), (0...86_400).contains(seconds),
            text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
        else { return nil }
        return seconds * 1000
    }

    /// `Location`, if the status is a redirect.
    package var redirect: [UInt8]? {
        guard (300..<400).contains(status), let location = headers.only("location"), !location.isEmpty else {
            return nil
        }
        return Array(location)
    }
}

extension ServerAnswer {
    /// `code` of a problem document (RFC 9457); nil if no Livegate answered.
    var problemCode: String? { problem("code") }

    /// `detail` of a problem document, for a log.
    var problemDetail: String? { problem("detail") }

    private func problem(_ member: String) -> String? {
        JSONNode(body, maximumBytes: 1 << 16)?.text(member)
    }
}
