import HTTP
import LiveState

/// Where a ``LiveClient`` connects, and what it may cost.
public struct LiveClientConfiguration: Sendable {
    /// The stream's address: `wss://live.example/live/v1`. `https` means the same.
    public var url: String
    /// The path of a PEM file with the authorities to trust instead of the system's.
    public var certificateAuthorities: String?
    /// Where to begin: a cursor that was kept from the updates of an earlier run. Nil begins with what happens now,
    /// and with ``LiveResync/start``.
    public var cursor: LiveCursor?
    /// The entities whose events are delivered, at most 16; empty: all.
    public var entities: [String] = []
    /// Whether events carry ``LiveEvent/aid``, their ids in the archive: for what stands beside pages of it.
    public var asksForEventIDs = false
    /// How often the client has the server give a sign of life. Without one within 5 seconds more the stream counts as lost; mobile
    /// networks lose connections without a word.
    public var beat: Duration = .seconds(25)
    /// How many updates wait for a consumer that is busy. Then the server is read no further, and closes a stream
    /// that falls too far behind; nothing is dropped silently. Less than 1 counts as 1.
    public var maximumBufferedUpdates = 1024

    /// The ways that may be gone, the best first. Which of them work on a network is found out.
    public var ways = ConnectionWay.allCases
    /// Between two requests where nothing but polling works.
    public var pollInterval: Duration = .seconds(300)
    /// What ``keepsWays`` was given last, in an earlier run.
    public var knownWays: [KnownWay] = []
    /// Called when it was found out what works on a network; keep it for the next run. Called on the client's queue:
    /// return soon.
    public var keepsWays: (@Sendable ([KnownWay]) -> Void)?
    /// Is given what the app's functions throw: its token function, and what machines, screens and actions ask behind the client's
    /// gate. Nil: a line is printed, once for each function and error, where that is none of an API's answers.
    public var onError: (@Sendable (AppFailure) -> Void)?
    /// What carries streams and requests.
    public var transport: LiveTransport

    /// Makes a configuration with the defaults for an address.
    ///
    /// - Parameter transport: what carries streams and requests.
    public init(url: String, transport: LiveTransport) { (self.url, self.transport) = (url, transport) }

    /// A message of the server: three short words, and room for what later versions may add.
    private static let maximumMessageBytes = 1 << 20

    /// As many as a server takes.
    private static let maximumEntities = 16

    /// How long beyond a beat the machine waits for a sign of life.
    private static let signMilliseconds: Milliseconds = 5_000

    /// What decides, with random waits of its own.
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
    /// In milliseconds, or the longest and the shortest of them: a setting may be any duration.
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
