/// What a client holds: "read up to here". Every node makes and understands the same ones.
package struct Cursor: Equatable, Sendable {
    /// A partition that the cursor names: everything of the account before `offset` is read.
    package struct Position: Equatable, Sendable {
        package let partition: PartitionName
        package var offset: Int64
        /// When the issuing node last knew the log to be the one it reads, in ms; nil when it never did.
        package var known: Int64?
    }

    /// The last event of the account that the position counts, so that another log under the same name is noticed.
    package struct Fingerprint: Equatable, Sendable {
        package let partition: PartitionName
        package let offset: Int64
        /// 24 bits of offset and time stamp.
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
    }

    /// The others follow the rule for partitions that a cursor does not name.
    package static let maximumPositions = 256
    /// The year 10889.
    static let latestIssue: Int64 = 1 << 48 - 1

    package var epoch: Epoch
    /// Of the account's name: a cursor of another account is told from one's own.
    package var accountCheck: UInt32
    /// When it was issued by the node's clock, in ms since 1970; not negative, below 2^48.
    package var issue: Int64
    /// Since when at the latest every topic was the one that the node reads, named or not; nil where a topic had
    /// nothing yet by which it could be told from another.
    package var topicsKnown: Int64?
    /// In the order of their names, each once.
    package var positions: [Position]
    package var fingerprint: Fingerprint?

    static func check(of account: Account) -> UInt32 {
        var hash = StableHash()
        hash.combine(account.text)
        return hash.folded
    }
}

/// A cursor as clients see it: letters, digits, `-` and `_`, at most 64 of them for an account in one partition.
package struct CursorText: Hashable, Sendable {
    /// Longer ones are refused before they are decoded. The longest that is ever made has 6,553 characters.
    package static let maximumBytes = 6_560

    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// No cursor: nobody reads it.
    package static let none = CursorText(bytes: [])
}
