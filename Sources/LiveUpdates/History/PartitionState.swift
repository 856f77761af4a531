/// What a node knows of a partition, and what it has let go there of accounts that it has forgotten.
struct PartitionState {
    let name: PartitionName
    /// The offset where this node began to read.
    let start: Int64
    /// All records with later time stamps are read; nil when the log was read from its very beginning.
    let began: Int64?
    /// The time stamp of the first record, never later than its reading; nil while there is none.
    var born: Int64?
    /// Another log had its name until this moment at least; nil where none is remembered.
    let notBefore: Int64?
    /// When the log was last known to be the one that is read.
    var known: Int64
    /// The same when it was opened.
    let opened: Int64
    /// The offset that is read next.
    var next: Int64
    /// The broker's end at the last look that its leader answered.
    var end: Int64
    /// When that look began; monotonic, in ms.
    var endAsked: UInt64 = 0
    /// ``next`` when the current wake began: everything before was handed out.
    var handedOut: Int64
    /// Of forgotten accounts: the highest offset that was let go, and the newest time stamp.
    var letGo: Int64
    var newestLetGo = Int64.min

    /// The earliest moment at which the log is known to have existed.
    var existed: Int64 { min(born ?? opened, opened) }

    /// Whether it can be told from a log of another topic: it has or had a record, or followed another one. Any empty
    /// log is like another, and what is said of its birth is no more than a guess.
    var isTellable: Bool { next > 0 || end > 0 || notBefore != nil }

    /// A cursor whose node knew the log only before this moment speaks of another one; nil while nothing is known.
    var earliestKnowledge: Int64? { [born, notBefore].compactMap { $0 }.max() }

    /// The earliest offset from which an account's log is complete, `letGo` being what went of it.
    func completeFrom(letGo: Int64) -> Int64 { max(start, letGo + 1) }
}
