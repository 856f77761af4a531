/// The partitions that a node reads, each in a slot that stays its own: what is known of their logs, how far they are
/// read, and what was let go there of accounts that are forgotten.
struct PartitionTable {
    /// How far a partition is read.
    struct Progress {
        let name: PartitionName
        /// The offset that is read next.
        var next: Int64
        /// From here on records count as arrived when they are read.
        var liveFrom: Int64
        /// When the last record arrived, of any account; `.min` where none was read.
        fileprivate(set) var lastArrival = Int64.min
        /// The highest time stamp that was read, but never later than the moment of reading; -1 while there is none.
        var newestStamp: Int64 = -1
        /// Of forgotten accounts: the highest offset that was let go.
        var letGo: Int64
        /// The newest arrival of what was let go of forgotten accounts.
        var newestLetGo = Int64.min
        /// The last wake that read a record, and ``next`` before it.
        fileprivate var wake: UInt64
        fileprivate var nextBeforeWake: Int64
        /// Everything that came before this moment was read, by facts older than the present ones; `.min` where nothing is known.
        fileprivate(set) var readUntil = Int64.min
        /// Records came before anything was known of the log: the first facts apply, whatever was assumed.
        fileprivate var isPresumed: Bool

        fileprivate init(_ name: PartitionName, _ facts: LogFacts, wake: UInt64, isPresumed: Bool) {
            self.name = name
            next = max(facts.start, facts.next)
            liveFrom = facts.liveFrom
            letGo = facts.start - 1
            self.wake = wake
            nextBeforeWake = next
            self.isPresumed = isPresumed
        }
    }

    private(set) var facts: [LogFacts] = []
    private(set) var progress: [Progress] = []
    /// By slot: records that distinguish this log from another of the name. Not within ``Progress``, which is copied for each
    /// record and holds no reference.
    private(set) var landmarks: [Landmarks] = []
    private var slots: [PartitionName: Int] = [:]
    /// Records come in runs from one partition.
    private var lastSlot = 0
    /// Counts wakes.
    private var wake: UInt64 = 0
    private var identityIfCurrent: LogIdentity?
    var readUntilIfCurrent: Int64?
    var namedIfCurrent: [Int]?
    /// Whether some partition was not read to its end when that was computed: reading moves it.
    var isBehind = false
    /// Partitions that are not open yet: what they hold is not known, and from when.
    var unopened: Set<PartitionName> = []
    var unopenedSince = Int64.max
    /// By how many ms arrivals may be too low, because the clock was behind when they were noted.
    var clockWasBehind: Int64 = 0
    /// No fact claims anything about a later moment.
    private var latestClaim = Int64.min
    /// Ids of topics that were recreated.
    private var topicIDs: [UInt16: UInt32] = [:]
    /// How each topic was found to be recreated, the last time.
    private var recreations: [UInt16: TopicRecreation] = [:]
    /// No slot has a later one.
    private(set) var latestUnread = Int64.min
    private(set) var newestLetGo = Int64.min
    /// The partition in which the first record of a period was read last; nil where none was since it was forgotten.
    private(set) var newestLandmark: PartitionName?
    /// By slot: a node that had not read everything until this moment, and whose cursor does not name the partition, may lack a
    /// record that is not read here.
    private(set) var unreadUntil: [Int64] = []
    /// Partitions that were gone over because something of all of them was requested, for tests.
    private(set) var walked = 0
    let maximumTimestampDelay: Int64
    /// In ms.
    private let landmarkPeriod: Int64
    let topics: Int

    /// `retention`: for how long events are kept, in ms.
    init(topics: Int, maximumTimestampDelay: Int64, retention: Int64) {
        self.init(
            topics: topics, maximumTimestampDelay: maximumTimestampDelay,
            landmarkPeriod: max(1, retention / Int64(Landmarks.periods)))
    }

    private init(topics: Int, maximumTimestampDelay: Int64, landmarkPeriod: Int64) {
        self.topics = topics
        self.maximumTimestampDelay = maximumTimestampDelay
        self.landmarkPeriod = landmarkPeriod
    }

    var count: Int { progress.count }

    subscript(slot: Int) -> Progress { progress[slot] }

