import HTTP
import Kafka
import LiveUpdates
import Logging
import Reactor
import TLS

/// Trouble that a request of the demo's API has on demand: a slow server, a failing one, a lost answer.
struct DemoTrouble: Equatable, Sendable {
    /// As long as people would wait, and longer than a client should.
    static let slowest = 30_000

    /// The answer is made at once and sent so much later: it may be old when it arrives. In milliseconds.
    var slow: Int?
    /// The answer has this status, and nothing is done.
    var fail: Int?
    /// The request is carried out, and this status is the answer: the true answer was lost.
    var failAfter: Int?

    init() {}

    init(_ request: AdminRequest) throws(AdminRefusal) {
        slow = try request.number("slow", in: 1...Self.slowest)
        fail = try request.number("fail", in: 400...599)
        failAfter = try request.number("fail_after", in: 400...599)
    }

    /// A request's own trouble, completed by the trouble of all requests.
    func or(_ other: DemoTrouble) -> DemoTrouble {
        var both = self
        both.slow = slow ?? other.slow
        both.fail = fail ?? other.fail
        both.failAfter = failAfter ?? other.failAfter
        return both
    }
}

/// The demo's second address. It has the page, the ordinary API, the page's token, and the switches that make trouble.
///
/// It has an address of its own, as a product's API has, so that nothing of it is in the gateway's code. Confined to the feed's
/// loop, which has the state: the story and people's actions go through one ``IncidentAPI``.
final class DemoSite: AdminSite {
    /// The time for a request with its body.
    let requestMilliseconds: UInt64 = 10_000
    /// Of the one person whom the demo admits.
    static let person = "PUSR0YOU"

    /// A client that sends the token is admitted as this account.
    struct Door {
        let account: String
        let token: String
    }

    private let gate = AdminGate()
    private let files = DemoFiles()
    private let door: Door
    private let digest: [UInt8]
    private var api: IncidentAPI
    private var trouble = DemoTrouble()
    private var isBrokerDown = false
    /// The gateway's address, once it listens.
    var gateway: SocketAddress?
    /// Writes what people have changed.
    var publish: (String, [FeedChange]) -> Void = { _, _ in }
    /// Stops the broker, or restarts it.
    var setBroker: (Bool) -> Void = { _ in }

    init(_ door: Door, accounts: [String], seed: UInt64) {
        self.door = door
        digest = Digest.sha256(Array(door.token.utf8))
        api = IncidentAPI(accounts: accounts, seed: seed)
    }

    var date: String { HTTPDate.text(secondsSince1970: Int(WallClock.milliseconds / 1000)) }

    /// Returns what is to be published of a step of the story.
    func follow(_ change: FeedChange, of account: String, at moment: Int64) -> [FeedChange] {
        api.follow(change, of: account, at: moment)
    }

    // MARK: - Answering

    func reply(to request: AdminRequest) -> AdminReply {
        do throws(AdminRefusal) {
            return try respond(to: request)
        } catch {
            return .now(APIProblem.answer(error))
        }
    }

    private func respond(to request: AdminRequest) throws(AdminRefusal) -> AdminReply {
        // Another site's page could make a browser ask here under a name of its own, and read the token.
        try gate.checkHost(request.head)
        if request.method != "GET" { try gate.checkOrigin(request.head) }
        let path = request.head.path
        if path == "/session" { return .now(try session(request)) }
        if let file = gateway.flatMap({ files.answer(request, gateway: $0) }) {
            guard request.method == "GET" else { throw .methodNotAllowed(allow: "GET, HEAD") }
            return .now(file)
        }
        guard isLetIn(request.head) else { return .now(APIProblem.unauthorized.answer) }
        if path == "/demo/trouble" { return .now(try setTrouble(request)) }
        let trouble = try DemoTrouble(request).or(path.hasPrefix(IncidentAPI.prefix) ? self.trouble : DemoTrouble())
        let answer = answer(request, trouble)
        guard let slow = trouble.slow else { return .now(answer) }
        return .later {
            try? await Task.sleep(for: .milliseconds(slow))
            return answer
        }
    }

    private func answer(_ request: AdminRequest, _ trouble: DemoTrouble) -> AdminAnswer {
        if let status = trouble.fail { return APIProblem.asked(status).answer }
        let (answer, changes) = api.answer(
            request, account: door.account, person: Self.person, at: Int64(WallClock.milliseconds))
        publish(door.account, changes)
        return trouble.failAfter.map { APIProblem.asked($0).answer } ?? answer
    }

    private func isLetIn(_ head: RequestHead) -> Bool {
        guard let value = head.headers.only("authorization") else { return false }
        let words = value.split(separator: UInt8(ascii: " "))
        guard words.count == 2, words[0].elementsEqual("Bearer".utf8) else { return false }
        return constantTimeEquals(Digest.sha256(Array(words[1])), digest)
    }

    /// What the demo's own page has to know. It asks again when its token is refused: a restarted demo has another one. Only
    /// pages of this address can read it.
    private func session(_ request: AdminRequest) throws(AdminRefusal) -> AdminAnswer {
        guard request.method == "GET" else { throw .methodNotAllowed(allow: "GET, HEAD") }
        guard let gateway else { throw .unavailable("The gateway is not ready yet.") }
        return AdminAnswer(
            .members([
                "account": .text(door.account), "person": .text(Self.person), "token": .text(door.token),
                "gateway": .text("http://\(gateway)"),
            ]))
    }

    // MARK: - Trouble

    private func setTrouble(_ request: AdminRequest) throws(AdminRefusal) -> AdminAnswer {
        switch request.method {
        case "GET": break
        case "PUT":
            let broker = try request.text("broker")
            guard broker == nil || broker == "down" else { throw .badParameter("broker is not down.") }
            trouble = try DemoTrouble(request)
            takeBroker(down: broker != nil)
        case "DELETE":
            trouble = DemoTrouble()
            takeBroker(down: false)
        default: throw .methodNotAllowed(allow: "GET, HEAD, PUT, DELETE")
        }
        return AdminAnswer(
            .members([
                "slow": .optional(trouble.slow) { JSONValue.integer($0) },
                "fail": .optional(trouble.fail) { JSONValue.integer($0) },
                "fail_after": .optional(trouble.failAfter) { JSONValue.integer($0) },
                "broker": .text(isBrokerDown ? "down" : "up"),
            ]))
    }

    private func takeBroker(down: Bool) {
        guard down != isBrokerDown else { return }
        isBrokerDown = down
        setBroker(!down)
    }
}

@available(*, unavailable)
extension DemoSite: Sendable {}
