/// Where a connection stands, for the app.
public enum ConnectionState: Codable, Equatable, Sendable {
    /// Not begun, or in the background.
    case idle
    /// An attempt is under way, its token included.
    ///
    /// - since: when the connection was lost, or first wanted.
    /// - attempt: counts from 1 since then.
    case connecting(since: Milliseconds, attempt: Int)
    /// A stream is open, or a long poll that was answered.
    case connected
    /// No attempt before `until`; without it, before the network is back.
    case waiting(until: Milliseconds?, why: WaitReason)
    /// Two tokens in a row were refused, or there is none: nobody is signed in. The input `start` or the next
    /// foreground tries again.
    case unauthorized
    /// For good: coming back would change nothing.
    case ended(error: ConnectionEnd)
}

/// Why a connection waits.
public enum WaitReason: String, Codable, Sendable {
    /// There is no network.
    case offline
    /// An attempt failed, or the connection was lost.
    case retry
    /// The server asked to come back then.
    case asked
    /// There was no token.
    case token
    /// The way is ``ConnectionWay/polling``: nothing failed.
    case poll
}

/// Why a connection has ended for good.
public enum ConnectionEnd: Error, Codable, Equatable, Sendable {
    /// The app ended it.
    case stopped
    /// The server said that it is done, by a `bye` with 1000. A close with 1000 alone is a proxy's, and a loss.
    case done
    /// Close code 4403: the access was revoked.
    case revoked
    /// The server refused the request, and would again. `code` is that of the problem document, where a Livegate
    /// answered.
    case refused(status: Int, code: String?)
}

/// How events come, the best way first.
public enum ConnectionWay: String, Codable, Sendable, CaseIterable {
    /// Both ways, at once.
    case webSocket
    /// Server-sent events: one way, over ordinary HTTP.
    case eventStream
    /// `/sync/v1` with `wait`, one request after the other.
    case longPoll
    /// `/sync/v1` every few minutes.
    case polling

    var isStream: Bool { self == .webSocket || self == .eventStream }
}

/// How a connection, or an attempt at one, ended without a word of the server.
public enum ConnectionLoss: String, Codable, Sendable {
    /// The server was not reached: no name, no address that answers, no TLS.
    case unreachable
    /// Cut: before the answer, in the middle of the stream, or of a poll.
    case cut
    /// Nothing came in time.
    case silent
    /// Before the opening: the server answers, but not by this way. Somebody between does not let it through, or, in a deploy,
    /// another node answered than the one that refused: so it is a guess, which is tried again within a minute.
    case blocked
    /// What came breaks the protocol.
    case broken
    /// Not to be known: a browser does not say why a WebSocket failed.
    case unknown
}

/// What was found out about a network: that less than a WebSocket works there.
public struct KnownWay: Codable, Equatable, Sendable {
    /// The app's name for the network; empty where it gives none.
    public var network: String
    /// The best that works there.
    public var way: ConnectionWay
    /// How long a long poll may wait there.
    public var wait: Milliseconds
    /// When better ways are tried again, by the owner's clock.
    public var upAt: Milliseconds

    /// Makes a record; the connection does, and who keeps it.
    public init(network: String, way: ConnectionWay, wait: Milliseconds, upAt: Milliseconds) {
        self.network = network
        self.way = way
        self.wait = wait
        self.upAt = upAt
    }
}
