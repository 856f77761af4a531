extension ConnectionMachine {
    /// The settings of a connection.
    public struct Settings: Codable, Sendable {
        /// Seed of the waits.
        public var seed: UInt32 = 1
        /// The transports that the owner supports, the best first.
        public var ways: [ConnectionWay] = ConnectionWay.allCases
        /// Time between two polls of ``ConnectionWay/polling``. It varies by up to a tenth, to spread clients.
        public var pollInterval: Milliseconds = 300_000
        /// How long a long poll asks the server to wait. It is below a proxy's usual minute.
        public var longPollWait: Milliseconds = 50_000
        /// The limit from an attempt with a token to the opening of its stream, or for a poll in addition to its wait.
        public var openLimit: Milliseconds = 12_000
        /// The same for better transports that are tried again on a network that is known to work.
        public var trialLimit: Milliseconds = 3_000
        /// A stream that is silent for this long is lost. Its owner asks for a `beat`, or pings, every 25 s.
        public var silenceLimit: Milliseconds = 35_000
        /// The records of the effect `remember` in an earlier run.
        public var known: [KnownWay] = []
        /// How often to try without a network, because the report of none may be wrong, as in browsers; nil: never.
        public var offlineRetry: Milliseconds?

        /// The defaults.
        public init() {}

        /// Reads the members that are there, and uses the defaults for the rest.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            seed = try values.decodeIfPresent(UInt32.self, forKey: .seed) ?? seed
            ways = try values.decodeIfPresent([ConnectionWay].self, forKey: .ways) ?? ways
            pollInterval = try values.decodeIfPresent(Milliseconds.self, forKey: .pollInterval) ?? pollInterval
            longPollWait = try values.decodeIfPresent(Milliseconds.self, forKey: .longPollWait) ?? longPollWait
            openLimit = try values.decodeIfPresent(Milliseconds.self, forKey: .openLimit) ?? openLimit
            trialLimit = try values.decodeIfPresent(Milliseconds.self, forKey: .trialLimit) ?? trialLimit
            silenceLimit = try values.decodeIfPresent(Milliseconds.self, forKey: .silenceLimit) ?? silenceLimit
            offlineRetry = try values.decodeIfPresent(Milliseconds.self, forKey: .offlineRetry)
            known = try values.decodeIfPresent([KnownWay].self, forKey: .known) ?? known
        }
    }

    /// What happens to a connection.
    public enum Input: Codable, Equatable, Sendable {
        /// The app wants a connection. Also sent after a user has signed in again.
        case start
        /// The app no longer wants a connection.
        case stop
        /// The app is in the background: the connection is closed, and nothing is tried.
        case background
        /// The app is in the foreground again: the connection resumes at once.
        case foreground
        /// A person wants to see what is new. Whatever waits is tried now, and an open stream is tested.
        case refresh
        /// The path to the network has changed, or the network came or went.
        ///
        /// - network: the app's name for it, such as that of the WLAN. Results are remembered under this name.
        case path(isSatisfied: Bool, network: String?)
        /// A token is there.
        ///
        /// - isSame: whether it is the token that was used last.
        case token(request: Int, isSame: Bool)
        /// There is no token now. `isUnauthorized`: there will be none either, because nobody is signed in.
        case tokenFailed(request: Int, isUnauthorized: Bool)
        /// A WebSocket was accepted, or the first byte of an event stream's body came. The head alone proves nothing if a proxy
        /// buffers the body.
        case opened(id: Int)
        /// Anything came on the stream: a message, a comment, a pong.
        case alive(id: Int)
        /// A poll was answered, also with a 410, and its events were delivered. `more`: the server has more already.
        case polled(id: Int, more: Bool)
        /// The server announced that the token of this stream ends soon.
        case expiring(id: Int)
        /// An answer with an unexpected status.
        ///
        /// - code: of the problem document. It is absent if the answer did not come from a Livegate.
        case refused(id: Int, status: Int, code: String?, retryAfter: Milliseconds?)
        /// The server closed the stream with a code, or sent `bye`.
        ///
        /// - retry: its `retry_ms`.
        case closed(id: Int, code: Int, retry: Milliseconds?)
        /// The stream ended, or never opened, without such a message.
        case lost(id: Int, how: ConnectionLoss)
        /// The time of ``ConnectionMachine/wakeAt`` has come.
        case wake
    }

    /// What the owner of a connection is to do.
    public enum Effect: Codable, Equatable, Sendable {
        /// Get a token. With `fresh`, get a new one, because the present token was refused or ends soon.
        case fetchToken(request: Int, fresh: Bool)
        /// Open a stream with the latest token, from the newest cursor.
        case open(id: Int, way: ConnectionWay)
        /// Ask `/sync/v1` with the latest token, from the newest cursor.
        case poll(id: Int, wait: Milliseconds)
        /// Close it with 1000, and deliver nothing more from it.
        case close(id: Int)
        /// Drop it without a close notice, and deliver nothing more from it.
        case abandon(id: Int)
        /// Ask for a sign of life, which is reported as `alive`.
        case ping(id: Int)
        /// Send the latest token on this stream.
        case sendToken(id: Int)
        /// Keep this for the next run.
        case remember(known: [KnownWay])
    }

    /// What is visible from outside.
    public struct View: Codable, Equatable, Sendable {
        /// The state, for the app.
        public var state: ConnectionState
        /// The transport of the open connection, otherwise of the next attempt.
        public var way: ConnectionWay
        /// Whether the path of an open connection has changed, and its ping has had no answer yet.
        public var isTested: Bool
    }
}
