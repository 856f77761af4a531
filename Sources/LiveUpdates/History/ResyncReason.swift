/// Why what a client missed cannot be given. Of several, the first of this order is told.
package enum ResyncReason: String, Sendable, CaseIterable {
    /// The cursor cannot be read, or is another account's.
    case invalid
    /// Positions have lost their meaning: a topic was made anew, or the operator wished it.
    case epoch
    /// It is no longer in the log.
    case expired
    /// It is beyond what the broker has.
    case ahead
}
