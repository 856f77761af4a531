/// What was known of a log when somebody noted a position in it: by it another log of the same name is told from this one.
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
        /// Nothing is known by which it could be told.
        case open
    }

    /// Whether the log is the one that is read here, by what was known of both.
    ///
    /// Of a topic that keeps its id, a log that was cut back is another one until somebody has known it since: what the
    /// position counts may be among what is lost.
    package func verdict(_ facts: LogFacts) -> Verdict {
        if isSurelyOther(facts) { return .other }
        if topicID != nil, facts.topicID != nil {
            return known ?? .min < facts.wholeAfter ?? .min ? .other : .same
        }
        if first != nil, Self.first(of: facts) != nil {
            // The same first record: it says when the log was empty of both.
            guard let known, let notBefore = facts.notBefore else { return .same }
            return known < notBefore ? .other : .same
        }
        guard let known else { return .open }
        return known < max(facts.born ?? .min, facts.notBefore ?? .min) ? .other : .same
    }

    /// Whether no record of the log was ever known, and no other log has had the name since, as far as is known: `topicID` is the
    /// topic's now. At offset 0 of such a one nothing is missing.
    package func isUnread(_ topicID: UInt32?) -> Bool {
        first == nil && known == nil && (self.topicID == nil || self.topicID == topicID)
    }

    /// Whether nothing that is read can show that the log is the one of before: a topic never has another id, nor a log
    /// another first record.
    package func isSurelyOther(_ facts: LogFacts) -> Bool {
        if let topicID, let its = facts.topicID { return topicID != its }
        if let first, let its = Self.first(of: facts) { return first != its }
        return false
    }

    /// A record without a stamp says nothing.
    private static func first(of facts: LogFacts) -> Int64? { facts.firstStamp.flatMap { $0 >= 0 ? $0 : nil } }
}
