/// The partitions that a node reads, each at a place that stays its own.
struct PartitionTable {
    private(set) var states: [PartitionState] = []
    private var places: [PartitionName: Int] = [:]
    /// Records come in runs from one partition.
    private var lastPlace = 0
    /// When each topic, as a whole, was last known to be the one that is read.
    private var topics: [UInt16: Int64] = [:]
    /// The earliest of them; nil where a topic has no record yet to tell it by.
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
        // A partition that is found later may belong to a topic that was made anew in between.
        if topics[state.name.topic] == nil { topics[state.name.topic] = state.known }
        countTopics()
    }

    /// The first record of a log that is read from its beginning: to have it is to know the log. The first of all its
    /// topic is to know the topic; but where other partitions are read in their middle, they may be another topic's.
    mutating func readFirst(_ place: Int, timestamp: Int64, now: Int64) {
        let topic = states[place].name.topic
        if !states.contains(where: { $0.name.topic == topic && $0.next > 0 }) { topics[topic] = now }
        states[place].known = max(states[place].known, now)
        if states[place].born == nil { states[place].born = timestamp < 0 ? now : min(timestamp, now) }
        countTopics()
    }

    mutating func setKnown(_ partition: PartitionName, at known: Int64) {
        let place = openPlace(of: partition)
        states[place].known = max(states[place].known, known)
        let topic = states[place].name.topic
        // Any empty log is like another.
        if states[place].next > 0 { topics[topic] = max(topics[topic] ?? known, known) }
        countTopics()
    }

    /// What a look at the broker gave: its end.
    mutating func setEnd(_ partition: PartitionName, _ end: Int64, asked: UInt64) {
        let place = openPlace(of: partition)
        let wasTellable = states[place].isTellable
        states[place].end = end
        states[place].endAsked = asked
        if states[place].isTellable != wasTellable { countTopics() }
    }

    /// Moves the read position forward, never back.
    mutating func setNext(_ place: Int, _ next: Int64) {
        let wasTellable = states[place].isTellable
        states[place].next = max(states[place].next, next)
        if !wasTellable { countTopics() }
    }

    mutating func setBorn(_ partition: PartitionName, _ born: Int64) {
        states[openPlace(of: partition)].born = born
        countTopics()
    }

    mutating func beginWake() {
        for place in states.indices { states[place].handedOut = states[place].next }
    }

    private mutating func countTopics() {
        let areTellable = topics.keys.allSatisfy { topic in
            states.contains { $0.name.topic == topic && $0.isTellable }
        }
        topicsKnown = areTellable ? topics.values.min() : nil
    }
}
