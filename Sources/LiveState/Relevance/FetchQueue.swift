/// Which things are fetched when: one fetch at a time for a thing, a few at once, those on the screens first.
///
/// What changes while its fetch is on the way is fetched once more, however often it changed. An answer that was asked for
/// before a newer one came is dropped. What no screen waits for any more is given up, and is stale when somebody looks.
///
/// Between an ``UpdateMachine`` and its queue stands ``Relevance``: the machine's effect `reload` becomes `reload` or `pass`
/// here, and the effects `reloaded` and `reloadFailed` are inputs of the machine. To try a failed reload again is the
/// machine's; what only a screen waits for is tried again here.
public struct FetchQueue: StateMachine {
    /// What is fixed for its life.
    public struct Settings: Codable, Equatable, Sendable {
        /// Fetches at once: 4. Of each number here less than 1 counts as 1.
        public var maximumAtOnce = 4
        /// Things that may wait, and things on the screens that are looked after: 1,000 of each.
        public var maximumWaiting = 1_000
        /// See ``KnownThings/maximumThings``.
        public var maximumThings = KnownThings.maximumThings
        /// Pages on their way; the answer of one that is forgotten for one more is dropped: 32.
        public var maximumPages = 32
        /// Of the waits after failures.
        public var seed: UInt32 = 0

        /// The defaults.
        public init() {}

        /// Members that are missing are as by default.
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
        /// What screens of details show now, what stands in the lists on the screens, and the entities of lists that take new
        /// things. Details are fetched unless they are known; a list loads its things by the page, and only those that
        /// changed while nobody looked are fetched by themselves.
        case show(things: [Thing], listed: [Thing], takesNew: [String])
        /// A thing changed, and a screen needs it. The number is the machine's.
        case reload(number: Int, thing: Thing)
        /// A thing changed, and no screen needs it.
        case pass(number: Int, thing: Thing)
        /// A person wants to see it again.
        case refresh(thing: Thing)
        /// The machine waits for none of its reloads any more.
        case dropReloads
        /// The machine got a finger, or lost it. Before what is asked with it: pages that are on their way are forgotten.
        case finger(isHeld: Bool)
        /// A fetch has found this.
        case fetched(fetch: Int, outcome: Reloaded)
        /// A fetch has failed.
        case failed(fetch: Int, failure: RequestFailure)
        /// A page, or a snapshot, is asked for now. The number is the caller's.
        case asked(page: Int)
        /// What it had: summaries of things, or (`isWhole`) all of them.
        case answered(page: Int, things: [Thing], isWhole: Bool? = nil)
        /// The app was given the thing as the answer to an action: as it is now, or (not `isWhole`) a summary of it.
        case put(thing: Thing, isWhole: Bool)
        /// It is time for what was due.
        case wake
    }

    /// What the owner is to do, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// Ask the app's API for the thing; the answer brings the number back.
        case fetch(fetch: Int, thing: Thing)
        /// Nobody waits for this fetch any more.
        case cancel(fetch: Int)
        /// Take what this fetch found. Without this effect its answer is to be dropped. `isLate`: a newer summary is there already, but
        /// nothing newer of all of it.
        case apply(fetch: Int, thing: Thing, outcome: Reloaded, isLate: Bool? = nil)
        /// A reload of the machine is done.
        case reloaded(number: Int, outcome: Reloaded)
        /// A reload of the machine has failed; the machine tries it again.
        case reloadFailed(number: Int, failure: RequestFailure)
        /// A screen waits for the thing, and it could not be fetched. It is tried again unless the server refused it.
        case unavailable(thing: Thing, failure: RequestFailure)
        /// Take these things of the page; the others are older there than what is known.
        case accept(page: Int, things: [Thing])
    }

    /// What can be seen of it between two inputs.
    public struct View: Codable, Equatable, Sendable {
        /// On their way, in the order in which they began.
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

    /// A fetch that is on its way.
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

    /// What waits, or is on its way, for one thing.
    struct Job: Sendable {
        let thing: Thing
        /// Jobs begin in the order in which they came.
        let order: Int
        /// Reloads that the next fetch answers.
        var next: [Int] = []
        /// Reloads that the fetch on its way answers.
        var now: [Int] = []
        /// Whether a screen waits for the next fetch.
        var isForScreen = false
        /// The one on its way, and the number of its question.
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
    /// Those of them that a screen of details shows.
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

    /// What can be seen of it now.
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

    /// Of as much as the screens need.
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
            // What a screen shows and no rule fetches is as good as before.
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
