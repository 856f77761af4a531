/// Whether answers flow, judged by when each partition was heard of last. No I/O, no clock.
struct SourceWatch {
    /// How long a partition may be silent.
    static let patience = Duration.seconds(2)
    /// So long a silence counts even if nobody asked meanwhile: a look under way may wait for somebody else.
    static let longestSilence = Duration.milliseconds(4_500)

    struct Partition {
        /// When anything of it was answered last, or when it was found.
        var heardAt: ContinuousClock.Instant
        /// Whether it was asked in vain since then.
        var isSilent = false

        mutating func hear(at instant: ContinuousClock.Instant) {
            heardAt = max(heardAt, instant)
            isSilent = false
        }

        func isStalled(at now: ContinuousClock.Instant) -> Bool {
            let silence = now - heardAt
            return silence >= SourceWatch.longestSilence || (isSilent && silence >= SourceWatch.patience)
        }
    }

    private var state: SourceState

    init(now: Int64) {
        state = .live(since: now)
    }

    /// `wall` is the same moment as `now`, in milliseconds since 1970.
    mutating func judge(
        _ partitions: some Sequence<Partition>, at now: ContinuousClock.Instant, wall: Int64
    ) -> SourceState {
        let stalledSince = partitions.lazy.filter { $0.isStalled(at: now) }.map(\.heardAt).min()
        switch (state, stalledSince) {
        case (.live, let since?): state = .stalled(since: wall - (now - since).milliseconds)
        case (.stalled, nil): state = .live(since: wall)
        case (.live, nil), (.stalled, _?): break
        }
        return state
    }
}
