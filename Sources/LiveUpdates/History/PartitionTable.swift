/// The partitions that a node reads, each at a place that stays its own.
struct PartitionTable {
    private(set) var states: [PartitionState] = []
    private var places: [PartitionName: Int] = [:]
    /// Records come in runs from one partition.
    private var lastPlace = 0
    /// Since when at the latest each topic was the one that is read; nil where one has no record yet to tell it by.
    private(set) var topicsKnown: Int64?

    subscript(place: Int) -> PartitionState {
        get { states[place] }
        _modify { yield &states[place] }
    }

    /// Nil when the partition is not open.
    func place(of partition: PartitionName) -> Int? {
        if lastPlace < states.count, states[lastPlace].name == partition { return lastPlace }
        return places[partition]
    }

    mutating func openPlace(of partition: PartitionName) -> Int {
        if lastPlace < states.count, states[lastPlace].name == partition { return lastPlace }
        guard let place = places[partition] else { preconditionFailure("a partition is opened before it is read") }
        lastPlace = place
        return place
    }

    /// One that is open stays as it is.
    mutating func open(_ state: PartitionState) {
        guard places[state.name] == nil else { return }
        places[state.name] = states.count
        states.append(state)
        countTopics()
    }

    /// The first record of a log that is read from its beginning: to have it is to know the log.
    mutating func readFirst(_ place: Int, timestamp: Int64, now: Int64) {
        states[place].known = max(states[place].known, now)
        if states[place].born == nil { states[place].born = timestamp < 0 ? now : min(timestamp, now) }
        countTopics()
    }

    mutating func setKnown(_ partition: PartitionName, at known: Int64) {
        let place = openPlace(of: partition)
        states[place].known = max(states[place].known, known)
        countTopics()
    }

    mutating func setBorn(_ partition: PartitionName, _ born: Int64) {
        states[openPlace(of: partition)].born = born
        countTopics()
    }

    mutating func beginWake() {
        for place in states.indices { states[place].handedOut = states[place].next }
    }

    /// A topic is made anew as a whole: that one of its partitions is known tells of all.
    private mutating func countTopics() {
        var topics: [UInt16: (known: Int64, isBorn: Bool)] = [:]
        for state in states {
            let topic = topics[state.name.topic] ?? (known: .min, isBorn: false)
            topics[state.name.topic] = (max(topic.known, state.known), topic.isBorn || state.born != nil)
        }
        topicsKnown = topics.values.allSatisfy(\.isBorn) ? topics.values.map(\.known).min() : nil
    }
}
