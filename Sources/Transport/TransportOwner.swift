import Reactor
import TLS

/// The callbacks of a ``Transport`` to its owner. All of them are made on the transport's loop.
///
/// Any method of the transport may be called from any of these, closing included.
package protocol TransportOwner: AnyObject {
    /// Bytes may flow: with the tick of the start for a plain transport, after the handshake for one with TLS. Once
    /// for each start and each ``Transport/secure(_:)``; before everything but the end.
    func transportOpened()

    /// Plaintext came. It stands in a buffer of the loop and is gone when this returns.
    func transportReceived(_ bytes: Span<UInt8>)

    /// The kernel has taken everything that was written.
    func transportDrained()

    /// After ``Transport/close(afterFlush:)``, or after the close behind a peer's end: the kernel has taken everything that
    /// was written before it. At most once, and not where TLS failed.
    func transportFlushed()

    /// The tick's send left bytes behind: ``Transport/pendingBytes`` says how many. Called after each tick that wrote
    /// and could not send all, so that a bound can be enforced where it is exact.
    func transportBlocked()

    /// The peer has finished sending, and said so. True keeps our half open; false, the default, closes it after a
    /// flush.
    func transportPeerFinished() -> Bool

    /// The answer to a peer that speaks plain HTTP where TLS was expected: in plain text, since that is what it understands.
    ///
    /// - Parameter request: what it has sent so far.
    func transportPlainAnswer(to request: [UInt8]) -> [UInt8]

    /// The transport is gone, exactly once, and after every other call. Never comes from within a method of it.
    func transportEnded(_ end: TransportEnd)
}

extension TransportOwner {
    package func transportOpened() {}
    package func transportDrained() {}
    package func transportFlushed() {}
    package func transportBlocked() {}
    package func transportPeerFinished() -> Bool { false }
    package func transportPlainAnswer(to request: [UInt8]) -> [UInt8] { PlainAnswer.bytes() }
}

/// Why a transport ended.
package enum TransportEnd: Equatable, Sendable, CustomStringConvertible {
    /// The socket says it all.
    case stream(StreamEnd)
    /// TLS ended it; the socket followed.
    case tls(TLSFailure)

    package var description: String {
        switch self {
        case .stream(let end): "\(end)"
        case .tls(let failure): failure.description
        }
    }
}

/// Whether a transport speaks TLS, and as whom.
package enum TransportSecurity: Sendable {
    case plain
    /// An accepted connection.
    case server(TLSContext)
    /// An outgoing connection; the DNS name or address is what the server's certificate must name.
    case client(TLSContext, name: String)
}

/// The answer to plain HTTP on a TLS port.
///
/// nginx does the same; without it a client sees a connection that closes for no reason.
package enum PlainAnswer {
    /// - Parameter fields: what the answer's head says besides.
    package static func bytes(fields: [(String, String)] = []) -> [UInt8] {
        let body =
            #"{"type":"about:blank","title":"Bad Request","status":400,"code":"bad_request","#
            + #""detail":"Plain HTTP was sent to a port that speaks TLS: use https:// or wss://."}"#
        let head = [
            "HTTP/1.1 400 Bad Request", "Content-Type: application/problem+json",
            "Content-Length: \(body.utf8.count)", "Connection: close",
        ]
        let lines = head + fields.map { "\($0.0): \($0.1)" }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    }
}
