import LiveUpdates

/// Subscribers of one account that get the same: streams of one form, which share their bytes, or those with one filter that
/// share with no others. The group owns the slots of its members. Confined to the loop.
final class AudienceGroup<Port: SubscriberPort> {
    let account: Account
    let form: StreamForm
    /// Members that have been given everything so far.
    fileprivate(set) var streams: [LiveStream<Port>] = []
    /// Polls that wait for their first event; only where the form is individual. Nil before the first one.
    private var line: PollLine<Port>?
    /// Lines whose polls are owed events.
    var closedLines = 0
    /// Streams that are behind: each will join again, or end.
    var behindStreams: [ObjectIdentifier: LiveStream<Port>] = [:]
    var recent = RecentSlices()
    /// The last slice of the group in the ledger.
    var lastEntry = DeliveryLedger.none
    /// The sequence of the last event that passed the filter since the group was made.
    var lastSequence: UInt64 = 0
    /// Only of a group with a filter.
    fileprivate var filter: FilterState?

    /// What a group with a filter remembers.
    fileprivate struct FilterState {
        /// The indices in the lists of the entities, in the order of the filter's names.
        var slots: [Int] = []
        /// Which events of the batch at hand pass: their indices.
        var passing: [Int] = []
        /// The account's events until the last one that passed, or until the last beat.
        var countAtCursor: UInt64 = 0
        var lastBeat: (sequence: UInt64, cursor: [UInt8])?
    }

    /// The last cursor that the group got because its filter had left out many events, with the sequence of its event.
    var lastBeat: (sequence: UInt64, cursor: [UInt8])? { filter?.lastBeat }

    func noteBeat(_ event: LoggedEvent) { filter?.lastBeat = (event.sequence, event.at) }

    fileprivate init(_ account: Account, _ form: StreamForm) {
        self.account = account
        self.form = form
    }

    var isEmpty: Bool { streams.isEmpty && waitingPolls == 0 && closedLines == 0 && behindStreams.isEmpty }
    /// Polls that are not owed anything yet.
    var waitingPolls: Int { line?.polls.count ?? 0 }
    /// Whether a slice has a taker: a member, or one that is behind and will read it later.
    var needsSlices: Bool { !streams.isEmpty || recent.isKept }

    // MARK: Members, each O(1)

    func add(_ stream: LiveStream<Port>) {
        stream.slot = streams.count
        streams.append(stream)
    }

    /// Returns the line that the poll waits in.
    func add(_ poll: Poll<Port>) -> PollLine<Port> {
        let line = line ?? PollLine()
        self.line = line
        line.add(poll)
        return line
    }

    /// The last member moves to the slot of the one that leaves.
    func remove(_ stream: LiveStream<Port>) {
        precondition(streams[stream.slot] === stream, "a stream's slot in its group is not its own")
        let last = streams.removeLast()
        guard last !== stream else { return }
        streams[stream.slot] = last
        last.slot = stream.slot
    }

    /// From now on all polls that wait are owed these events. Returns their line, nil where no poll waits.
    ///
    /// While polls are owed earlier events the line is closed even if it is empty: one that has had those from another node
    /// moves on into it, and is owed these.
    func closeLine(_ owed: PollLine<Port>.Owed) -> PollLine<Port>? {
        guard let closed = line, !closed.polls.isEmpty || closedLines > 0 else { return nil }
        line = closed.close(with: owed)
        return closed.polls.isEmpty ? nil : closed
    }

    // MARK: Delivering

    /// From the last slot to the first: a member that leaves meanwhile is replaced by one that has had its turn.
    /// `entry` is the slice's in the ledger.
    func deliver(_ slice: [UInt8], _ entry: UInt32, now: UInt64) {
        var index = streams.count
        while index > 0 {
            index -= 1
            streams[index].deliver(slice, entry, now: now)
        }
    }

    /// For streams that make messages of their own of the events.
    func deliver(_ events: [LoggedEvent], _ consumption: Consumption, now: UInt64) {
        var index = streams.count
        while index > 0 {
            index -= 1
            streams[index].events(events, consumption, now: now)
        }
    }

    /// The streams of this person that may have control messages. Checks each stream once.
    func streams(of person: String) -> [LiveStream<Port>] {
        guard form.needsCursors || !form.isShared else { return [] }
        return streams.filter { $0.port.isOf(person) } + behindStreams.values.filter { $0.port.isOf(person) }
    }

