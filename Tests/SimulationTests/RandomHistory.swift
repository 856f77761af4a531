import LiveUpdates
import TestHarness

/// A setting and steps from a seed.
struct RandomHistory {
    private var numbers: SeededGenerator
    private(set) var setting = SimulationSetting()
    private(set) var steps: [SimulationStep] = []
    private let mayRecreate: Bool
    private let mayTrim: Bool
    private let mayCompact: Bool
    private let mayStamp: Bool
    private let mayMap: Bool
    /// What came to the histories later has numbers of its own: those without it stay as they were.
    private var further: SeededGenerator
    private var latest: SeededGenerator
    private let mayCutBack: Bool
    private let mayInterrupt: Bool

    init(seed: UInt64) {
        numbers = SeededGenerator(seed: seed &* 0x9E37_79B9_7F4A_7C15 &+ 1)
        further = SeededGenerator(seed: seed &* 0xD134_2543_DE82_EF95 &+ 7)
        latest = SeededGenerator(seed: seed &* 0xBF58_476D_1CE4_E5B9 &+ 3)
        mayCutBack = further.isOne(in: 4)
        mayInterrupt = further.isOne(in: 4)
        mayRecreate = numbers.isOne(in: 2)
        mayTrim = numbers.isOne(in: 3)
        mayCompact = numbers.isOne(in: 3)
        mayStamp = numbers.isOne(in: 2)
        mayMap = numbers.isOne(in: 6)
        setting.partitions = 1 + numbers.below(3)
        setting.nodes = numbers.isOne(in: 6) ? 3 : 2
        setting.clients = numbers.isOne(in: 2) ? [0] : [0, numbers.below(2)]
        switch numbers.below(3) {
        case 0: break
        case 1: setting.ids = Set(0..<setting.nodes)
        default: setting.ids = [numbers.below(2)]
        }
        var margin = Int64([20_000, 60_000][numbers.below(2)])
        if mayCutBack { setting.brokers = 6 }
        // Where clocks differ, a log that was cut back is told from what it was by moments of two clocks: that goes wrong.
        if !mayCutBack, further.isOne(in: 6) {
            let most = History.maximumClockDifferenceMilliseconds
            setting.clocks = (0..<setting.nodes).map { _ in [0, most / 2, most][further.below(3)] }
            margin += setting.clockDifference
        }
        setting.limits.maximumTimestampDelayMilliseconds = margin
        setting.limits.retentionMilliseconds = margin + [1_000, 40_000, 1 << 40][numbers.below(3)]
        setting.limits.maximumEventsPerAccount = [1, 2, 3, 5, 1_000][numbers.below(5)]
        if numbers.isOne(in: 8) { setting.limits.maximumLogBytes = 300 + numbers.below(1_600) }
        setting.hasQuietTopic = latest.isOne(in: 3)
        // One whose account has seldom had an event.
        if setting.clients == [0], latest.isOne(in: 3) { setting.clients = [1] }
        for _ in 0..<(12 + numbers.below(28)) {
            steps.append(step())
            if mayCutBack || mayInterrupt, further.isOne(in: 8) { steps.append(furtherStep()) }
        }
    }

    private mutating func furtherStep() -> SimulationStep {
        if mayCutBack, !mayInterrupt || further.isOne(in: 2) {
            return .cutBack(further.below(3), losing: 1 + further.below(3), records: further.below(6))
        }
        return .refreshPart(further.below(setting.nodes), answers: 1 + further.below(6))
    }

    private mutating func step() -> SimulationStep {
        let node = numbers.below(setting.nodes)
        let client = numbers.below(setting.clients.count)
        switch numbers.below(40) {
        case 0..<11: return append()
        case 11..<14: return .read(node, atMost: numbers.isOne(in: 2) ? .max : 1 + numbers.below(3))
        case 14..<17: return .catchUp(node)
        case 17: return .refresh(node)
        case 18..<21: return .restart(node, mapping: mayMap ? numbers.below(2) : 0)
        case 21..<26:
            let pages = numbers.isOne(in: 3) ? 1 : Int.max
            return .poll(
                client, at: node, isFiltered: numbers.isOne(in: 6), pages: pages, pageSize: 1 + numbers.below(3))
        case 26..<29: return .follow(client, at: node)
        case 29: return numbers.isOne(in: 2) ? .fallBehind(client) : .leave(client)
        case 30: return .readOn(client, pageSize: 1 + numbers.below(2))
        case 31: return .heartbeat(client)
        case 32..<34: return .pass([1, 500, 2_000, 15_000, 70_000][numbers.below(5)])
        case 34: return numbers.isOne(in: 3) ? .addPartition : .sweep(node)
        case 35: return numbers.isOne(in: 2) ? .freeze(node) : .thaw(node)
        case 36: return mayRecreate ? recreate() : append()
        case 37: return mayTrim ? .trim(numbers.below(3), keeping: numbers.below(4)) : append()
        case 38: return mayCompact ? .compact(numbers.below(3), back: numbers.below(3)) : append()
        default: return .read(node, atMost: .max)
        }
    }

    private mutating func recreate() -> SimulationStep {
        .recreate(partitions: 1 + numbers.below(3), records: numbers.isOne(in: 3) ? 0 : numbers.below(12))
    }

    private mutating func append() -> SimulationStep {
        let account = numbers.isOne(in: 4) ? 1 : 0
        var stamp = SimulationStep.Stamp.now
        if mayStamp {
            switch numbers.below(12) {
            case 0..<3: stamp = .late(Int64(numbers.below(Int(setting.allowedDelay))))
            case 3: stamp = .late(setting.margin * 2)
            case 4: stamp = .future(Int64(1 + numbers.below(100_000)))
            case 5: stamp = .none
            case 6: stamp = .highest
            default: break
            }
        }
        return .append(numbers.below(3), account: account, entity: numbers.below(4) == 0 ? 1 : 0, stamp)
    }
}
