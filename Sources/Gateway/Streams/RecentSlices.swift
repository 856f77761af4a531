/// The slices that a form was given in the last moments, for streams that could not accept them at once.
///
/// A client that reads as fast as it can is blocked for moments all the same: a burst of 20,000 events is more than
/// a socket's buffer and more than the account's log holds. It goes on with these slices, which all of the form
/// share, and comes to the log only if it stays behind. Empty while nobody is behind.
struct RecentSlices {
    /// How long slices are kept for somebody who fell behind. A link that carries anything at all has drained a
    /// socket's buffer by then, or the client is slow and the log is for it.
    static let keptMilliseconds: UInt64 = 2_000

    typealias Given = (bytes: [UInt8], facts: DeliveryFacts?)

    private struct Slice {
        /// The first sequence in it.
        let first: UInt64
        /// The last sequence in it.
        let sequence: UInt64
        let time: UInt64
        let bytes: [UInt8]
        /// Nil of a slice that holds no event.
        let facts: DeliveryFacts?
    }

    private var slices: [Slice] = []
    /// The first slice that still counts; those before it are let go of together now and then.
    private var first = 0
    /// Everything after this sequence that the form was given is here; nil when nothing is kept.
    private var after: UInt64?
    private var keptUntil: UInt64 = 0
    private(set) var bytes = 0

    var isKept: Bool { after != nil }

    /// A stream fell behind after `sequence`. `now` is monotonic, in milliseconds.
    mutating func keep(after sequence: UInt64, now: UInt64) {
        if after == nil { after = sequence }
        keptUntil = now + Self.keptMilliseconds
    }

    /// `first` and `sequence` are those of the first event in the slice and of the last.
    mutating func append(_ slice: [UInt8], _ facts: DeliveryFacts? = nil, first: UInt64, sequence: UInt64, now: UInt64)
    {
        guard isKept else { return }
        guard now <= keptUntil else { return drop() }
        letGo(now: now)
        slices.append(Slice(first: first, sequence: sequence, time: now, bytes: slice, facts: facts))
        bytes += slice.count
    }

    private mutating func letGo(now: UInt64) {
        while first < slices.endIndex, now - slices[first].time > Self.keptMilliseconds {
            after = slices[first].sequence
            bytes -= slices[first].bytes.count
            first += 1
        }
        guard first > slices.count / 2 else { return }
        slices.removeFirst(first)
        first = 0
    }

    mutating func drop() { self = RecentSlices() }

    /// The next slices after `sequence`, at least one and at most about `limit` bytes of them; nil where this does not
    /// reach back so far, or where a page of the log has ended in the middle of a slice: the beginning of that one would
    /// come twice. Empty: there is nothing more.
    func next(after sequence: UInt64, limit: Int) -> (slices: [Given], sequence: UInt64)? {
        guard let after, sequence >= after else { return nil }
        var found: [Given] = []
        var (reached, size) = (sequence, 0)
        // Mostly the newest ones are asked for.
        var index = slices.endIndex
        while index > first, slices[index - 1].sequence > sequence { index -= 1 }
        if index < slices.endIndex, slices[index].first <= sequence { return nil }
        while index < slices.endIndex, size < limit {
            found.append((slices[index].bytes, slices[index].facts))
            size += slices[index].bytes.count
            reached = slices[index].sequence
            index += 1
        }
        return (found, reached)
    }
}
