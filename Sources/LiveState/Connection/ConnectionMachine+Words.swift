extension ConnectionMachine {
    /// What a connection is made with.
    public struct Settings: Codable, Sendable {
        /// For the waits.
        public var seed: UInt32 = 1
        /// The ways that the owner can go, the best first.
        public var ways: [ConnectionWay] = ConnectionWay.allCases
        /// Between two polls of ``ConnectionWay/polling``; a tenth more or less spreads them.
        public var pollInterval: Milliseconds = 300_000
        /// How long a long poll asks the server to wait: below the usual minute of a proxy.
        public var longPollWait: Milliseconds = 50_000
        /// From the beginning of an attempt, its token at hand, to its opening, or of a poll beyond its wait.
        public var openLimit: Milliseconds = 12_000
        /// The same for better ways that are tried again on a network that is known to work.
        public var trialLimit: Milliseconds = 3_000
        /// A stream that brings nothing for so long is lost: its owner asks for a `beat`, or pings, every 25 s.
        public var silenceLimit: Milliseconds = 35_000
        /// What the effect `remember` brought in an earlier run.
        public var known: [KnownWay] = []
        /// Without a network an attempt is made so often, because who says so may be wrong, as browsers are; nil: never.
        public var offlineRetry: Milliseconds?

        /// The defaults.
        public init() {}

        /// Takes what is there, and the defaults for the rest.
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
        /// The app wants a connection; also after somebody has signed in again.
        case start
        /// The app wants none any more.
        case stop
        /// The app is out of sight: the connection is closed and nothing is tried.
        case background
        /// The app is in sight again: the connection resumes at once.
        case foreground
        /// A person wants to see what is new: whatever waits is tried now, and what is open is tested.
        case refresh
        /// The path to the network has changed, or whether there is one.
        ///
        /// - network: the app's name for it, such as that of the WLAN: what was found out is remembered under it.
        case path(isSatisfied: Bool, network: String?)
        /// A token is at hand.
        ///
        /// - isSame: it is the one that was used last.
        case token(request: Int, isSame: Bool)
        /// There is no token now; `isUnauthorized`: nor will there be, because nobody is signed in.
        case tokenFailed(request: Int, isUnauthorized: Bool)
        /// A WebSocket was accepted, or the first byte of an event stream's body came: its head alone says nothing
        /// where a proxy gathers the body.
        case opened(id: Int)
        /// Anything came on it: a message, a comment, a pong.
        case alive(id: Int)
        /// A poll was answered, a 410 included, and its events were delivered; `more`: there is more already.
        case polled(id: Int, more: Bool)
        /// The server said that the token of this stream ends soon.
        case expiring(id: Int)
        /// An answer with another status than was hoped for.
        ///
        /// - code: of the problem document; absent where it was no Livegate that answered.
        case refused(id: Int, status: Int, code: String?, retryAfter: Milliseconds?)
        /// The server closed it with a code, or said `bye`.
        ///
        /// - retry: its `retry_ms`.
        case closed(id: Int, code: Int, retry: Milliseconds?)
        /// It ended, or never came to be, without such a word.
        case lost(id: Int, how: ConnectionLoss)
        /// ``ConnectionMachine/wakeAt`` has come.
        case wake
    }

    /// What the owner of a connection is to do.
    public enum Effect: Codable, Equatable, Sendable {
        /// Get a token; with `fresh`, not one that is at hand already: that was refused, or ends.
        case fetchToken(request: Int, fresh: Bool)
        /// Open a stream with the token that came last, from the newest cursor.
        case open(id: Int, way: ConnectionWay)
        /// Ask `/sync/v1` with the token that came last, from the newest cursor.
        case poll(id: Int, wait: Milliseconds)
        /// End it with 1000, and deliver nothing of it any more.
        case close(id: Int)
        /// Drop it without a word, and deliver nothing of it any more.
        case abandon(id: Int)
        /// Ask for a sign of life: `alive`.
        case ping(id: Int)
        /// Send the token that came last on this stream.
        case sendToken(id: Int)
        /// Keep this for the next run.
        case remember(known: [KnownWay])
    }

    /// What can be seen of a connection.
    public struct View: Codable, Equatable, Sendable {
        /// For the app.
        public var state: ConnectionState
        /// Of the open connection, else of the next attempt.
        public var way: ConnectionWay
        /// Whether a connection is open whose path has changed, and no answer to the ping has come.
        public var isTested: Bool
    }
}
