/// The state of a connection, for the app.
public enum ConnectionState: Codable, Equatable, Sendable {
    /// The connection has not begun, or the app is in the background.
    case idle
    /// An attempt is running, including the request for its token.
    ///
    /// - since: when the connection was lost, or first wanted.
    /// - attempt: the number of the attempt since then, from 1.
    case connecting(since: Milliseconds, attempt: Int)
    /// A stream is open, or a long poll was answered.
    case connected
    /// No attempt before `until`. Without `until`, no attempt before the network is back.
    case waiting(until: Milliseconds?, why: WaitReason)
    /// Two tokens in a row were refused, or there is none: no user is signed in. The input `start`, or the next return to the
    /// foreground, tries again.
    case unauthorized
    /// The connection has ended for good: to reconnect would change nothing.
    case ended(error: ConnectionEnd)
}

/// Why a connection waits.
public enum WaitReason: String, Codable, Sendable {
    /// There is no network.
    case offline
    /// An attempt failed, or the connection was lost.
    case retry
    /// The server asked to reconnect at that time.
    case asked
    /// There was no token.
    case token
    /// The transport is ``ConnectionWay/polling``: nothing failed.
    case poll
}

/// Why a connection has ended for good.
public enum ConnectionEnd: Error, Codable, Equatable, Sendable {
    /// The app ended it.
    case stopped
    /// The server reported that it is done, by a `bye` with 1000. A close with 1000 alone is a proxy's, and counts as a loss.
    case done
    /// Close code 4403: the access was revoked.
    case revoked
    /// The server refused the request, and would refuse it again. `code` is that of the problem document, if a Livegate answered.
    case refused(status: Int, code: String?)
}

/// The transport by which events come, the best first.
public enum ConnectionWay: String, Codable, Sendable, CaseIterable {
    /// WebSocket: messages in both directions, at once.
    case webSocket
    /// Server-sent events: in one direction, over ordinary HTTP.
    case eventStream
    /// `/sync/v1` with `wait`, one request after the other.
    case longPoll
    /// `/sync/v1` every few minutes.
    case polling

    var isStream: Bool { self == .webSocket || self == .eventStream }
}

/// How a connection, or an attempt, ended without a message of the server.
public enum ConnectionLoss: String, Codable, Sendable {
    /// The server was not reached: name lookup failed, no address answered, or TLS failed.
    case unreachable
    /// The connection was cut: before the answer, or in the middle of the stream or a poll.
    case cut
    /// Nothing came in time.
    case silent
    /// Before the opening: the server answers, but not on this transport. A proxy blocks it; or during a deploy a node answered
    /// that did not refuse. So it is a guess, which is tried again within a minute.
    case blocked
    /// The received data breaks the protocol.
    case broken
    /// Unknown: a browser does not report why a WebSocket failed.
    case unknown
}

/// A record about a network: a WebSocket does not work there, and a lower transport does.
public struct KnownWay: Codable, Equatable, Sendable {
    /// The app's name for the network; empty if the app gives none.
    public var network: String
    /// The best transport that works there.
    public var way: ConnectionWay
    /// How long a long poll may wait there.
    public var wait: Milliseconds
    /// When better transports are tried again, by the owner's clock.
    public var upAt: Milliseconds

    /// Makes a record. The connection makes records, and so does the code that stores them.
    public init(network: String, way: ConnectionWay, wait: Milliseconds, upAt: Milliseconds) {
        self.network = network
        self.way = way
        self.wait = wait
        self.upAt = upAt
    }
}
