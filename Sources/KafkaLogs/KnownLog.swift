/// What was known of a log when a position in it was recorded. It distinguishes this log from another one of the same name.
package struct KnownLog: Equatable, Sendable {
    /// A hash of the topic's id, never 0; nil where broker or library know none.
    package var topicID: UInt32?
    /// The stamp of the record at offset 0; nil where that has none, is gone or is not known.
    package var first: Int64?
    /// The last moment at which its leader proved the log to be this one; nil where none did. Since 1970, in ms.
    package var known: Int64?

    package init(topicID: UInt32? = nil, first: Int64? = nil, known: Int64? = nil) {
        self.topicID = topicID
        self.first = first
        self.known = known
    }

    package init(_ facts: LogFacts) {
        self.init(topicID: facts.topicID, first: Self.first(of: facts), known: facts.known)
    }

    package enum Verdict: Equatable, Sendable {
        case same
        case other
        /// Nothing is known that could decide it.
        case open
    }

    /// Whether the log is the one that is read here, by what was known of both.
    ///
    /// If a topic keeps its id, a log that was cut back counts as another one, unless it was proved again after the cut: the
    /// position may count records that are lost.
    package func verdict(_ facts: LogFacts) -> Verdict {
        if isSurelyOther(facts) { return .other }
        if topicID != nil, facts.topicID != nil {
            return known ?? .min < facts.wholeAfter ?? .min ? .other : .same
        }
        if first != nil, Self.first(of: facts) != nil {
            // Both have the same first record. Its stamp shows when both logs were empty.
            guard let known, let notBefore = facts.notBefore else { return .same }
            return known < notBefore ? .other : .same
        }
        guard let known else { return .open }
        return known < max(facts.born ?? .min, facts.notBefore ?? .min) ? .other : .same
    }

    /// Whether no record of the log was ever known and, as far as is known, no other log has had the name since. `topicID` is the
    /// topic's id now. At offset 0 of such a log nothing is missing.
    package func isUnread(_ topicID: UInt32?) -> Bool {
        first == nil && known == nil && (self.topicID == nil || self.topicID == topicID)
    }

    /// Whether the log is another one, whatever is read later: a topic never changes its id, and a log never changes its first
    /// record.
    package func isSurelyOther(_ facts: LogFacts) -> Bool {
        if let topicID, let its = facts.topicID { return topicID != its }
        if let first, let its = Self.first(of: facts) { return first != its }
        return false
    }

    /// A record without a stamp identifies no log.
    private static func first(of facts: LogFacts) -> Int64? { facts.firstStamp.flatMap { $0 >= 0 ? $0 : nil } }
}
