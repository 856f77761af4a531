import Archive
import LiveUpdates
import Reactor

/// When what is let go was seen to last. Monotonic, in ms.
struct ArchiveKeeping {
    var keepsAt: UInt64 = 0
    var sizesAt: UInt64 = 0
    var hasBegun = false
    var isSweeping = false
    var mustOverwrite = false
    var overwritesAt: UInt64 = 0
}

extension ArchiveFeeder {
    /// Between two looks at what is over.
    static let keepMilliseconds: UInt64 = 60_000
    static let sizeMilliseconds: UInt64 = 5_000
    /// Between two attempts to overwrite what somebody reads.
    static let overwriteMilliseconds: UInt64 = 1_000
    /// All tables with texts are written again.
    static let overwritePatience: UInt64 = 60_000

    /// All that is asked for, each account in one call.
    func erase() async throws(ArchiveError) {
        while let (account, entry) = erasures.first {
            let counts = try await ask { store async throws(ArchiveError) in
                try await store.erase(account, until: entry.moment)
            }
            erasures.remove(account, until: entry.moment)
            keeping.mustOverwrite = true
            // Of many nodes with one store, the one that has deleted something tells.
            if entry.isNews && !settings.store.isShared || counts.events + counts.marks > 0 {
                report.erased(account, counts)
            }
        }
    }

    func keep() async throws(ArchiveError) {
        if !keeping.hasBegun {
            // By the process before this one, perhaps.
            let isOwed = try await ask { store async throws(ArchiveError) in try await store.isToBeOverwritten() }
            keeping.mustOverwrite = keeping.mustOverwrite || isOwed
            keeping.hasBegun = true
        }
        if Self.now >= keeping.keepsAt {
            let stamp = WallClock.milliseconds - settings.keepMilliseconds
            try await ask { store async throws(ArchiveError) in try await store.keep(from: stamp) }
            feed.forgetErasures(before: stamp)
            let interval = min(Self.keepMilliseconds, UInt64(max(250, settings.keepMilliseconds / 10)))
            keeping.keepsAt = Self.now + interval
            keeping.isSweeping = true
        }
        if keeping.isSweeping {
            keeping.isSweeping = try await ask { store async throws(ArchiveError) in try await store.sweep() }
            if keeping.isSweeping { intake.ring() }
        }
        if keeping.mustOverwrite, Self.now >= keeping.overwritesAt { try await overwrite() }
        if Self.now >= keeping.sizesAt {
            keeping.sizesAt = Self.now + Self.sizeMilliseconds
            let size = try await ask { store async throws(ArchiveError) in try await store.size() }
            counters.count { ($0.rows, $0.bytes) = (size.rows, size.bytes) }
        }
    }

    private func overwrite() async throws(ArchiveError) {
        keeping.overwritesAt = Self.now + Self.overwriteMilliseconds
        do throws(ArchiveError) {
            try await ask(patience: Self.overwritePatience) { store async throws(ArchiveError) in
                try await store.overwrite()
            }
            keeping.mustOverwrite = false
        } catch .stillRead {
            return
        }
    }
}
