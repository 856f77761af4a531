/// How much of a request head is read before it is refused.
package struct RequestLimits: Sendable, Equatable {
    /// The request line without its CRLF. RFC 9112 §3 recommends at least 8,000 bytes.
    package var maximumLineBytes: Int
    /// All field lines with their CRLFs, `limits.max_header_bytes`. Over it: 431.
    package var maximumHeaderBytes: Int
    /// Field lines, `limits.max_headers`. Over it: 431.
    package var maximumHeaders: Int

    package init(
        maximumLineBytes: Int = 8 * 1024, maximumHeaderBytes: Int = 16 * 1024, maximumHeaders: Int = 100
    ) {
        self.maximumLineBytes = maximumLineBytes
        self.maximumHeaderBytes = maximumHeaderBytes
        self.maximumHeaders = maximumHeaders
    }

    /// RFC 9112 §2.2: a server ignores at least one empty line before the request line, which old clients sent after
    /// a body. A peer that sends more of them than this sends no request.
    static let maximumLeadingEmptyLines = 2
}
