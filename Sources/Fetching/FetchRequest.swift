/// A request to a server of keys or of tokens, and the limits for its answer.
package struct FetchRequest: Sendable {
    /// A URL that ``FetchURL/problem(_:)`` accepts.
    package var url: String
    /// The authorities that may sign the server's certificate, as PEM. Nil: those of the system.
    package var authorities: [UInt8]?
    /// Header lines, `Name: value`, without line ends.
    package var headers: [String] = []
    /// With a body it is a POST.
    package var body: [UInt8]?
    /// An answer with more bytes is refused.
    package var maximumBytes: Int
    /// From the request to the last byte of the answer, name resolution and TLS included.
    package var timeoutMilliseconds: Int

    package init(
        url: String, authorities: [UInt8]? = nil, headers: [String] = [], body: [UInt8]? = nil, maximumBytes: Int,
        timeoutMilliseconds: Int
    ) {
        self.url = url
        self.authorities = authorities
        self.headers = headers
        self.body = body
        self.maximumBytes = maximumBytes
        self.timeoutMilliseconds = timeoutMilliseconds
    }
}

/// Why there is no answer.
package enum FetchError: Error, Hashable, Sendable {
    /// No connection: the name is unknown, no server listens, or the network is down.
    case unreachable(String)
    /// No TLS: the certificate is not trusted, is for another name or has expired; or the authorities are invalid.
    case notTrusted(String)
    case timedOut(milliseconds: Int)
    /// Any other answer than 200. A redirect is one: it is not followed.
    case status(Int)
    /// The body is over this limit, or the head over its own limit.
    case tooLarge(bytes: Int)
    /// The answer is not HTTP, or ended too early.
    case broken(String)
    /// This many requests are open already.
    case busy(limit: Int)
    /// The fetcher was stopped.
    case stopped
}

extension FetchError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreachable(let why): "cannot connect: \(why)"
        case .notTrusted(let why): "no trusted TLS: \(why)"
        case .timedOut(let milliseconds): "no whole answer within \(milliseconds) ms"
        case .status(let status) where (300..<400).contains(status):
            "the answer is a redirect (\(status)), which is not followed: name the last address in the settings"
        case .status(let status): "the answer has the status \(status), not 200"
        case .tooLarge(let bytes): "the answer is too large: over \(bytes) bytes, or its head over 64 KiB"
        case .broken(let why): "the answer is broken: \(why)"
        case .busy(let limit): "\(limit) requests are open already"
        case .stopped: "the node is stopping"
        }
    }
}
