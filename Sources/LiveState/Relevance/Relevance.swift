/// Decides what is fetched from what is shown: from the interests of the screens, and the rules for events.
public struct Relevance: StateMachine {
    /// What is fixed for its life.
    public struct Settings: Codable, Equatable, Sendable {
        /// Rules of the app, before the standard ones.
        public var rules: [RelevanceRule] = []
        /// Screens at once: 32. One more screen makes it forget the one that was shown longest ago.
        public var maximumScreens = 32
        /// Ids of one list: 10,000. The ids behind them are not followed.
        public var maximumIDs = 10_000
        /// How many things that a person saw change are remembered, the last ones: 1,000.
        public var maximumSeen = 1_000
        /// And for how long, in ms: 10 minutes.
        public var seenFor: Milliseconds = 600_000

        /// The defaults.
        public init() {}

        /// Missing members get their defaults.
        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            rules = try members.decodeIfPresent([RelevanceRule].self, forKey: .rules) ?? rules
            maximumScreens = try members.decodeIfPresent(Int.self, forKey: .maximumScreens) ?? maximumScreens
            maximumIDs = try members.decodeIfPresent(Int.self, forKey: .maximumIDs) ?? maximumIDs
            maximumSeen = try members.decodeIfPresent(Int.self, forKey: .maximumSeen) ?? maximumSeen
            seenFor = try members.decodeIfPresent(Milliseconds.self, forKey: .seenFor) ?? seenFor
        }
    }

    /// What happens.
    public enum Input: Codable, Equatable, Sendable {
        /// A screen shows this from now on; each has a name of its own, and one interest. `visible`: of a list, the ids that a
        /// person can see; nil: all of them.
        case show(screen: String, interest: Interest, visible: [String]? = nil)
        /// The screen of this name is gone.
        case hide(screen: String)
        /// Whether a person can see the app: it is in the foreground. At first it is.
        case visible(isVisible: Bool)
        /// Whether the machine is live. At first it is not.
        case live(isLive: Bool)
        /// All that happened to a thing, in its order. The number is the caller's.
        case changed(number: Int, thing: Thing, types: [String])
        /// What the server has of the thing was put on the screens that show it.
        case displayed(thing: Thing)
        /// Changes nothing: no time is waited for.
        case wake
    }

    /// What the owner is to do, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// A screen needs it.
        case fetch(number: Int, thing: Thing)
        /// No screen needs it: what is known of it is old now, and nothing is fetched.
        case pass(number: Int, thing: Thing)
        /// Remove it from these lists.
        case remove(thing: Thing, screens: [String])
    }

    /// What is visible from outside between two inputs.
    public struct View: Codable, Equatable, Sendable {
        /// In the order in which they were last shown.
        public let screens: [Screen]
        /// The things that a person saw change, the last one last.
        public let seen: [SeenThing]
    }

    /// A thing, and when a person saw it change.
    public struct SeenThing: Codable, Equatable, Sendable {
        /// Which thing.
        public let thing: Thing
        /// When, by the clock of the machine's owner.
        public let at: Milliseconds
    }

    private let settings: Settings
    private let rules: [RelevanceRule]
    private var screens: [Screen] = []
    private var seen: [SeenThing] = []
    private var isVisible = true
    private var isLive = false

    /// No screen is shown, and nothing was seen yet.
    public init(_ settings: Settings) {
        var settings = settings
        settings.maximumScreens = max(1, settings.maximumScreens)
        settings.maximumIDs = max(0, settings.maximumIDs)
        settings.maximumSeen = max(0, settings.maximumSeen)
        self.settings = settings
        rules = settings.rules + RelevanceRule.standard
    }

    /// What is visible from outside now.
    public var view: View { View(screens: screens, seen: seen) }
    /// Nil: time alone changes nothing.
    public var wakeAt: Milliseconds? { nil }

    /// Whether a person can see the thing now: it is on a screen of details, or in the visible part of a list.
    public func isShowing(_ thing: Thing) -> Bool { isVisible && screens.contains { $0.isVisible(thing) } }

    /// Whether a person saw the thing change, live, at most this many milliseconds ago. If so, a push notification of it needs no
    /// dialog.
    public func sawLive(_ thing: Thing, within: Milliseconds, at now: Milliseconds) -> Bool {
        seen.contains { $0.thing == thing && now - $0.at <= min(within, settings.seenFor) }
    }

    /// The things whose details screens show, each once. They are fetched first.
    public var details: [Thing] {
        unique(screens.compactMap { if case .details(let thing) = $0.interest { thing } else { nil } })
    }

    /// The things in the lists on the screens, each once.
    public var listed: [Thing] {
        unique(
            screens.flatMap { screen -> [Thing] in
                guard case .list(let entity, let ids, _) = screen.interest else { return [] }
                return ids.map { Thing(entity: entity, id: $0) }
            })
    }

    private func unique(_ things: [Thing]) -> [Thing] {
        var found: Set<Thing> = []
        return things.filter { found.insert($0).inserted }
    }

    /// Whether a screen with this interest would fetch the thing after these events, and whether its list would lose the thing.
    /// It is for a hidden list, for which nothing was noted.
    public func needs(_ interest: Interest, _ thing: Thing, types: [String]) -> (fetch: Bool, removed: Bool) {
        Screen(name: "", interest: interest).needs(thing, types, rules)
    }

    /// The entities of lists to which new things belong.
    public var takesNew: [String] {
        var found: Set<String> = []
        return screens.compactMap { screen in
            guard case .list(let entity, _, true) = screen.interest, found.insert(entity).inserted else { return nil }
            return entity
        }
    }

    /// Handles one input.
    public mutating func handle(_ input: Input, at now: Milliseconds) -> [Effect] {
        switch input {
        case .show(let name, let interest, let visible):
            screens.removeAll { Exact($0.name) == Exact(name) }
            screens.append(Screen(name: name, interest: limited(interest), visible: visible))
            if screens.count > settings.maximumScreens { screens.removeFirst() }
        case .hide(let name): screens.removeAll { Exact($0.name) == Exact(name) }
        case .visible(let isVisible): self.isVisible = isVisible
        case .live(let isLive): self.isLive = isLive
        case .changed(let number, let thing, let types): return change(number, thing, types)
        case .displayed(let thing):
            guard isLive, isShowing(thing) else { return [] }
            seen.removeAll { $0.thing == thing || now - $0.at > settings.seenFor }
            seen.append(SeenThing(thing: thing, at: now))
            if seen.count > settings.maximumSeen { seen.removeFirst() }
        case .wake: break
        }
        return []
    }

    private func limited(_ interest: Interest) -> Interest {
        guard case .list(let entity, let ids, let takesNew) = interest else { return interest }
        return .list(entity: entity, ids: Array(ids.prefix(settings.maximumIDs)), takesNew: takesNew)
    }

    private mutating func change(_ number: Int, _ thing: Thing, _ types: [String]) -> [Effect] {
        var (isNeeded, lists): (Bool, [String]) = (false, [])
        for index in screens.indices {
            let (fetch, removed) = screens[index].needs(thing, types, rules)
            isNeeded = isNeeded || fetch
            guard removed else { continue }
            lists.append(screens[index].name)
            screens[index].remove(thing.id)
        }
        let removal: [Effect] = lists.isEmpty ? [] : [.remove(thing: thing, screens: lists)]
        return removal + [isNeeded ? .fetch(number: number, thing: thing) : .pass(number: number, thing: thing)]
    }
}
