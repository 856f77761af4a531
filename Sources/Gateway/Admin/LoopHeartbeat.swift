/// Checks whether loops turn, by the answers to a question that each of them is asked again and again.
///
/// Time counts only while the asking loop turns itself. A process that was stopped for an hour, or a machine that slept, is no
/// reason to end the process. A value without a clock; times are monotonic, in milliseconds.
struct LoopHeartbeat: Sendable {
    /// Between two questions.
    static let intervalMilliseconds: UInt64 = 1_000
    /// A loop that has not answered for so long is stuck: a tick needs some milliseconds.
    static let stuckMilliseconds: UInt64 = 10_000
    /// A late beat counts for no more than this, however late it is.
    static let maximumBeatMilliseconds = 2 * intervalMilliseconds

    private struct Watched: Sendable {
        let name: String
        /// Since the question that was not answered yet; nil: none is open.
        var silence: UInt64?
    }

    private var loops: [Watched]
    private var lastBeat: UInt64?

    init(_ names: [String]) { loops = names.map { Watched(name: $0) } }

    /// Adds another loop after the others.
    mutating func add(_ name: String) { loops.append(Watched(name: name)) }

    /// A beat: returns the indices of the loops that are to be asked. One with an open question is not asked again.
    mutating func beat(now: UInt64) -> [Int] {
        let passed = min(lastBeat.map { now - min($0, now) } ?? 0, Self.maximumBeatMilliseconds)
        lastBeat = now
        var asked: [Int] = []
        for index in loops.indices {
            if let silence = loops[index].silence {
                loops[index].silence = silence + passed
            } else {
                loops[index].silence = 0
                asked.append(index)
            }
        }
        return asked
    }

    mutating func answered(_ index: Int) { loops[index].silence = nil }

    /// The first loop that is stuck, and for how long, in a sentence; nil: none is.
    var stuck: String? {
        for loop in loops {
            if let silence = loop.silence, silence >= Self.stuckMilliseconds {
                return "\(loop.name) has not turned for \(silence / 1000) s"
            }
        }
        return nil
    }
}