    /// Nil when nothing is known of the partition.
    func slot(of partition: PartitionName) -> Int? {
        if lastSlot < progress.count, progress[lastSlot].name == partition { return lastSlot }
        return slots[partition]
    }

    /// All slots, for code that goes over them: counted, since there may be thousands, and few calls may cost that.
    mutating func everySlot() -> Range<Int> {
        walked += progress.count
        return progress.indices
    }

    // MARK: - What is known

    /// Constant time. What was read stays as it was, except that `next` may move forward.
    mutating func apply(_ partition: PartitionName, _ new: LogFacts) {
        guard let slot = slot(of: partition) else { return open(partition, new, isPresumed: false) }
        let old = facts[slot]
        guard old != new else { return }
        if progress[slot].isPresumed {
            progress[slot].isPresumed = false
            progress[slot].liveFrom = new.liveFrom
            progress[slot].letGo = min(progress[slot].letGo, new.start - 1)
        }
        progress[slot].readUntil = readUntil(slot)
        facts[slot] = new
        latestClaim = max(latestClaim, new.latestClaim)
        moveNext(slot, to: new.next)
        forgetClaims()
        setUnread(of: slot)
        if !LogIdentity.isSame(old, new) { identityIfCurrent = nil }
    }

    private mutating func open(_ partition: PartitionName, _ new: LogFacts, isPresumed: Bool) {
        slots[partition] = progress.count
        facts.append(new)
        latestClaim = max(latestClaim, new.latestClaim)
        progress.append(Progress(partition, new, wake: wake, isPresumed: isPresumed))
        landmarks.append(Landmarks(periodMilliseconds: landmarkPeriod))
        unreadUntil.append(.min)
        setUnread(of: progress.count - 1)
        identityIfCurrent = nil
        forgetUnopened(partition)
    }

    /// Whatever was not read arrived before it was found, and before its time stamp plus the delay.
    private mutating func setUnread(of slot: Int) {
        let before = unreadUntil[slot]
        unreadUntil[slot] =
            facts[slot].unread.map { unread in
                // Compared with another node's clock.
                let arrival = Self.sum(unread.arrivedBefore, History.maximumClockDifferenceMilliseconds)
                return min(unread.stampedBefore.map { Self.sum($0, maximumTimestampDelay) } ?? .max, arrival)
            } ?? .min
        if unreadUntil[slot] >= latestUnread {
            latestUnread = unreadUntil[slot]
        } else if before == latestUnread {
            latestUnread = everySlot().reduce(.min) { max($0, unreadUntil[$1]) }
        }
    }

    private static func sum(_ moment: Int64, _ more: Int64) -> Int64 {
        let (later, overflow) = moment.addingReportingOverflow(more)
        return overflow ? .max : later
    }

    /// What distinguishes the logs from others of the same names. Goes over all partitions after something of it changed.
    mutating func identity() -> LogIdentity {
        if let identityIfCurrent { return identityIfCurrent }
        let slots = everySlot()
        let identity = LogIdentity(
            zip(progress[slots].lazy.map(\.name), facts[slots]), topics: topics, announced: topicIDs, recreations)
        identityIfCurrent = identity
        return identity
    }

    mutating func identify(_ topic: UInt16, _ id: UInt32) {
        topicIDs[topic] = id
        identityIfCurrent = nil
        forgetClaims()
    }

    /// The id that the logs of a topic have; nil where they have none, or none is open.
    mutating func id(of topic: UInt16) -> UInt32? {
        everySlot().first { progress[$0].name.topic == topic && facts[$0].topicID != nil }
            .flatMap { facts[$0].topicID }
    }

    mutating func noticeRecreation(of topic: UInt16, idBefore: UInt32?, now: Int64) {
        recreations[topic] = TopicRecreation(noticed: now, idBefore: idBefore)
        identityIfCurrent = nil
    }

