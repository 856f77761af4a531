// What others find out about the partitions.
extension History {
    /// Opens a partition: it is read from `start` on.
    ///
    /// - `began`: all records with later time stamps will be read; nil when `start` is the log's very first offset.
    /// - `born`: the time stamp of the log's first record, never later than its reading; nil while there is no record.
    ///   An event that is the first record says it itself, of another record ``readFirst(_:timestamp:now:)`` has to.
    /// - `notBefore`: where the topic was found made anew, the moment after the last one at which the old one was known.
    /// - `known`: when the log was last known to be this one.
    ///
    /// One that is open stays as it is, until a ``reset()``.
    package func open(
        _ partition: PartitionName, start: Int64, began: Int64?, born: Int64?, notBefore: Int64? = nil, known: Int64
    ) {
        partitions.open(
            PartitionState(
                name: partition, start: start, began: began, born: born, notBefore: notBefore, known: known,
                opened: known, next: start, end: start,
                handedOut: start, letGo: start - 1))
    }

    /// The moment, later than the last one, at which the log was known to be the one that is read.
    package func setKnown(_ partition: PartitionName, at known: Int64) { partitions.setKnown(partition, at: known) }

    /// Says that the log's first record was read and yielded no event. Before ``setNext(_:_:)`` moves over it.
    package func readFirst(_ partition: PartitionName, timestamp: Int64, now: Int64) {
        let place = partitions.openPlace(of: partition)
        guard partitions[place].next == partitions[place].start, partitions[place].began == nil else { return }
        partitions.readFirst(place, timestamp: timestamp, now: now)
    }

    package func setBorn(_ partition: PartitionName, _ born: Int64) { partitions.setBorn(partition, born) }

    /// What a look at the broker gave: its end. The look began at `asked`, monotonic, in ms.
    package func setEnd(_ partition: PartitionName, _ end: Int64, asked: UInt64) {
        partitions.setEnd(partition, end, asked: asked)
    }

    /// Moves the read position over records that gave no event; never back.
    package func setNext(_ partition: PartitionName, _ next: Int64) {
        let place = partitions.openPlace(of: partition)
        partitions.setNext(place, next)
    }

    /// Begins a wake: everything taken before has been handed out.
    package func beginWake() { partitions.beginWake() }
}
