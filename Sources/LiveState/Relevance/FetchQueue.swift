/// Decides which things are fetched when: one fetch at a time for each thing, a few at once, those on the screens first.
///
/// A thing that changes while its fetch is in flight is fetched once more. An answer older than the newest one is dropped. A
/// fetch that no screen needs any more is given up, and its thing is stale when a screen shows it again.
///
/// ``Relevance`` connects an ``UpdateMachine`` and its queue. The machine's effect `reload` becomes `reload` or `pass` here. The
/// effects `reloaded` and `reloadFailed` are inputs of the machine. The machine retries a failed reload. This queue retries a
/// fetch that only a screen waits for.
public struct FetchQueue: StateMachine {
    /// What is fixed for its life.
    public struct Settings: Codable, Equatable, Sendable {
        /// Fetches at once: 4. A value below 1, of any limit here, counts as 1.
        public var maximumAtOnce = 4
        /// Limit of the things that wait, and of the things on the screens that are followed: 1,000 of each.
        public var maximumWaiting = 1_000
        /// See ``KnownThings/maximumThings``.
        public var maximumThings = KnownThings.maximumThings
        /// Pages in flight: 32. One more page makes the queue forget the oldest, whose answer is then dropped.
        public var maximumPages = 32
        /// Seed of the waits after failures.
        public var seed: UInt32 = 0

        /// The defaults.
        public init() {}