    /// The clock was ahead, and shows a minute before `moment` now: what is claimed of later moments than that is withdrawn.
    /// Constant time where nothing is.
    mutating func takeBackClaims(after moment: Int64) {
        guard latestClaim > moment else { return }
        for slot in everySlot() {
            if progress[slot].readUntil > moment { progress[slot].readUntil = .min }
            if facts[slot].endMoment ?? .min > moment { facts[slot].endMoment = nil }
            if facts[slot].known ?? .min > moment { facts[slot].known = nil }
        }
        if unopenedSince > moment, unopenedSince < .max { unopenedSince = .min }
        latestClaim = moment
        identityIfCurrent = nil
        forgetClaims()
    }

    // MARK: - What is read

    mutating func beginWake() {
        wake += 1
        if isBehind { readUntilIfCurrent = nil }
    }

    /// ``Progress/next`` when the current wake began: everything before was handed out.
    func handedOut(_ slot: Int) -> Int64 {
        progress[slot].wake == wake ? progress[slot].nextBeforeWake : progress[slot].next
    }

    /// The slot of a partition from which a record comes. If nothing is known of it yet, this record is its start.
    mutating func slot(reading partition: PartitionName, _ offset: Int64, now: Int64) -> Int {
        if lastSlot < progress.count, progress[lastSlot].name == partition { return lastSlot }
        if slots[partition] == nil {
            let unread = LogFacts.Unread(stampedBefore: nil, arrivedBefore: now)
            open(
                partition, LogFacts(start: offset, unread: unread, liveFrom: offset, next: offset), isPresumed: true)
        }
        lastSlot = slots[partition] ?? 0
        return lastSlot
    }

    /// Counts a record as read and returns when it arrived, as far as that is known: the highest time stamp of its partition so
    /// far, or the wall clock where it was read as it came, and never later than that.
    mutating func read(_ slot: Int, offset: Int64, timestamp: Int64, now: Int64) -> Int64 {
        moveNext(slot, to: offset == .max ? offset : offset + 1)
        if timestamp > progress[slot].newestStamp { progress[slot].newestStamp = min(timestamp, now) }
        let newest = progress[slot].newestStamp
        let arrival = offset >= progress[slot].liveFrom || newest < 0 ? now : min(newest, now)
        progress[slot].lastArrival = arrival
        if landmarks[slot].read(offset, timestamp: timestamp, arrival: arrival) {
            newestLandmark = progress[slot].name
        }
        return arrival
    }

    private mutating func moveNext(_ slot: Int, to next: Int64) {
        guard next > progress[slot].next else { return }
        if progress[slot].wake != wake {
            progress[slot].wake = wake
            progress[slot].nextBeforeWake = progress[slot].next
        }
        progress[slot].next = next
    }

    // MARK: - What is let go

    /// What was let go of an account that is forgotten.
    mutating func letGo(_ slot: Int, offset: Int64, newest: Int64) {
        progress[slot].letGo = max(progress[slot].letGo, offset)
        progress[slot].newestLetGo = max(progress[slot].newestLetGo, newest)
        newestLetGo = max(newestLetGo, newest)
    }

    /// Forgets partitions: all that was known and read of them.
    mutating func remove(where isGone: (PartitionName) -> Bool) -> [Int: Int] {
        var moved: [Int: Int] = [:]
        var kept = PartitionTable(
            topics: topics, maximumTimestampDelay: maximumTimestampDelay, landmarkPeriod: landmarkPeriod)
        for slot in everySlot() where !isGone(progress[slot].name) {
            moved[slot] = kept.progress.count
            kept.slots[progress[slot].name] = kept.progress.count
            kept.facts.append(facts[slot])
            kept.progress.append(progress[slot])
            kept.landmarks.append(landmarks[slot])
            kept.unreadUntil.append(unreadUntil[slot])
        }
        kept.clockWasBehind = clockWasBehind
        kept.latestClaim = latestClaim
        kept.wake = wake
        kept.walked = walked
        kept.recreations = recreations
        kept.topicIDs = topicIDs
        kept.unopened = unopened.filter { !isGone($0) }
        kept.unopenedSince = kept.unopened.isEmpty ? .max : unopenedSince
        kept.latestUnread = kept.unreadUntil.max() ?? .min
        kept.newestLandmark = newestLandmark.flatMap { isGone($0) ? nil : $0 }
        kept.newestLetGo = kept.progress.lazy.map(\.newestLetGo).max() ?? .min
        self = kept
        return moved
    }
}
