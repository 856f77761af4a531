/// One gate for all requests of a client to an API. It gives an API in trouble time to recover (CLIENT.md).
///
/// A 408, 429 or 5xx, or no answer, closes it for all requests. After the wait, one request probes whether the API answers again.
/// Its answer lets two run at once. Each further answer adds one more, until none is held back.
public struct APIGate: StateMachine {
    /// What is fixed for its life.
    public struct Settings: Codable, Sendable {
        /// The most requests that may wait: 1,000. One more is refused.
        public var maximumWaiting = 1_000
        /// Seed of the waits: use another one for each client.
        public var seed: UInt32 = 1

        /// The defaults.
        public init() {}

        /// Missing members get their defaults.
        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            maximumWaiting = try members.decodeIfPresent(Int.self, forKey: .maximumWaiting) ?? maximumWaiting
            seed = try members.decodeIfPresent(UInt32.self, forKey: .seed) ?? seed
        }
    }

    /// What happens. The caller chooses `number`, another one for each request.
    public enum Input: Codable, Equatable, Sendable {
        /// A request is to be made. If only requests for its subject, such as a thing, fail, others do not wait; nil: no subject.
        case ask(number: Int, subject: String?)
        /// The API has answered it. A refusal is an answer too, unless it is a 408, 429 or 5xx.
        case answered(number: Int)
        /// It was answered with 408, 429 or 5xx, or not at all; `after` is what `Retry-After` asks for, in milliseconds.
        case failed(number: Int, after: Milliseconds?)
        /// The request was given up while it waited or ran. That proves nothing about the API.
        case left(number: Int)
        /// There is a network again. This ends a wait that the client has chosen.
        case network
        /// A person wants to see everything again. This ends every wait.
        case refresh
        /// It is time for what was due.
        case wake
    }

    /// What the owner is to do, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// Make the request, and pass in its result.
        case begin(number: Int)
        /// Too many requests wait already: this one has failed.
        case refuse(number: Int)
    }

    /// Whether requests are made.
    public enum State: Codable, Equatable, Sendable {
        /// All requests are made.
        case open
        /// No request is made until this time.
        case closed(until: Milliseconds)
        /// One request runs as a probe: does the API answer again?
        case probing
        /// This many run at once.
        case rising(limit: Int)
    }

    /// What is visible from outside between two inputs.
    public struct View: Codable, Equatable, Sendable {
        /// Whether requests are made.
        public let state: State
        /// How often it closed since it was last open.
        public let failures: Int
        /// Requests that run.
        public let running: Int
        /// Requests that wait.
        public let waiting: Int
    }

    /// The bound of the first wait, and of the longest that the client chooses.
    private static let (firstBound, longestBound): (Milliseconds, Milliseconds) = (1_000, 30_000)
    /// After a probe this many requests may run at once, and one more for each answer.
    private static let (firstLimit, lastLimit) = (2, 8)

    private struct Running: Sendable {
        /// How many times the gate had closed when it began.
        let closings: Int
        let subject: String?
    }

    private let settings: Settings
    private var jitter: Jitter
    private var failures = 0
    /// The gate is closed until this time; then a probe follows.
    private var closedUntil: Milliseconds?
    /// The server asked for that wait: only a person ends it.
    private var isAsked = false
    private var probe: Int?
    /// The most requests that may run at once after a probe; nil: any number.
    private var limit: Int?
    private var openedAt: Milliseconds = 0
    /// Counts how many times the gate has closed. A request that began before the last time proves nothing new.
    private var closings = 0
    /// The subject whose requests alone have failed since the gate was open; others need not wait. Nil: none, or several.
    private var blamed: String?
    private var running: [Int: Running] = [:]
    private var waiting: [(number: Int, subject: String?)] = []

    /// An open gate.
    public init(_ settings: Settings) {
        self.settings = settings
        jitter = Jitter(seed: settings.seed)
    }

    /// What is visible from outside now.
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

    /// When the probe is due. Nil: none is due, or no request waits.
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
            // Only one thing is in trouble.
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
        // It began before the gate closed. The failure has been counted already; the wait that the server asks for counts.
        guard let after, let known = closedUntil else { return }
        let until = now + wait(after: after)
        guard until > known else { return }
        closedUntil = until
        isAsked = true
    }

    /// Compares bytes, as ids are compared.
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

    /// At least half of the bound, so that many requests that fail at once do not make many probes.
    private mutating func wait() -> Milliseconds {
        let bound = min(Self.firstBound << Milliseconds(min(failures - 1, 10)), Self.longestBound)
        return jitter.milliseconds(bound / 2, bound)
    }

    /// The server's wait and up to half more (or up to 1 s), so that clients refused together do not return together.
    private mutating func wait(after: Milliseconds) -> Milliseconds {
        let asked = min(max(after, 0), Retry.maximumAsked)
        return jitter.milliseconds(asked, asked + max(asked / 2, 1_000))
    }

    /// The request runs no longer. Nil: it did not run.
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
