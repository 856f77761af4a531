/// One thing that happens in a history. Steps fit any state, so that a list of them stays a history when some are removed:
/// numbers of partitions count round, and what cannot be done does nothing.
enum SimulationStep: Hashable, Sendable {
    enum Stamp: Hashable, Sendable {
        case now
        /// Milliseconds before now.
        case late(Int64)
        case future(Int64)
        case none
        case highest
    }

    // MARK: The topic

    case append(Int, account: Int, entity: Int = 0, Stamp = .now)
    case addPartition
    /// So many records come at once, accounts in turn.
    case recreate(partitions: Int, records: Int)
    /// Retention or an operator deletes all but the last records of a partition.
    case trim(Int, keeping: Int)
    /// Compaction removes a record: the last, the one before it, and so on.
    case compact(Int, back: Int)
    /// An unclean election: the last records of a partition are lost, and its new leader is sent others at once.
    case cutBack(Int, losing: Int, records: Int)
    case pass(Int64)

    // MARK: Nodes

    case refresh(Int)
    /// Begins a refresh, or goes on with one, by so many answers.
    case refreshPart(Int, answers: Int)
    case read(Int, atMost: Int)
    /// Refreshes and reads to the end.
    case catchUp(Int)
    /// The second mapping leaves out entity 1.
    case restart(Int, mapping: Int = 0)
    /// Any broker that the node asks tells what it knows now, until it has caught up with its controller.
    case freeze(Int)
    case thaw(Int)
    case sweep(Int)

    // MARK: Clients

    /// Resumes, reads, and goes with the cursor it has come to. Of pages it reads so many, of so many events.
    case poll(Int, at: Int, isFiltered: Bool = false, pages: Int = .max, pageSize: Int = 100)
    /// Resumes, reads and stays.
    case follow(Int, at: Int)
    case fallBehind(Int)
    /// Reads the next page of what it is behind.
    case readOn(Int, pageSize: Int)
    /// Is given a fresh cursor.
    case heartbeat(Int)
    case leave(Int)

    case archive(ArchiveStep)
}

extension SimulationStep: CustomStringConvertible {
    static func name(ofNode node: Int) -> String { node < 3 ? ["A", "B", "C"][node] : "\(node)" }

    var description: String {
        switch self {
        case .append(let partition, let account, let entity, let stamp):
            "append to partition \(partition) for account \(account), entity \(entity), stamped \(stamp)"
        case .addPartition: "a partition is added"
        case .recreate(let partitions, let records):
            "the topic is recreated with \(partitions) partitions and \(records) records"
        case .trim(let partition, let keeping): "partition \(partition) is trimmed to its last \(keeping) records"
        case .compact(let partition, let back): "compaction removes record -\(back + 1) of partition \(partition)"
        case .cutBack(let partition, let losing, let records):
            "an unclean election loses \(losing) records of partition \(partition), and \(records) are written"
        case .pass(let milliseconds): "\(milliseconds) ms pass"
        case .refresh(let node): "node \(Self.name(ofNode: node)) refreshes"
        case .refreshPart(let node, let answers):
            "node \(Self.name(ofNode: node)) goes on refreshing by \(answers) answers"
        case .read(let node, let count):
            "node \(Self.name(ofNode: node)) reads \(count == .max ? "to the end" : "\(count)")"
        case .catchUp(let node): "node \(Self.name(ofNode: node)) refreshes and reads to the end"
        case .restart(let node, let mapping): "node \(Self.name(ofNode: node)) restarts with mapping \(mapping)"
        case .freeze(let node): "the brokers that node \(Self.name(ofNode: node)) asks fall behind"
        case .thaw(let node): "the brokers that node \(Self.name(ofNode: node)) asks catch up"
        case .sweep(let node): "node \(Self.name(ofNode: node)) sweeps"
        case .poll(let client, let node, let isFiltered, let pages, let size):
            "client \(client) polls node \(Self.name(ofNode: node))\(isFiltered ? " filtered" : "")"
                + (pages == .max ? "" : ", \(pages) pages of \(size)")
        case .follow(let client, let node): "client \(client) follows node \(Self.name(ofNode: node))"
        case .fallBehind(let client): "client \(client) falls behind"
        case .readOn(let client, let size): "client \(client) reads \(size) on"
        case .heartbeat(let client): "client \(client) is given a fresh cursor"
        case .leave(let client): "client \(client) leaves"
        case .archive(let step): step.description
        }
    }
}

extension SimulationStep.Stamp {
    func milliseconds(_ now: Int64) -> Int64 {
        switch self {
        case .now: now
        case .late(let by): max(0, now - by)
        case .future(let by): now + by
        case .none: -1
        case .highest: .max
        }
    }
}
