import HTTP
import LiveState

/// Where a ``LiveClient`` connects, and which resources it may use.
public struct LiveClientConfiguration: Sendable {
    /// The stream's address: `wss://live.example/live/v1`. `https` means the same.
    public var url: String
    /// The path of a PEM file with the authorities to trust instead of the system's.
    public var certificateAuthorities: String?
    /// The cursor to begin at, stored from the updates of an earlier run. Nil begins with the present, and ``LiveResync/start``.
    public var cursor: LiveCursor?
    /// The entities whose events are delivered, at most 16; empty means all.
    public var entities: [String] = []
    /// Whether events carry ``LiveEvent/aid``, their ids in the archive. Set it to combine events with pages of the archive.
    public var asksForEventIDs = false
    /// How often the server has to send a sign of life. If none arrives within 5 more seconds, the stream counts as lost, because
    /// mobile networks lose connections without notice.
    public var beat: Duration = .seconds(25)
    /// How many updates may wait for a busy consumer. At this limit the client stops reading from the server, which closes a
    /// stream that falls too far behind. Nothing is dropped silently. Less than 1 counts as 1.
    public var maximumBufferedUpdates = 1024

    /// The transports that the client may use, the best first. The client finds out which of them work on a network.
    public var ways = ConnectionWay.allCases
    /// The time between two requests where only polling works.
    public var pollInterval: Duration = .seconds(300)
    /// The last value that ``keepsWays`` received in an earlier run.
    public var knownWays: [KnownWay] = []
    /// Called when the client has found out what works on a network. Store the value for the next run. It is called on the
    /// client's queue: return soon.
    public var keepsWays: (@Sendable ([KnownWay]) -> Void)?
    /// Receives what the app's functions throw: its token function, and what machines, screens and actions call behind the
    /// client's gate. If nil, the client prints a line once for each function and error, unless the error is one of an API's
    /// answers.
    public var onError: (@Sendable (AppFailure) -> Void)?
    /// The transport that carries streams and requests.
    public var transport: LiveTransport

    /// Makes a configuration for an address, with the defaults.
    ///
    /// - Parameter transport: the transport that carries streams and requests.
    public init(url: String, transport: LiveTransport) { (self.url, self.transport) = (url, transport) }

    /// The maximum size of a server's message: it has three short words, and later versions may add members.
    private static let maximumMessageBytes = 1 << 20

    /// As many as a server accepts.
    private static let maximumEntities = 16

    /// How long the machine waits beyond a beat for a sign of life.
    private static let signMilliseconds: Milliseconds = 5_000

    /// The settings of the machine that makes the decisions, with its own random seed for the waits.
    func machine() -> ConnectionMachine.Settings {
        var machine = ConnectionMachine.Settings()
        machine.seed = UInt32.random(in: 0...UInt32.max)
        machine.ways = ways
        machine.pollInterval = pollInterval.wholeMilliseconds.limited(least: 1_000)
        machine.known = knownWays
        machine.silenceLimit = beat.wholeMilliseconds.limited(least: 1) + Self.signMilliseconds
        return machine
    }

    func request() throws(LiveClientError) -> StreamRequest {
        let address: WebSocketURL
        do throws(URLFault) {
            address = try WebSocketURL(url)
        } catch {
            throw .invalidURL(error.explanation)
        }
        guard entities.count <= Self.maximumEntities, entities.allSatisfy({ !$0.isEmpty && !$0.contains(",") }) else {
            throw .invalidURL("'entities' are 1 to \(Self.maximumEntities) names without commas")
        }
        var parameters = [(name: "with", value: asksForEventIDs ? "at,ts,aid" : "at,ts")]
        if !entities.isEmpty { parameters.append(("ent", entities.joined(separator: ","))) }
        var request = StreamRequest(url: address.setting(parameters))
        request.protocols = ["livegate.v1"]
        request.maximumMessageBytes = Self.maximumMessageBytes
        request.pingMilliseconds = UInt64(beat.wholeMilliseconds.limited(least: 1))
        return request
    }
}

extension Duration {
    /// The duration in milliseconds, limited to the largest and the smallest value, because a setting may be any duration.
    var wholeMilliseconds: Milliseconds {
        let (seconds, attoseconds) = components
        let (whole, isOver) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !isOver else { return seconds > 0 ? .max : .min }
        let (sum, isSumOver) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return isSumOver ? (seconds > 0 ? .max : .min) : sum
    }
}

extension URLFault {
    package var explanation: String {
        switch self {
        case .empty: "it is empty"
        case .unknownScheme(let scheme): "the scheme '\(scheme)' is not known"
        case .noHost: "it names no host"
        case .badHost(let host): "'\(host)' is not a host"
        case .badPort(let port): "'\(port)' is not a port"
        case .fragment: "it has a fragment (#)"
        case .controlByte: "it holds a control character"
        case .userInformation:
            "it cannot be read up to its last '@': in a name or a password '/', '?' and '@' are written %2F, %3F and %40"
        }
    }
}