        /// Missing members get their defaults.
        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            maximumAtOnce = try members.decodeIfPresent(Int.self, forKey: .maximumAtOnce) ?? maximumAtOnce
            maximumWaiting = try members.decodeIfPresent(Int.self, forKey: .maximumWaiting) ?? maximumWaiting
            maximumThings = try members.decodeIfPresent(Int.self, forKey: .maximumThings) ?? maximumThings
            maximumPages = try members.decodeIfPresent(Int.self, forKey: .maximumPages) ?? maximumPages
            seed = try members.decodeIfPresent(UInt32.self, forKey: .seed) ?? seed
        }
    }

    /// What happens. `fetch` is the number of the effect that asked.
    public enum Input: Codable, Equatable, Sendable {
        /// The things that detail screens show, the things in the lists on the screens, and the entities of lists that accept new
        /// things. Details are fetched unless they are known. A list loads its things by the page; a thing is fetched alone only
        /// if it changed while no screen showed it.
        case show(things: [Thing], listed: [Thing], takesNew: [String])
        /// A thing changed, and a screen needs it. The number is the machine's.
        case reload(number: Int, thing: Thing)
        /// A thing changed, and no screen needs it.
        case pass(number: Int, thing: Thing)
        /// A person wants to see it again.
        case refresh(thing: Thing)
        /// The machine no longer waits for any of its reloads.
        case dropReloads
        /// The machine got a cursor, or lost it. Send this before any question with it: pages in flight are forgotten.
        case finger(isHeld: Bool)
        /// A fetch has found this.
        case fetched(fetch: Int, outcome: Reloaded)
        /// A fetch has failed.
        case failed(fetch: Int, failure: RequestFailure)
        /// A page, or a snapshot, is asked for now. The number is the caller's.
        case asked(page: Int)
        /// The page's content: summaries of things, or (`isWhole`) all of them.
        case answered(page: Int, things: [Thing], isWhole: Bool? = nil)
        /// An action's answer gave the app the thing as it is now: all of it (`isWhole`), or a summary.
        case put(thing: Thing, isWhole: Bool)
        /// It is time for what was due.
        case wake
    }

    /// What the owner is to do, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// Ask the app's API for the thing; the answer brings the number back.
        case fetch(fetch: Int, thing: Thing)
        /// This fetch is no longer needed.
        case cancel(fetch: Int)
        /// Apply what this fetch found; without this effect, drop its answer. `isLate`: a newer summary is known already, but no
        /// newer answer with all of the thing.
        case apply(fetch: Int, thing: Thing, outcome: Reloaded, isLate: Bool? = nil)
        /// A reload of the machine is done.
        case reloaded(number: Int, outcome: Reloaded)
        /// A reload of the machine has failed; the machine tries it again.
        case reloadFailed(number: Int, failure: RequestFailure)
        /// A screen waits for the thing, and it could not be fetched. It is tried again unless the server refused it.
        case unavailable(thing: Thing, failure: RequestFailure)
        /// Apply these things of the page. The page has older values of the others than what is known.
        case accept(page: Int, things: [Thing])
    }

    /// What is visible from outside between two inputs.
    public struct View: Codable, Equatable, Sendable {
        /// Fetches in flight, in the order in which they began.
        public let running: [RunningFetch]
        /// In the order in which they came.
        public let waiting: [Thing]
        /// On the screens, in their order.
        public let shown: [ShownThing]
        /// Fetches begun.
        public let made: Int
        /// Reloads that another one's fetch answers.
        public let merged: Int
        /// Reloads that no screen needed.
        public let avoided: Int
        /// Answers that came too late.
        public let dropped: Int
    }

    /// A fetch in flight.
    public struct RunningFetch: Codable, Equatable, Sendable {
        /// The number of its effect.
        public let fetch: Int
        /// What is fetched.
        public let thing: Thing
    }

    /// A thing on a screen, and how far it can be trusted.
    public struct ShownThing: Codable, Equatable, Sendable {
        /// Which thing.
        public let thing: Thing
        /// How far what is known of it can be trusted.
        public let knowledge: Knowledge
    }

    struct Counts: Equatable, Sendable {
        var made = 0
        var merged = 0
        var avoided = 0
        var dropped = 0
    }

    /// What waits or is in flight for one thing.
    struct Job: Sendable {
        let thing: Thing
        /// Jobs begin in the order in which they came.
        let order: Int
        /// Reloads that the next fetch answers.
        var next: [Int] = []
        /// Reloads that the fetch in flight answers.
        var now: [Int] = []
        /// Whether a screen waits for the next fetch.
        var isForScreen = false
        /// The number of the fetch in flight, and the number of its question.
        var fetch: Int?
        var asked = 0
        var retryAt: Milliseconds?
        var retry: Retry

        var isWaiting: Bool { fetch == nil && (!next.isEmpty || isForScreen) }
    }

    let settings: Settings
    var known: KnownThings
    var jobs: [Thing: Job] = [:]
    var shown: [Thing] = []
    var isShown: Set<Thing> = []
    /// Those of them that a detail screen shows.
    var detailed: Set<Thing> = []
    var takesNew: [String] = []
    /// The numbers of the questions, and the pages in the order in which they were asked.
    var pages: [(page: Int, asked: Int)] = []
    var lastFetch = 0
    var lastOrder = 0
    var counts = Counts()

    /// Knows nothing yet.
    public init(_ settings: Settings) {
        var settings = settings
        settings.maximumAtOnce = max(1, settings.maximumAtOnce)
        settings.maximumWaiting = max(1, settings.maximumWaiting)
        settings.maximumPages = max(1, settings.maximumPages)
        self.settings = settings
        known = KnownThings(maximum: settings.maximumThings)
    }

    /// What is visible from outside now.
    public var view: View {
        let inOrder = jobs.values.sorted { $0.order < $1.order }
        let running = inOrder.compactMap { job in job.fetch.map { RunningFetch(fetch: $0, thing: job.thing) } }
        return View(
            running: running.sorted { $0.fetch < $1.fetch }, waiting: inOrder.filter(\.isWaiting).map(\.thing),
            shown: shown.map { ShownThing(thing: $0, knowledge: neededKnowledge(of: $0)) },
            made: counts.made, merged: counts.merged, avoided: counts.avoided, dropped: counts.dropped)
    }

    /// When the first fetch that failed is due again; nil: none waits.
    public var wakeAt: Milliseconds? { jobs.values.compactMap(\.retryAt).min() }

    /// How far a thing can be trusted; `isWhole`: all of it, not only a list's summary.
    public func knowledge(of thing: Thing, isWhole: Bool = false) -> Knowledge {
        known.knowledge(of: thing, isWhole: isWhole)
    }

    /// The same, for as much of the thing as the screens need.
    func neededKnowledge(of thing: Thing) -> Knowledge {
        known.knowledge(of: thing, isWhole: detailed.contains(thing))
    }

    /// Handles one input.
    public mutating func handle(_ input: Input, at now: Milliseconds) -> [Effect] {
        var effects: [Effect] = []
        switch input {
        case .show(let things, let listed, let takesNew): show(things, listed, takesNew, &effects)
        case .reload(let number, let thing): reload(number, thing, &effects)
        case .pass(let number, let thing):
            counts.avoided += 1
            // A thing that a screen shows, and that no rule fetches, is as good as before.
            if !isShown.contains(thing) { known.change(thing) }
            effects.append(.reloaded(number: number, outcome: .value))
        case .refresh(let thing): want(thing)
        case .dropReloads: dropReloads(&effects)
        case .finger(let isHeld): setFinger(isHeld, &effects)
        case .fetched(let fetch, let outcome): receive(fetch, outcome, &effects)
        case .failed(let fetch, let failure): fail(fetch, failure, at: now, &effects)
        case .asked(let page):
            pages.removeAll { $0.page == page }
            pages.append((page, known.ask()))
            if pages.count > settings.maximumPages { pages.removeFirst() }
        case .answered(let page, let things, let isWhole): receivePage(page, things, isWhole == true, &effects)
        case .put(let thing, let isWhole): put(thing, isWhole)
        case .wake:
            for (thing, job) in jobs { if let due = job.retryAt, due <= now { jobs[thing]?.retryAt = nil } }
        }
        begin(&effects)
        return effects
    }
}
