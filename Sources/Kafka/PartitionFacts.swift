/// What is known of a partition that is read. Offsets, and milliseconds since 1970.
package struct PartitionFacts: Sendable, Equatable {
    package var topic: String
    package var number: Int32
    /// Where reading began.
    package var start: Int64
    /// Every record with a later time stamp was or will be read; nil: the log is read from offset 0, and so everything
    /// that there ever was.
    package var began: Int64?
    /// Time stamp of the first record that the log is known to have had, never later than the moment of reading it.
    package var born: Int64
    /// Until then another log was known to have the name; nil where none is remembered.
    package var notBefore: Int64?
    /// When it was found: every record that came later was or will be read.
    package var found: Int64
    /// The last moment at which the log was known to be the one that is read; `Int64.min` if it never was.
    package var known: Int64
    /// The offset of the next record; nil until something was answered.
    package var next: Int64?
    /// The broker's end (the last stable offset) at the newest look that its leader answered.
    package var end: Int64?
    /// Whether that was the look that was adopted last.
    package var isEndNew = false
    /// The log's end when reading began. The window is loaded when `next` has come so far.
    package var loadUntil: Int64
}

/// How far the window is loaded.
package struct LoadingProgress: Sendable, Equatable {
    /// In offsets, over all partitions: what lies behind and what lies ahead of us.
    package var offsetsRead: Int64 = 0
    package var offsetsLeft: Int64 = 0
    /// How far the partition that is furthest behind is from now, by the time stamps of its records; nil if nothing is
    /// left, or nothing was read yet.
    package var secondsLeft: Int64?

    package var isLoaded: Bool { offsetsLeft == 0 }
}

/// What happened to the logs that are read, for the one who keeps what came of them.
package enum SourceEvent: Sendable, Equatable {
    /// Another log has the name: what was read of the topic is of one that is gone, and everybody is to be told. The new
    /// one is read from its beginning.
    case madeAnew(topic: String)
    /// The log no longer holds what comes next; reading goes on at its start, and records between are lost.
    case positionsLost(topic: String, partition: Int32)
}

/// Whether answers flow from the leader of every partition. Milliseconds since 1970.
package enum SourceState: Sendable, Equatable {
    case live(since: Int64)
    /// Some partition has had no answer since then.
    case stalled(since: Int64)
}
