import KafkaLogs

/// What a node knows of one partition on its way into the archive.
struct FeedPartition {
    /// Who writes it, and from where.
    enum Claim: Equatable {
        /// Nobody, or another node.
        case none
        /// This node, once it is known where: the store said this.
        case unresolved(next: Int64?, stamp: Int64?, isOtherLog: Bool)
        /// This node, from this offset on.
        case at(Int64)
    }

    var generation: UInt32
    /// Where live reading stands.
    var live: Int64?
    /// What was read live, each the end of the one before; the last ends where live reading stands.
    private(set) var chain: [RecordRun] = []
    private(set) var chainBytes = 0
    var claim = Claim.none
    /// What is stored next begins a log that has taken the name of the one before.
    var isOtherLog = false
    /// A position is to be stored, even if nothing is read.
    var owesPosition = false
    /// What was read once more, from the claim's offset on.
    var reread: [RecordRun] = []
    /// How far another node has stored it, when that was last asked.
    private var followed: Int64?
    /// Since when something waits to be stored; monotonic, in ms.
    var waitsSince: UInt64?

    init(generation: UInt32) { self.generation = generation }

    /// Runs up to so many events are put together.
    static let smallRun = 512

    /// Takes what was read live.
    mutating func receive(_ run: RecordRun, now: UInt64) {
        if run.generation > generation { begin(run.generation) }
        guard run.generation == generation, live.map({ run.next >= $0 }) ?? true else { return }
        // What stands between was dropped on the way: it is read again.
        if run.after != live { drop(upTo: .max) }
        live = run.next
        if case .at(let position) = claim, run.next <= position { return }
        waitsSince = waitsSince ?? now
        if let last = chain.last, last.entries.count + run.entries.count <= Self.smallRun, run.after == run.from {
            let before = last.bytes
            chain[chain.count - 1].append(run)
            chainBytes += chain[chain.count - 1].bytes - before
        } else {
            chain.append(run)
            chainBytes += run.bytes
        }
    }

    /// Live reading went on without what it has read.
    mutating func miss(_ end: LiveEnd, now: UInt64) {
        if end.generation > generation { begin(end.generation) }
        guard end.generation == generation, end.next > live ?? -1 else { return }
        drop(upTo: .max)
        live = end.next
        waitsSince = waitsSince ?? now
    }

    /// Another log has the name.
    private mutating func begin(_ generation: UInt32) {
        self.generation = generation
        live = nil
        drop(upTo: .max)
        reread = []
        if claim != .none { claim = .unresolved(next: nil, stamp: nil, isOtherLog: true) }
    }

    /// Drops what ends there or before.
    mutating func drop(upTo offset: Int64) {
        var count = 0
        while count < chain.count, chain[count].next <= offset {
            chainBytes -= chain[count].bytes
            count += 1
        }
        if count > 0 { chain.removeFirst(count) }
    }

    /// Another node has stored it so far.
    mutating func follow(_ next: Int64, now: UInt64) {
        defer { followed = next }
        guard let live else { return }
        if live <= next {
            waitsSince = nil
        } else if let followed, next > followed {
            waitsSince = now
        }
    }

    /// Drops the older half: what is dropped is read again.
    mutating func dropHalf() {
        guard let middle = chain.isEmpty ? nil : chain[(chain.count - 1) / 2].next else { return }
        drop(upTo: middle)
    }

    /// What has to be read again before what was read live goes on, if anything.
    var behind: Range<Int64>? {
        guard case .at(let position) = claim, reread.isEmpty, let live else { return nil }
        let end = chain.first?.after ?? live
        return position < end ? position..<end : nil
    }

    /// What can be stored now, in its order.
    var ready: [RecordRun] {
        guard case .at(let position) = claim else { return [] }
        if !reread.isEmpty { return reread }
        guard let first = chain.first, first.after <= position else { return [] }
        return chain
    }
}