    func passedOver(at cursor: [UInt8], now: UInt64) {
        var index = streams.count
        while index > 0 {
            index -= 1
            streams[index].passedOver(at: cursor, now: now)
        }
    }
}

/// The subscribers of one account on one loop, in groups. Groups with a filter are found by an event's entity: an event
/// costs as much as the filters that it passes, however many others there are.
final class Audience<Port: SubscriberPort> {
    /// At most one for each form; few.
    private(set) var unfiltered: [AudienceGroup<Port>] = []
    private var filters: Filters?

    private final class Filters {
        var groups: [StreamForm: AudienceGroup<Port>] = [:]
        var byEntity: [BytewiseKey: [AudienceGroup<Port>]] = [:]
        /// Groups that events of the batch at hand concern.
        var matched: [AudienceGroup<Port>] = []
        /// Events of the account since the first filter came.
        var count: UInt64 = 0
        var nextBeats: UInt64 = 0
    }

    var isEmpty: Bool { unfiltered.isEmpty && filters == nil }

    /// All groups, in no order.
    var groups: [AudienceGroup<Port>] { unfiltered + (filters.map { Array($0.groups.values) } ?? []) }

    /// The group of a form; makes it if it does not exist yet.
    func group(_ account: Account, _ form: StreamForm) -> AudienceGroup<Port> {
        guard let entities = form.entities else {
            for group in unfiltered where group.form == form { return group }
            let group = AudienceGroup<Port>(account, form)
            unfiltered.append(group)
            return group
        }
        let filters = filters ?? Filters()
        self.filters = filters
        if let group = filters.groups[form] { return group }
        let group = AudienceGroup<Port>(account, form)
        var state = AudienceGroup<Port>.FilterState(countAtCursor: filters.count)
        for name in entities.names {
            state.slots.append(filters.byEntity[name]?.count ?? 0)
            filters.byEntity[name, default: []].append(group)
        }
        group.filter = state
        filters.groups[form] = group
        return group
    }

    /// Removes a group that has become empty. O(names of its filter).
    func remove(_ group: AudienceGroup<Port>) {
        guard let entities = group.form.entities else { return unfiltered.removeAll { $0 === group } }
        guard let filters, let slots = group.filter?.slots else { return }
        filters.groups[group.form] = nil
        if filters.groups.isEmpty {
            self.filters = nil
            return
        }
        for (name, slot) in zip(entities.names, slots) {
            guard let last = filters.byEntity[name]?.removeLast(), last !== group else {
                if filters.byEntity[name]?.isEmpty == true { filters.byEntity[name] = nil }
                continue
            }
            filters.byEntity[name]?[slot] = last
            if let index = last.form.entities?.names.firstIndex(of: name) { last.filter?.slots[index] = slot }
        }
    }

    // MARK: - A batch of events

    /// The groups with a filter that some of the events pass, each with the indices of those.
    func match(_ events: [LoggedEvent]) -> [(group: AudienceGroup<Port>, passing: [Int])] {
        guard let filters else { return [] }
        filters.count += UInt64(events.count)
        for (index, event) in events.enumerated() {
            for group in filters.byEntity[BytewiseKey(text: event.event.entity)] ?? [] {
                if group.filter?.passing.isEmpty == true { filters.matched.append(group) }
                group.filter?.passing.append(index)
            }
        }
        let found = filters.matched.map { group in
            let passing = group.filter?.passing ?? []
            group.filter?.passing.removeAll(keepingCapacity: true)
            group.filter?.countAtCursor = filters.count
            return (group, passing)
        }
        filters.matched.removeAll(keepingCapacity: true)
        return found
    }

    /// The groups whose streams are due a cursor, because their filter left out many events since the last one: at most
    /// `limit` and a batch. All groups are gone over once in `limit / 2` events.
    func passedOver(_ limit: Int) -> [AudienceGroup<Port>] {
        guard let filters, filters.count >= filters.nextBeats else { return [] }
        let half = UInt64(max(1, limit / 2))
        filters.nextBeats = filters.count + half
        var found: [AudienceGroup<Port>] = []
        for group in filters.groups.values where !group.form.isShared || group.form.needsCursors {
            guard filters.count - (group.filter?.countAtCursor ?? 0) >= half else { continue }
            group.filter?.countAtCursor = filters.count
            found.append(group)
        }
        return found
    }
}

@available(*, unavailable)
extension AudienceGroup: Sendable {}

@available(*, unavailable)
extension Audience: Sendable {}
