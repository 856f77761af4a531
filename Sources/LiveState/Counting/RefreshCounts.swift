/// Counts by screen and day whether people trust what they see (CLIENT.md, "Counting"). The fewer refreshes people ask for, the
/// better the live updates are.
///
/// It sends nothing itself: the app reads ``view`` and sends the values to any service. The clock is Unix time.
public struct RefreshCounts: StateMachine {
    /// What is fixed for its life.
    public struct Settings: Codable, Sendable {
        /// The most days kept until the app has sent them. Beyond it, the oldest is dropped.
        public var maximumDays = 31
        /// The most screens of a day. Further screens are counted together as ``RefreshCounts/otherScreens``.
        public var maximumScreens = 50
        /// Milliseconds added to the clock to find the day: the time zone's offset. 0 counts by days of UTC.
        public var dayOffset: Milliseconds = 0

        /// The defaults.
        public init() {}

        /// Missing members get their defaults.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            maximumDays = try values.decodeIfPresent(Int.self, forKey: .maximumDays) ?? maximumDays
            maximumScreens = try values.decodeIfPresent(Int.self, forKey: .maximumScreens) ?? maximumScreens
            dayOffset = try values.decodeIfPresent(Milliseconds.self, forKey: .dayOffset) ?? dayOffset
        }
    }

    /// What happens.
    public enum Input: Codable, Equatable, Sendable {
        /// Changes nothing: no time is waited for.
        case wake
        /// The counts of an earlier process, which are added to the present ones.
        case loaded(counts: [RefreshCount])
        /// A screen was refreshed: by its user, or by an event.
        case refreshed(screen: String, isManual: Bool)
        /// The change of an event is on the screen. `ts`: that of the event, in milliseconds of Unix time.
        case shown(screen: String, ts: Milliseconds)
        /// The results of changes: fetches made; changes that joined a fetch; changes of things that no screen showed.
        case fetches(screen: String, made: Int, merged: Int, avoided: Int)
        /// The app has sent all days up to this one, `2026-11-23`. They are forgotten.
        case sent(through: String)
    }

    /// What the owner is to do, in order.
    public enum Effect: Codable, Equatable, Sendable {
        /// ``Settings/maximumDays`` days were kept and not sent: the values of the oldest are dropped.
        case dropped(counts: [RefreshCount])
    }

    /// What is visible from outside between two inputs.
    public struct View: Codable, Equatable, Sendable {
        /// Sorted by day, then in the order in which the screens first came that day.
        public var counts: [RefreshCount]
    }

    /// The name under which screens beyond the limit are counted.
    public static let otherScreens = "other"
    /// The longest name of a screen, in bytes of UTF-8. A longer name is counted as ``otherScreens``.
    public static let maximumNameBytes = 100

    private let settings: Settings
    /// Sorted by day; a day's screens in the order in which they came.
    private var days: [(day: String, counts: [RefreshCount])] = []

    /// Nothing is counted yet.
    public init(_ settings: Settings) { self.settings = settings }

    /// What is visible from outside now.
    public var view: View { View(counts: days.flatMap(\.counts)) }

    /// Nil: time alone changes nothing.
    public var wakeAt: Milliseconds? { nil }

    /// Handles one input.
    public mutating func handle(_ input: Input, at now: Milliseconds) -> [Effect] {
        let today = CalendarDay.text(now + settings.dayOffset)
        var effects: [Effect] = []
        switch input {
        case .wake: break
        case .loaded(let counts):
            for count in counts { change(count.screen, on: count.day, &effects) { $0.add(count) } }
        case .refreshed(let screen, let isManual):
            change(screen, on: today, &effects) {
                if isManual { $0.manual.add(1) } else { $0.automatic.add(1) }
            }
        case .shown(let screen, let ts):
            change(screen, on: today, &effects) { $0.count(latency: now - ts) }
        case .fetches(let screen, let made, let merged, let avoided):
            change(screen, on: today, &effects) {
                $0.made.add(max(made, 0))
                $0.merged.add(max(merged, 0))
                $0.avoided.add(max(avoided, 0))
            }
        case .sent(let through): days.removeAll { $0.day <= through }
        }
        return effects
    }

    private mutating func change(
        _ screen: String, on day: String, _ effects: inout [Effect], _ body: (inout RefreshCount) -> Void
    ) {
        guard let at = index(of: day, &effects) else { return }
        var name = screen.utf8.count <= Self.maximumNameBytes ? screen : Self.otherScreens
        let isKnown = days[at].counts.contains { $0.screen == name }
        if !isKnown, days[at].counts.count(where: { $0.screen != Self.otherScreens }) >= settings.maximumScreens {
            name = Self.otherScreens
        }
        if let found = days[at].counts.firstIndex(where: { $0.screen == name }) {
            body(&days[at].counts[found])
        } else {
            var count = RefreshCount(day: day, screen: name)
            body(&count)
            days[at].counts.append(count)
        }
    }

    /// The index of a day, which is added if it is missing. Nil: it is older than all days kept, and the limit is reached.
    private mutating func index(of day: String, _ effects: inout [Effect]) -> Int? {
        if let found = days.lastIndex(where: { $0.day == day }) { return found }
        if days.count >= max(1, settings.maximumDays) {
            if let oldest = days.first, day < oldest.day { return nil }
            effects.append(.dropped(counts: days.removeFirst().counts))
        }
        let at = days.firstIndex { $0.day > day } ?? days.count
        days.insert((day, []), at: at)
        return at
    }
}
