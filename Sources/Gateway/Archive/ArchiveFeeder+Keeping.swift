import Archive
import LiveUpdates
import Reactor

/// When expired events were last handled, and what is due now. Without a clock: times are monotonic, in ms.
struct ArchiveKeeping {
    /// Between two checks for expired events.
    static let keepMilliseconds: UInt64 = 60_000
    static let sizeMilliseconds: UInt64 = 5_000
    /// Between two attempts to overwrite while there are readers.
    static let overwriteMilliseconds: UInt64 = 1_000
    /// An operator is notified when attempts have failed for so long.
    static let overwritePatience: UInt64 = 60_000
    /// Between two attempts after that.
    static let lateOverwriteMilliseconds: UInt64 = 10_000
    /// Between two log lines about an attempt that has not ended.
    static let overwriteReminder: UInt64 = 600_000

    private var keepsAt: UInt64 = 0
    private var sizesAt: UInt64 = 0
    private var overwritesAt: UInt64 = 0
    var hasBegun = false
    var isSweeping = false
    var mustOverwrite = false
    /// An attempt to overwrite is running.
    private(set) var isOverwriting = false
    /// When the first of a series of failed attempts began.
    private var overwriteFailsSince: UInt64?
    /// When the running attempt began.
    private var overwriteBegan: UInt64 = 0
    /// When an operator is notified next that an attempt has not ended.
    private var overwriteReportsAt: UInt64 = 0

    /// Whether to check for expired events.
    func isKeepDue(now: UInt64) -> Bool { now >= keepsAt }

    /// Expired events are hidden, and a sweep begins. The next check is after a tenth of the time for which events are kept.
    mutating func hasKept(now: UInt64, keepMilliseconds: Int64) {
        keepsAt = now + min(Self.keepMilliseconds, UInt64(max(250, keepMilliseconds / 10)))
        isSweeping = true
    }

    /// Whether to overwrite what was erased: at once, and while there are readers again a second after each attempt began. If
    /// so an attempt begins, which has to be ended. What is erased meanwhile is overwritten by the next one.
    mutating func isOverwriteDue(now: UInt64) -> Bool {
        guard mustOverwrite, !isOverwriting, now >= overwritesAt else { return false }
        overwritesAt = now + (isLate(now) ? Self.lateOverwriteMilliseconds : Self.overwriteMilliseconds)
        overwriteFailsSince = overwriteFailsSince ?? now
        (mustOverwrite, isOverwriting) = (false, true)
        overwriteBegan = now
        overwriteReportsAt = now + Self.overwritePatience
        return true
    }

    /// For how many ms the running attempt has not ended; nil: none runs for long, or an operator was notified less than ten
    /// minutes ago.
    mutating func overdueOverwrite(now: UInt64) -> UInt64? {
        guard isOverwriting, now >= overwriteReportsAt else { return nil }
        overwriteReportsAt = now + Self.overwriteReminder
        return now - overwriteBegan
    }

    /// Returns whether attempts have failed for so long that an operator is to be notified.
    mutating func endOverwriting(isDone: Bool, now: UInt64) -> Bool {
        isOverwriting = false
        guard !isDone else {
            overwriteFailsSince = nil
            return false
        }
        mustOverwrite = true
        return isLate(now)
    }

    private func isLate(_ now: UInt64) -> Bool {
        overwriteFailsSince.map { now >= $0 + Self.overwritePatience } ?? false
    }

    mutating func isSizeDue(now: UInt64) -> Bool {
        guard now >= sizesAt else { return false }
        sizesAt = now + Self.sizeMilliseconds
        return true
    }
}

extension ArchiveFeeder {
    /// Applies all pending erasures, each record in one call. Nothing is stored before that.
    func erase() async throws(ArchiveError) {
        while let (record, entry) = erasures.first {
            let account = record.account
            let moment = try await ask { store async throws(ArchiveError) in
                try await store.erasureEnd(account, stamped: record.stamp, readAt: entry.moment)
            }
            // What is read again is not stored again.
            if !feed.erase(account, until: moment) { report.tooManyErasures(now: Self.now) }
            let counts = try await ask { store async throws(ArchiveError) in
                try await store.erase(account, until: moment)
            }
            erasures.remove(record)
            keeping.mustOverwrite = true
            // Of many nodes with one store, only the one that has deleted something reports it.
            if entry.isNews && !settings.store.isShared || counts.events + counts.marks > 0 {
                report.erased(account, counts)
            }
        }
    }

    /// Before anything is stored in a store that was just opened.
    func checkClock() async throws(ArchiveError) {
        guard keptFrom == nil, let stamp = try await horizon() else { return }
        try await ask { store async throws(ArchiveError) in try await store.keep(from: stamp) }
    }

    /// What is stamped before is not kept, by the store's own time; nil: the time is unknown.
    private func horizon() async throws(ArchiveError) -> Int64? {
        let found = try await ask { store async throws(ArchiveError) in try await store.clock() }
        let now = Self.now
        if let time = found.now {
            keptFrom = time - settings.keepMilliseconds
        } else {
            clock.begin(horizon: found.horizon, keepMilliseconds: settings.keepMilliseconds, steady: now)
            keptFrom = clock.horizon(keepMilliseconds: settings.keepMilliseconds, steady: now)
        }
        return keptFrom
    }

    func keep() async throws(ArchiveError) {
        if let error = overwriteError {
            overwriteError = nil
            throw error
        }
        if !keeping.hasBegun {
            // Perhaps an earlier process has erased something.
            let isOwed = try await ask { store async throws(ArchiveError) in try await store.isToBeOverwritten() }
            keeping.mustOverwrite = keeping.mustOverwrite || isOwed
            keeping.hasBegun = true
        }
        if keeping.isKeepDue(now: Self.now) {
            if let stamp = try await horizon() {
                try await ask { store async throws(ArchiveError) in try await store.keep(from: stamp) }
                feed.forgetErasures(before: stamp)
            }
            keeping.hasKept(now: Self.now, keepMilliseconds: settings.keepMilliseconds)
        }
        if keeping.isSweeping {
            keeping.isSweeping = try await ask { store async throws(ArchiveError) in try await store.sweep() }
            if keeping.isSweeping { intake.ring() }
        }
        if let store, keeping.isOverwriteDue(now: Self.now) {
            // Concurrently with what is stored meanwhile.
            overwriting = Task { await overwrite(store) }
        }
        if let overdue = keeping.overdueOverwrite(now: Self.now) { report.overwritesLong(overdue) }
        if keeping.isSizeDue(now: Self.now) {
            let size = try await ask { store async throws(ArchiveError) in try await store.size() }
            counters.count { ($0.rows, $0.bytes) = (size.rows, size.bytes) }
        }
    }

    /// Concurrently with all else: storing does not wait for it.
    private func overwrite(_ store: any ArchiveStore) async {
        var found: ArchiveError?
        do throws(ArchiveError) { try await store.overwrite() } catch { found = error }
        // A store that was opened since remembers it itself.
        guard store === self.store else { return }
        overwriting = nil
        endOverwriting(found)
        guard let found else { return }
        // The next pass handles a damaged file.
        if case .corrupt = found {
            overwriteError = found
            intake.ring()
        } else if found != .stillRead {
            counters.count { $0.errors += 1 }
        }
    }

    private func endOverwriting(_ error: ArchiveError?) {
        let isLate = keeping.endOverwriting(isDone: error == nil, now: Self.now)
        if let error, isLate || error != .stillRead { report.notOverwritten(error, now: Self.now) }
    }
}
