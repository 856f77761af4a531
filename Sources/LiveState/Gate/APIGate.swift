/// One gate for all requests of a client to an API: who is in trouble is left alone (CLIENT.md).
///
/// A 408, 429 or 5xx, or no answer, closes it for all. Behind the wait one request tries whether the API answers again; what is
/// answered then lets two run at once, and each further answer one more, until nothing is held back.
public struct APIGate: StateMachine {
    /// What is fixed for its life.
    public struct Settings: Codable, Sendable {
        /// Requests that may wait; one more is refused: 1,000.
        public var maximumWaiting = 1_000
        /// Of the waits: another one for each client.
        public var seed: UInt32 = 1

        /// The defaults.
        public init() {}

        /// Members that are missing are as by default.
        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            maximumWaiting = try members.decodeIfPresent(Int.self, forKey: .maximumWaiting) ?? maximumWaiting
            seed = try members.decodeIfPresent(UInt32.self, forKey: .seed) ?? seed
        }
    }

    /// What happens. `number` is the caller's, and another one for each request.
    public enum Input: Codable, Equatable, Sendable {
        /// A request is to be made. Where its subject, such as a thing, alone fails, others do not wait for it; nil: it has none.
        case ask(number: Int, subject: String?)
        /// The API has answered it: also a refusal, unless that is a 408, 429 or 5xx.
        case answered(number: Int)
        /// It was answered with 408, 429 or 5xx, or not at all; `after` is what `Retry-After` asks for, in milliseconds.
        case failed(number: Int, after: Milliseconds?)
        /// It is given up, waiting or under way. That says nothing of the API.
        case left(number: Int)
        /// There is a network again. It ends a wait that the client has chosen.
        case network
        /// A person wants to see everything again. It ends every wait.
        case refresh
        /// It is time for what was due.
        case wake
    }

    /// What the owner is to do, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// Make the request, and hand in what becomes of it.
        case begin(number: Int)
        /// Too many wait already: the request has failed.
        case refuse(number: Int)
    }

    /// Whether requests are made.
    public enum State: Codable, Equatable, Sendable {
        /// All of them are.
        case open
        /// None is, until then.
        case closed(until: Milliseconds)
        /// One is under way that tries whether the API answers again.
        case probing
        /// So many at once are.
        case rising(limit: Int)
    }

    /// What can be seen of it between two inputs.
    public struct View: Codable, Equatable, Sendable {
        /// Whether requests are made.
        public let state: State
        /// How often it closed since it was last open.
        public let failures: Int
        /// Requests under way.
        public let running: Int
        /// Requests that wait.
        public let waiting: Int
    }

    /// The bound of the first wait, and of the longest that the client chooses.
    private static let (firstBound, longestBound): (Milliseconds, Milliseconds) = (1_000, 30_000)
    /// Behind a probe so many requests may run at once, and one more for each that is answered.
    private static let (firstLimit, lastLimit) = (2, 8)

    private struct Running: Sendable {
        /// How often the gate had closed when it began.
        let closings: Int
        let subject: String?
    }

    private let settings: Settings
    private var jitter: Jitter
    private var failures = 0
    /// Closed until then; a probe follows.
    private var closedUntil: Milliseconds?
    /// The server has said so: only a person ends that wait.
    private var isAsked = false
    private var probe: Int?
    /// Requests that may run at once, behind a probe; nil: any number.
    private var limit: Int?
    private var openedAt: Milliseconds = 0
    /// Counts how often it closed: what had begun before says nothing new.
    private var closings = 0
    /// What alone has failed since it was open: others need not wait for it. Nil: nothing, or more than one.
    private var blamed: String?
    private var running: [Int: Running] = [:]
    private var waiting: [(number: Int, subject: String?)] = []

    /// An open gate.
    public init(_ settings: Settings) {
        self.settings = settings
        jitter = Jitter(seed: settings.seed)
    }

    /// What can be seen of it now.
    public var view: View {
        let state: State =
            if probe != nil {
                .probing
            } else if let closedUntil {
                .closed(until: closedUntil)
            } else {
                limit.map { .rising(limit: $0) } ?? .open
            }
        return View(state: state, failures: failures, running: running.count, waiting: waiting.count)
    }

    /// When the probe is due; nil: none is, or nobody waits for one.
    public var wakeAt: Milliseconds? { waiting.isEmpty || probe != nil ? nil : closedUntil }

    /// Handles one input.
    public mutating func handle(_ input: Input, at now: Milliseconds) -> [Effect] {
        var effects: [Effect] = []
        switch input {
        case .ask(let number, let subject): ask(number, subject, &effects)
        case .answered(let number): answered(number, at: now)
        case .failed(let number, let after): failed(number, after, at: now)
        case .left(let number):
            waiting.removeAll { $0.number == number }
            _ = end(number)
        case .network: if closedUntil != nil, !isAsked { closedUntil = now }
        case .refresh: if closedUntil != nil { closedUntil = now }
        case .wake: break
        }
        for (number, subject) in waiting where hasRoom(subject, at: now) {
            waiting.removeAll { $0.number == number }
            running[number] = Running(closings: closings, subject: subject)
            if closedUntil != nil { probe = number }
            effects.append(.begin(number: number))
        }
        return effects
    }

    private mutating func ask(_ number: Int, _ subject: String?, _ effects: inout [Effect]) {
        if running[number] != nil || waiting.contains(where: { $0.number == number }) { return }
        if waiting.count >= settings.maximumWaiting {
            effects.append(.refuse(number: number))
        } else {
            waiting.append((number, subject))
        }
    }

    private mutating func answered(_ number: Int, at now: Milliseconds) {
        guard let ended = end(number), ended.closings == closings else { return }
        if let blamed, !Self.isSame(blamed, ended.subject) {
            // The trouble is that of one thing alone.
            (closedUntil, limit) = (nil, nil)
        } else if closedUntil != nil {
            closedUntil = nil
            limit = Self.firstLimit
            openedAt = now
        } else if let known = limit {
            limit = known >= Self.lastLimit || now >= openedAt + Retry.calm ? nil : known + 1
        }
        guard limit == nil else { return }
        failures = 0
        blamed = nil
    }

    private mutating func failed(_ number: Int, _ after: Milliseconds?, at now: Milliseconds) {
        guard let ended = end(number) else { return }
        if failures == 0 && after == nil {
            blamed = ended.subject
        } else if after != nil || !Self.isSame(blamed, ended.subject) {
            blamed = nil
        }
        if ended.closings == closings { return close(after, at: now) }
        // It began before the gate closed: what the server asks for counts, the failure has been counted.
        guard let after, let known = closedUntil else { return }
        let until = now + wait(after: after)
        guard until > known else { return }
        closedUntil = until
        isAsked = true
    }

    /// By bytes, as ids are.
    private static func isSame(_ one: String?, _ other: String?) -> Bool {
        one.map(Exact.init) == other.map(Exact.init)
    }

    private mutating func close(_ after: Milliseconds?, at now: Milliseconds) {
        closings += 1
        failures += 1
        limit = nil
        isAsked = after != nil
        closedUntil = now + (after.map { wait(after: $0) } ?? wait())
    }

    /// At least half of the bound: many requests that fail at once do not make many probes.
    private mutating func wait() -> Milliseconds {
        let bound = min(Self.firstBound << Milliseconds(min(failures - 1, 10)), Self.longestBound)
        return jitter.milliseconds(bound / 2, bound)
    }

    /// What the server asks for, and up to half of it more: clients that were refused together do not come back together.
    private mutating func wait(after: Milliseconds) -> Milliseconds {
        let asked = min(max(after, 0), Retry.maximumAsked)
        return jitter.milliseconds(asked, asked + max(asked / 2, 1_000))
    }

    /// It runs no more. Nil: it did not run.
    private mutating func end(_ number: Int) -> Running? {
        if number == probe { probe = nil }
        return running.removeValue(forKey: number)
    }

    private func hasRoom(_ subject: String?, at now: Milliseconds) -> Bool {
        if let closedUntil {
            let isOther = blamed != nil && !Self.isSame(blamed, subject)
            return probe == nil && (isOther || closedUntil <= now)
        }
        guard let limit else { return true }
        return running.values.count { $0.closings == closings } < limit
    }
}
