/// Searches for the offset behind an unreadable batch from which reading can go on.
///
/// How many records the batch has is not known, because its header may be what is damaged. So single records are asked for,
/// at distances that double until one can be read, and then by halves on the way back. The offset that is found is the first
/// of a readable batch. Where several batches are unreadable, readable ones between them may be passed over: they count as
/// lost with the others.
struct OffsetSearch: Equatable, Sendable {
    /// So many offsets are asked for at most: enough for 2^24 records, there and back.
    static let maximumSteps = 48

    /// Where reading stands still. Once it goes on by itself, nothing is to be found.
    let position: Int64
    /// The last offset, of those that were asked for, at which nothing could be read.
    private(set) var unreadable: Int64
    /// An offset behind it from which something could, or at which the log ends.
    private(set) var readable: Int64?
    private var distance: Int64 = 1
    private var steps = 0

    /// `isUnreadable`: nothing can be read at the position itself, and so it is not asked for.
    init(position: Int64, isUnreadable: Bool) {
        self.position = position
        unreadable = isUnreadable ? position : position - 1
    }

    /// The offset to ask for next, below the log end; nil when the search is over.
    func question(end: Int64) -> Int64? {
        guard steps < Self.maximumSteps else { return nil }
        if let readable {
            return readable - unreadable > 1 ? unreadable + (readable - unreadable) / 2 : nil
        }
        let next = min(unreadable + distance, end - 1)
        return next > unreadable ? next : nil
    }

    /// Takes in what stands at an offset, or behind it.
    mutating func add(_ answer: RecordAnswer, at offset: Int64) {
        guard offset > unreadable, readable.map({ offset < $0 }) ?? true else { return }
        steps += 1
        distance *= 2
        switch answer {
        case .record, .firstRecord, .end: readable = offset
        case .outOfRange, .unreadable, .silent: unreadable = offset
        }
    }
}
