import Balancer
import HTTP
import LiveUpdates
import Reactor
import Tokens
import WebSocket

/// The phases of a connection, each with what it alone needs: a timer or a subscriber of a phase that is over cannot be
/// reached. Payloads are objects, so that an open connection does not pay for the largest of them.
extension Connection {
    enum Phase {
        case request(RequestReading)
        case awaitingToken(AwaitingToken)
        case joining(Joining)
        case open(OpenStream)
        case polling(Polling)
        case asking(Asking)
        case answering(Answering)
        case ending(Ending)
    }

    /// Reading a request.
    final class RequestReading {
        /// Nil once the PROXY header has come, and where none is expected.
        var proxyHeader: ProxyHeaderParser?
        var parser: RequestParser
        var deadline: Timer?
        /// An answer has left, and nothing of the next request has come yet.
        var isIdle = false
        /// The user that an idle connection counts for; nil: none.
        var idleSubject: SubjectKey?
        /// Until the first answer of the connection.
        var permit: ConnectionPermit?
        /// The first request of a plain connection has not begun.
        var owesHandshake = false
        /// The node has had more handshakes than it may, or the address more connections: the request is refused once it is
        /// whole.
        var limit: ConnectionLimit?
        /// It counts among the loop's ``ConnectionLoop/lateRefusals``.
        var isLateRefusal = false

        init(_ limits: RequestLimits) { parser = RequestParser(limits: limits) }
    }

    /// Admitted to a stream; waits for ingest's answer, which states from when on it gets events.
    final class Joining {
        let admitted: Admission.Admitted
        let stream: LiveStream<Connection>
        /// What followed the request.
        var early = EarlyBytes()
        var permit: ConnectionPermit?

        init(_ admitted: Admission.Admitted, _ stream: LiveStream<Connection>, _ permit: consuming ConnectionPermit?) {
            self.admitted = admitted
            self.stream = stream
            self.permit = permit
        }
    }

    /// The head was sent; events come.
    final class OpenStream {
        /// Who the client is, by the token that let it in.
        var identity: Identity
        let stream: LiveStream<Connection>
        /// Nil for an event stream.
        let session: WebSocketSession?
        var heartbeat = Heartbeat()
        /// The next call that the stream wished for.
        var wake: Timer?
        /// Nil while the token has no end and its client has sent no other one: see ``keptToken``.
        private(set) var token: StreamToken?
        var permit: ConnectionPermit?
        /// What came behind an event stream's request, in bytes: see ``ConnectionLoop/maximumStrayBytes``.
        var strayBytes: UInt32 = 0
        /// Monotonic, in milliseconds.
        let since: UInt64

        init(
            _ identity: Identity, _ stream: LiveStream<Connection>, _ session: WebSocketSession?,
            _ permit: consuming ConnectionPermit?, at now: UInt64
        ) {
            self.identity = identity
            self.stream = stream
            self.session = session
            self.permit = permit
            since = now
        }

        var kind: DeliveryCounts.Kind { session == nil ? .eventStream : .webSocket }

        /// What is kept of the token, from now on.
        var keptToken: StreamToken {
            if let token { return token }
            let made = StreamToken()
            token = made
            return made
        }
    }

    /// A request to `/sync/v1` waits for its answer.
    final class Polling {
        /// Who the client is, by the token that let it in.
        let identity: Identity
        let poll: Poll<Connection>
        var keepsAlive: Bool
        /// Bytes that followed the request.
        var early: EarlyBytes
        var wake: Timer?
        /// The permit of a poll that may wait, or of the connection's first request.
        var permit: ConnectionPermit?
        /// The permit is that of a wait.
        let isCounted: Bool
        /// It was admitted, and counts as open until it is answered or gone.
        var hasBegun = false
        /// Monotonic, in milliseconds.
        let since: UInt64

        init(
            _ identity: Identity, _ poll: Poll<Connection>, at now: UInt64, keepsAlive: Bool, early: EarlyBytes,
            isCounted: Bool, _ permit: consuming ConnectionPermit?
        ) {
            self.isCounted = isCounted
            self.identity = identity
            self.poll = poll
            since = now
            self.keepsAlive = keepsAlive
            self.early = early
            self.permit = permit
        }
    }

    /// The answer to a request is being sent; nothing is read until it has left.
    final class Answering {
        /// Whether the next request is read then; otherwise the connection is closed.
        var keepsAlive: Bool
        var early: EarlyBytes
        var deadline: Timer?
        /// The events of the answer; nil once they have left.
        var facts: DeliveryFacts?
        /// A refusal behind which the connection stays.
        let isRefusal: Bool
        /// Whose answer it is; nil where no client was admitted.
        let identity: Identity?
        /// The permit of a wait, until its answer has left; also of every other answer that the kernel did not accept at once.
        var permit: ConnectionPermit?
        var hasPermit = false

        init(
            _ facts: DeliveryFacts?, keepsAlive: Bool, early: EarlyBytes, isRefusal: Bool = false,
            of identity: Identity? = nil
        ) {
            self.identity = identity
            self.facts = facts
            self.isRefusal = isRefusal
            self.keepsAlive = keepsAlive
            self.early = early
        }
    }

    /// Everything was written; what comes is read for the close handshake alone.
    final class Ending {
        let session: WebSocketSession?
        /// The account of a stream that was open; nil of everything else.
        let account: Account?
        /// Who ended it and with which code, where a code was sent or came.
        let close: Close?
        var departing: Departing
        var deadline: Timer?

        init(
            session: WebSocketSession? = nil, account: Account? = nil, close: Close? = nil,
            departing: Departing = Departing()
        ) {
            self.session = session
            self.account = account
            self.close = close
            self.departing = departing
        }
    }

    /// A close with a code, of a WebSocket or in an event stream's `bye`.
    struct Close {
        let code: CloseCode
        let isOurs: Bool
    }
}

/// Bytes that a client has sent ahead of its turn. Removing a request from the front copies nothing.
struct EarlyBytes {
    /// Beyond it nothing is read until the answer has left. What was read before may come on top: a receive buffer of the
    /// loop.
    static let maximumBytes = 32 * 1024

    private var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }

    mutating func append(_ more: Span<UInt8>) {
        guard !more.isEmpty else { return }
        if start > 0, start >= bytes.count / 2 {
            bytes.removeFirst(start)
            start = 0
        }
        for index in more.indices { bytes.append(more[index]) }
    }

    /// Passes all of it to `body`, which reports with ``drop(_:)`` what it used.
    func consume<Result, Failure>(_ body: (Span<UInt8>) throws(Failure) -> Result) throws(Failure) -> Result {
        try body(bytes.span.extracting(droppingFirst: start))
    }

    mutating func drop(_ count: Int) { start += count }
}
