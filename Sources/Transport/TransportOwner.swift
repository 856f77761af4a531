import Reactor
import TLS

/// The callbacks of a ``Transport`` to its owner. All of them are made on the transport's loop.
///
/// Any method of the transport may be called from any of these, including close.
package protocol TransportOwner: AnyObject {
    /// Bytes may flow: with the tick of the start for a plain transport, after the handshake for one with TLS. Called once for
    /// each start and each ``Transport/secure(_:)``, before everything except the end.
    func transportOpened()

    /// Plaintext arrived. It is in a buffer of the loop, which is valid only until this returns.
    func transportReceived(_ bytes: Span<UInt8>)

    /// The kernel has accepted everything that was written.
    func transportDrained()

    /// After ``Transport/close(afterFlush:)``, or after the close that follows a peer's end: the kernel has accepted everything
    /// written before it. At most once, and not where TLS failed.
    func transportFlushed()

    /// The tick's send left ``Transport/pendingBytes`` unsent. Called after each tick that wrote and could not send all, so that
    /// a limit can be enforced where the number is exact.
    func transportBlocked()

    /// The peer has finished sending, and has announced it. True keeps our half open; false, the default, closes it after a
    /// flush.
    func transportPeerFinished() -> Bool

    /// The answer to a peer that speaks plain HTTP where TLS was expected: in plain text, because the peer understands that.
    ///
    /// - Parameter request: the bytes it has sent so far.
    func transportPlainAnswer(to request: [UInt8]) -> [UInt8]

    /// The transport has ended. Called exactly once, after every other call, and never from within one of its methods.
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
    /// The end of the socket is the only reason.
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

/// Whether a transport uses TLS, and in which role.
package enum TransportSecurity: Sendable {
    case plain
    /// An accepted connection.
    case server(TLSContext)
    /// An outgoing connection. The server's certificate must name this DNS name or address.
    case client(TLSContext, name: String)
}

/// The answer to plain HTTP on a TLS port.
///
/// nginx does the same. Without it a client sees a connection that closes for no reason.
package enum PlainAnswer {
    /// - Parameter fields: additional fields of the answer's head.
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
