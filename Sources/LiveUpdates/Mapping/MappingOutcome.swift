/// What comes of a record.
package enum MappingOutcome: Equatable, Sendable {
    case event(Account, ThinEvent)
    case skip(SkipReason, why: SkipCause)
}
