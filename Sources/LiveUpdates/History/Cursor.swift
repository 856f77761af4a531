/// What a cursor's positions refer to: in another epoch, other positions. The same on every node with the same settings.
package struct Epoch: Hashable, Sendable {
    package let number: UInt32

    package init(number: UInt32) { self.number = number }

    /// Derives it from the cluster's id, the names of the topics in any order, and the number that an operator may increase.
    package init(cluster: String, topics: [String], setting: Int) {
        var hash = StableHash()
        hash.combine(cluster)
        for topic in topics.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) { hash.combine(topic) }
        hash.combine(UInt64(bitPattern: Int64(setting)))
        number = hash.folded
    }
}

/// The position that a client holds: "read up to here". Every node creates and understands the same ones.
package struct Cursor: Equatable, Sendable {
    /// A partition that the cursor names: everything of the account before `offset` is read.
    package struct Position: Equatable, Sendable {
        package let partition: PartitionName
        package var offset: Int64
        /// When the issuing node last knew the log to be the one it reads, in ms; nil when it never did.
        package var known: Int64?
    }

    /// A record that the position counts, so that another log under the same name is noticed. It is the account's last event; if
    /// the account had none, it is a recent record of any account.
    package struct Fingerprint: Equatable, Sendable {
        package let partition: PartitionName
        package let offset: Int64
        /// A hash of 24 bits over offset, time stamp, and whether it is a record of any account.
        package let check: UInt32

        init(partition: PartitionName, offset: Int64, check: UInt32) {
            self.partition = partition
            self.offset = offset
            self.check = check
        }

        init(partition: PartitionName, offset: Int64, timestamp: Int64) {
            var hash = StableHash()
            hash.combine(UInt64(bitPattern: offset))
            hash.combine(UInt64(bitPattern: timestamp))
            self.init(partition: partition, offset: offset, check: hash.folded & 0xFF_FFFF)
        }

        /// For a record whose account may be any. Nodes of versions that made none assume the account's event, and answer `epoch`
        /// where they compare it.
        init(partition: PartitionName, landmark: Landmark) {
            var hash = StableHash()
            hash.combine(UInt64(bitPattern: landmark.offset))
            hash.combine(UInt64(bitPattern: landmark.timestamp))
            hash.combine(Self.ofAnyAccount)
            self.init(partition: partition, offset: landmark.offset, check: hash.folded & 0xFF_FFFF)
        }

        private static let ofAnyAccount: UInt64 = 1

        /// Whether it may be of an event of the account with this time stamp, as Kafka has it.
        package func fits(_ timestamp: Int64) -> Bool {
            self == Self(partition: partition, offset: offset, timestamp: timestamp)
        }

        /// Whether it may be of a record of any account with this time stamp.
        package func fitsAnyAccount(_ timestamp: Int64) -> Bool {
            self == Self(partition: partition, landmark: Landmark(offset: offset, timestamp: timestamp))
        }
    }

    /// How many positions a cursor names. The others count as not named, and the cursor is marked as partial.
    package static let maximumPositions = 256
    package static let maximumFirstRecords = 4
    /// The year 10889.
    static let latestIssue: Int64 = 1 << 48 - 1

    package var epoch: Epoch
    /// Of the account's name: it distinguishes a cursor of another account from one's own.
    package var accountCheck: UInt32
    /// When it was issued by the node's clock, in ms since 1970; not negative, below 2^48.
    package var issue: Int64
    /// Until when its node had read, or knew that it never would, everything that had come to any partition; `.min` where it did
    /// not know. Nil in cursors of nodes that did not state it: until the issue.
    package var readUntil: Int64? = nil
    /// Since when at the latest every topic was the one that the node reads, named or not; nil where a topic had nothing yet that
    /// could distinguish it from another.
    package var topicsKnown: Int64?
    /// A hash over the ids of all topics; nil where the issuing node had not all of them.
    package var topicIDs: UInt32? = nil
    /// Whether the account has had events in more partitions than a cursor names.
    package var isPartial = false
    /// In the order of their names, each once.
    package var positions: [Position]
    package var fingerprint: Fingerprint? = nil
    /// For topics whose first record is stamped ahead of what the node knows: the record at offset 0 of one of their logs, which
    /// no other log of the name has. Until that moment has passed, it proves more than any moment. In the order of the topics,
    /// one of each; at most ``maximumFirstRecords``.
    package var firstRecords: [Fingerprint] = []

    static func check(of account: Account) -> UInt32 {
        var hash = StableHash()
        hash.combine(account.text)
        return hash.folded
    }
}

/// A cursor as clients see it: letters, digits, `-` and `_`, at most 64 of them for a topic of one partition.
package struct CursorText: Hashable, Sendable {
    /// Longer ones are refused before they are decoded. The longest that is ever made has 6,628 characters.
    package static let maximumBytes = 6_640

    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// No cursor: no node can decode it.
    package static let none = CursorText(bytes: [])
}
