/// The state and the cursor held move together. There is one commit at a time, in the order in which they were decided.
extension UpdateMachine {
    /// A transaction that the store is to write.
    struct Commit: Sendable {
        let number: Int
        let metadata: UpdateMetadata
        /// How many batches it contains; nil: it is a snapshot, or only the metadata.
        var batches: Int?
        var isSnapshot = false
        var hasChanges = false
        /// The cursor that it stores was given up while it was running.
        var isVoid = false
    }

    mutating func beginCommit() {
        guard commit == nil else { return }
        if phase == .storing {
            // A snapshot needs nothing of what the store has.
            isInMemory = false
            beginSnapshot()
        } else if let commitRetryAt, commitRetryAt > now {
            return
        } else if mustForgetFinger {
            begin(UpdateMetadata(lastSuccess: metadata.lastSuccess))
        } else if metadata.finger != nil, let taken = pending.take() {
            let moved = UpdateMetadata(
                finger: taken.at ?? metadata.finger, lastSuccess: taken.came ?? metadata.lastSuccess,
                knownStale: pending.knownStale)
            begin(moved, batches: taken.batches, changes: taken.changes)
        }
    }

    private mutating func beginSnapshot() {
        guard let fresh else { return }
        begin(UpdateMetadata(finger: fresh.at, lastSuccess: fresh.came), isSnapshot: true)
    }

    private mutating func begin(
        _ metadata: UpdateMetadata, isSnapshot: Bool = false, batches: Int? = nil, changes: [ThingChange] = []
    ) {
        var metadata = metadata
        metadata.lastAttempt = self.metadata.lastAttempt
        let number = number()
        commitRetryAt = nil
        commit = Commit(
            number: number, metadata: metadata, batches: batches, isSnapshot: isSnapshot,
            hasChanges: changes.contains { $0.outcome != .knownStale })
        effects.append(.commit(number: number, metadata: metadata, isSnapshot: isSnapshot, changes: changes))
    }

    mutating func committed(_ number: Int) {
        guard let done = commit, done.number == number else { return }
        commit = nil
        commitRetry.reset()
        if !isInMemory { storeFailures = 0 }
        // Another commit must remove the cursor that this one stored.
        if done.isVoid { return }
        mustForgetFinger = false
        if done.isSnapshot || done.hasChanges { hasAskedForToken = false }
        guard done.metadata.finger != nil else { return }
        metadata.finger = done.metadata.finger
        metadata.lastSuccess = done.metadata.lastSuccess
        metadata.knownStale = done.metadata.knownStale
        if let batches = done.batches { pending.stored(batches) }
        if done.isSnapshot {
            phase = nil
            fresh = nil
            snapshotAt = now
            open()
        }
    }

    mutating func commitFailed(_ number: Int) {
        guard let failed = commit, failed.number == number else { return }
        commit = nil
        storeFailed()
        if failed.isVoid { return }
        if failed.isSnapshot { return isInMemory ? beginSnapshot() : registerFailed(.storing, .store) }
        if failed.batches != nil { pending.giveBack() }
        commitRetryAt = now + (isInMemory ? 0 : commitRetry.wait())
    }

    // MARK: A store that fails

    /// After this many failures in a row, in reading or writing, the app goes on in memory.
    private static var maximumStoreFailures: Int { 3 }

    /// Counts a failure of the store. A machine that waits for the store for ever would show nothing.
    private mutating func storeFailed() {
        storeFailures += 1
        isInMemory = storeFailures >= Self.maximumStoreFailures
    }

    mutating func loadFailed() {
        guard state == .notLoaded else { return }
        storeFailed()
        if isInMemory { loaded(nil) } else { commitRetryAt = now + commitRetry.wait() }
    }

    /// Reads the store again, if that is due.
    mutating func loadAgain() {
        guard let due = commitRetryAt, due <= now else { return }
        commitRetryAt = nil
        effects.append(.load)
    }

    /// The store has restarted with nothing of this area. Without what was there, only a snapshot is complete.
    mutating func storeLost() {
        commit = nil
        storeFailed()
        if phase == .storing {
            if isInMemory { beginSnapshot() }
        } else if state == .live {
            fetchAgain()
        } else if metadata.finger != nil {
            becomeStale()
        }
        mustForgetFinger = false
    }
}
