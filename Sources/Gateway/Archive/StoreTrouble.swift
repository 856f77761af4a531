import Archive

/// What is wrong with the archive's store, and how long not to call it: decided without a clock.
struct StoreTrouble {
    static let shortestPause: UInt64 = 250
    static let longestPause: UInt64 = 5_000
    /// For a store that needs another program or other settings first.
    static let refusedPause: UInt64 = 60_000
    /// What happened so long ago and is not stored is reported: another node that hangs has lost its partitions soon after.
    static let lateMilliseconds: UInt64 = 5_000

    private(set) var isTroubled = false
    private var failures = 0
    private var refused: ArchiveError?

    /// The store has refused a call. Returns how long to wait.
    mutating func fail() -> UInt64 {
        isTroubled = true
        failures += 1
        return min(Self.longestPause, Self.shortestPause << UInt64(min(failures - 1, 10)))
    }

    /// The store is of no use in this state. Returns whether that is new.
    mutating func refuse(_ error: ArchiveError) -> Bool {
        isTroubled = true
        defer { refused = error }
        return refused != error
    }

    /// All calls of a pass succeeded.
    ///
    /// - Parameters:
    ///   - hasStored: something was written: only that shows that it can be.
    ///   - waits: something is still to be written.
    /// - Returns: whether all is well, and whether it is well again, which is reported.
    mutating func pass(hasStored: Bool, waits: Bool) -> (isWell: Bool, isNews: Bool) {
        guard isTroubled else { return (true, false) }
        guard hasStored else { return (!waits, false) }
        self = StoreTrouble()
        return (true, true)
    }

    /// The sentence about events that wait, on this node or another one; nil: there are none.
    static func why(waitingMilliseconds: UInt64?) -> String? {
        guard let waitingMilliseconds, waitingMilliseconds >= lateMilliseconds else { return nil }
        return "what happened \(waitingMilliseconds / 1_000) s ago is not stored: no node writes it"
    }
}
