/// One thing that happens to the archive in a history: each part of what its writers do is a step of its own, so that anything
/// may happen in between. What cannot be done does nothing.
enum ArchiveStep: Hashable, Sendable {
    enum Trouble: Hashable, Sendable {
        case none
        /// Pages are answered, and nothing is stored.
        case readOnly
        /// It answers nobody.
        case away
    }

    /// The node's writer does all that there is to do.
    case pass(Int)
    case claim(Int)
    /// Begins to ask where partitions go on, or has one answer more.
    case ask(Int)
    /// Begins to read once more what is behind, or reads so many records of each partition, or hands them over.
    case reread(Int, atMost: Int)
    /// Hands a transaction of so many events to the store, which has not answered yet.
    case begin(Int, events: Int)
    case commit(Int)
    /// The node does not hear how its transaction ended.
    case lose(Int, isStored: Bool)
    /// The store ends the node's session.
    case disconnect(Int)
    /// What was read live finds no room on its way to the writer.
    case drop(Int)
    case trouble(store: Int, Trouble)
    /// A client begins with a page.
    case page(Int, at: Int)

    var node: Int? {
        switch self {
        case .pass(let node), .claim(let node), .ask(let node), .reread(let node, _), .begin(let node, _),
            .commit(let node), .lose(let node, _), .disconnect(let node), .drop(let node), .page(_, let node):
            node
        case .trouble: nil
        }
    }
}

extension ArchiveStep: CustomStringConvertible {
    var description: String {
        let name = node.map { "the writer of node \(SimulationStep.name(ofNode: $0))" } ?? ""
        return switch self {
        case .pass: "\(name) does what there is to do"
        case .claim: "\(name) claims its partitions"
        case .ask: "\(name) has one more answer as to where to go on"
        case .reread(_, let count): "\(name) goes on with reading once more, \(count) records"
        case .begin(_, let events): "\(name) begins a transaction of \(events) events"
        case .commit: "\(name) has stored its transaction"
        case .lose(_, let isStored):
            "\(name) does not hear of its transaction, which is \(isStored ? "" : "not ")stored"
        case .disconnect: "\(name) loses its session"
        case .drop: "what \(name) was to be handed is dropped"
        case .trouble(let store, let trouble): "store \(store) is in trouble: \(trouble)"
        case .page(let client, let node):
            "client \(client) gets a page from node \(SimulationStep.name(ofNode: node))"
        }
    }
}
