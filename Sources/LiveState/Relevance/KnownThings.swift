/// How far each thing can be trusted.
///
/// Questions, changes and losses of the cursor share one sequence of numbers, so that late and new can be distinguished. An
/// answer counts as what the server had when the question was asked.
public struct KnownThings: Codable, Equatable, Sendable {
    /// How many things are remembered. Beyond it, the eighth that was used longest ago is forgotten and is unknown again. Pinned
    /// things stay.
    public static let maximumThings = 10_000

    private struct Entry: Codable, Equatable {
        /// The question that was answered; 0: none.
        var asked = 0
        /// The same of an answer that was no summary.
        var whole = 0
        var changed: Int
        var isHeld = false
        var used = 0
    }

    private let maximum: Int
    private var number = 0
    private var isWatched = false
    /// Answers to questions from before this are old.
    private var staleBefore = 0
    /// The newest number that was forgotten. An answer to an older question may be older than what is forgotten.
    private var forgotten = 0
    private var entries: [Thing: Entry] = [:]
    private var uses = 0
    /// On a screen now.
    private var pinned: Set<Thing> = []

    /// Knows nothing yet. It keeps at most this many things; a value below 1 counts as 1.
    public init(maximum: Int = maximumThings) { self.maximum = max(1, maximum) }

    /// Things that must not be forgotten: all that is on the screens.
    public mutating func pin(_ things: Set<Thing>) { pinned = things }

    /// Numbers a question.
    public mutating func ask() -> Int {
        number += 1
        return number
    }

    /// How far the thing can be trusted.
    ///
    /// - Parameter isWhole: all of it, not only what a list's summary has.
    public func knowledge(of thing: Thing, isWhole: Bool = false) -> Knowledge {
        guard let entry = entries[thing], entry.isHeld else { return .unknown }
        return isWatched && (isWhole ? entry.whole : entry.asked) > max(entry.changed, staleBefore)
            ? .known : .knownStale
    }

    /// Whether an answer to this question is old: something happened since.
    public func wasChanged(_ thing: Thing, since asked: Int) -> Bool {
        max(entries[thing]?.changed ?? 0, staleBefore) > asked
    }

    /// Whether the thing changed since its last answer. A thing that is old only because the cursor was lost does not count.
    public func hasChanged(_ thing: Thing) -> Bool {
        entries[thing].map { $0.isHeld && $0.changed > $0.asked } ?? false
    }

    /// Notes that the server changed it.
    public mutating func change(_ thing: Thing) {
        let changed = ask()
        use(thing) { $0.changed = changed }
    }

    /// Notes that events come from now on, or no longer come. Answers to earlier questions are old.
    public mutating func watch(_ isWatched: Bool) {
        self.isWatched = isWatched
        staleBefore = ask()
    }

    /// Notes an answer.
    ///
    /// - Returns: false when a question that was asked later was answered before: this answer is to be dropped.
    public mutating func answer(_ thing: Thing, asked: Int, isGone: Bool = false) -> Bool {
        var isNewest = true
        use(thing) { entry in
            isNewest = asked >= entry.asked
            guard isNewest else { return }
            entry.asked = asked
            entry.isHeld = !isGone
            if isGone { entry.whole = 0 }
        }
        return isNewest
    }

    /// Notes that an answer was no summary.
    ///
    /// - Returns: false when there is a newer one, or the thing is gone since.
    public mutating func answerWhole(_ thing: Thing, asked: Int) -> Bool {
        var isNewest = false
        use(thing) { entry in
            isNewest = entry.isHeld && asked >= entry.whole
            if isNewest { entry.whole = asked }
        }
        return isNewest
    }

    private mutating func use(_ thing: Thing, _ change: (inout Entry) -> Void) {
        uses += 1
        var entry = entries[thing] ?? Entry(changed: forgotten)
        entry.used = uses
        change(&entry)
        entries[thing] = entry
        if entries.count > maximum { forget(max(1, maximum / 8)) }
    }

    private mutating func forget(_ count: Int) {
        let free = entries.filter { !pinned.contains($0.key) }
        for (thing, entry) in free.sorted(by: { $0.value.used < $1.value.used }).prefix(count) {
            forgotten = max(forgotten, entry.asked, entry.changed)
            entries[thing] = nil
        }
    }
}
