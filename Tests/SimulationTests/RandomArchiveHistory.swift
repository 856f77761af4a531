import LiveUpdates
import TestHarness

/// A setting with an archive, and steps, from a seed.
struct RandomArchiveHistory {
    private var numbers: SeededGenerator
    private(set) var setting = SimulationSetting()
    private(set) var steps: [SimulationStep] = []
    private let mayRecreate: Bool
    private let mayTrim: Bool
    private let mayCompact: Bool
    private let mayCutBack: Bool

    init(seed: UInt64) {
        numbers = SeededGenerator(seed: seed &* 0xA24B_AED4_963E_E407 &+ 11)
        mayRecreate = numbers.isOne(in: 2)
        mayTrim = numbers.isOne(in: 4)
        mayCompact = numbers.isOne(in: 4)
        mayCutBack = numbers.isOne(in: 4)
        setting.archive = numbers.isOne(in: 2) ? .shared : .ofEachNode
        setting.hasHonestStamps = !numbers.isOne(in: 4)
        setting.partitions = 1 + numbers.below(3)
        setting.clients = numbers.isOne(in: 2) ? [0] : [0, numbers.below(2)]
        if !numbers.isOne(in: 3) { setting.ids = [0, 1] }
        if mayCutBack { setting.brokers = 6 }
        let margin = Int64([20_000, 60_000][numbers.below(2)])
        setting.limits.maximumTimestampDelayMilliseconds = margin
        setting.limits.retentionMilliseconds = margin + [1_000, 40_000, 4_500][numbers.below(3)]
        setting.limits.maximumEventsPerAccount = [2, 5, 1_000, 1_000][numbers.below(4)]
        for _ in 0..<(12 + numbers.below(32)) { steps.append(step()) }
    }

    private mutating func step() -> SimulationStep {
        let node = numbers.below(setting.nodes)
        let client = numbers.below(setting.clients.count)
        switch numbers.below(48) {
        case 0..<10: return append()
        case 10..<13: return .read(node, atMost: numbers.isOne(in: 2) ? .max : 1 + numbers.below(3))
        case 13..<17: return .catchUp(node)
        case 17: return .refresh(node)
        case 18: return .restart(node)
        case 19, 20: return .poll(client, at: node)
        case 21: return .follow(client, at: node)
        case 22: return .pass([1, 500, 2_000, 15_000, 70_000][numbers.below(5)])
        case 23: return numbers.isOne(in: 3) ? .addPartition : .heartbeat(client)
        case 24: return mayRecreate ? recreate() : append()
        case 25: return mayTrim ? .trim(numbers.below(3), keeping: numbers.below(4)) : append()
        case 26: return mayCompact ? .compact(numbers.below(3), back: numbers.below(3)) : append()
        case 27:
            guard mayCutBack else { return append() }
            return .cutBack(numbers.below(3), losing: 1 + numbers.below(3), records: numbers.below(6))
        default: return .archive(archiveStep(node, client))
        }
    }

    private mutating func archiveStep(_ node: Int, _ client: Int) -> ArchiveStep {
        switch numbers.below(20) {
        case 0..<4: .pass(node)
        case 4: .claim(node)
        case 5, 6: .ask(node)
        case 7, 8: .reread(node, atMost: numbers.isOne(in: 2) ? .max : 1 + numbers.below(2))
        case 9, 10: .begin(node, events: numbers.isOne(in: 2) ? 10_000 : 1 + numbers.below(2))
        case 11: .commit(node)
        case 12: numbers.isOne(in: 3) ? .lose(node, isStored: numbers.isOne(in: 2)) : .commit(node)
        case 13: numbers.isOne(in: 2) ? .disconnect(node) : .drop(node)
        case 14: .trouble(store: numbers.below(2), [.none, .none, .readOnly, .away][numbers.below(4)])
        default: .page(client, at: node)
        }
    }

    private mutating func recreate() -> SimulationStep {
        .recreate(partitions: 1 + numbers.below(3), records: numbers.isOne(in: 3) ? 0 : numbers.below(12))
    }

    private mutating func append() -> SimulationStep {
        var stamp = SimulationStep.Stamp.now
        if !setting.hasHonestStamps {
            switch numbers.below(8) {
            case 0..<2: stamp = .late(Int64(numbers.below(Int(setting.allowedDelay))))
            case 2: stamp = .future(Int64(1 + numbers.below(100_000)))
            default: break
            }
        }
        return .append(
            numbers.below(3), account: numbers.isOne(in: 4) ? 1 : 0, entity: numbers.isOne(in: 4) ? 1 : 0, stamp)
    }
}
