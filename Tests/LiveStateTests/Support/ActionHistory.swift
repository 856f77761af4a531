import LiveState
import TestHarness

/// One device and a server that honours idempotency keys, in an order that a seed chooses: answers that are late or lost,
/// restarts that forget all but the store, tokens that end, networks that go.
struct ActionHistory {
    private(set) var problems: [String] = []
    private var random: SeededGenerator
    private var queue: ActionQueue
    private var now: Milliseconds = 0
    private var starts = 0

    /// The store of the device: rows by id, and the local state.
    private var rows: [String: DeferredAction] = [:]
    private var shown: [String: String] = [:]
    /// What the user wanted last, by id; an action that was rejected takes its id out.
    private var wanted: [String: String] = [:]

    private var server: [String: String] = [:]
    private var results: [String: Int] = [:]
    private var sent: [String: String] = [:]
    /// On the way to the server, or back.
    private var batch: (number: Int, actions: [DeferredAction], answer: [ActionResult]?)?

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        queue = ActionQueue(Self.settings(0))
        perform(queue.handle(.loaded(actions: []), at: now))
    }

    private static func settings(_ starts: Int) -> ActionQueue.Settings {
        var settings = ActionQueue.Settings()
        settings.keyPrefix = "start\(starts)"
        settings.maximumBatch = 3
        return settings
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps { step() }
        // Calm: the network is there, tokens are good, answers come.
        perform(queue.handle(.network(isReachable: true), at: now))
        perform(queue.handle(.token, at: now))
        var rounds = 0
        while !queue.view.pending.isEmpty, rounds < 200 {
            rounds += 1
            if batch != nil {
                serve()
                answer()
            } else if let wake = queue.wakeAt {
                now = max(now, wake)
                perform(queue.handle(.wake, at: now))
            } else {
                problems.append("pending, and nothing is due")
                return
            }
        }
        if !queue.view.pending.isEmpty { problems.append("still pending: \(queue.view.pending)") }
        if !rows.isEmpty { problems.append("rows are left: \(rows)") }
        for (id, value) in wanted {
            if server[id, default: "0"] != value { problems.append("\(id) is \(server[id] ?? "0"), not \(value)") }
            if shown[id, default: "0"] != value { problems.append("\(id) shows \(shown[id] ?? "0"), not \(value)") }
        }
    }

    private mutating func step() {
        now += Milliseconds.random(in: 0...900, using: &random)
        if let wake = queue.wakeAt, wake <= now { perform(queue.handle(.wake, at: now)) }
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<7: set()
        case 7..<9: serve()
        case 9..<12: answer()
        case 12: lose(status: [nil, nil, 500, 429, 401].randomElement(using: &random) ?? nil)
        case 13: perform(queue.handle(.network(isReachable: Bool.random(using: &random)), at: now))
        case 14: perform(queue.handle(.token, at: now))
        case 15: restart()
        case 16: perform(queue.handle(.flush, at: now))
        case 17: reload()
        default: break
        }
    }

    private mutating func set() {
        let id = String(Int.random(in: 0..<4, using: &random))
        let value = String(Int.random(in: 0..<3, using: &random))
        wanted[id] = value
        let set = ActionQueue.Input.set(kind: "status", id: id, value: value, before: shown[id, default: "0"])
        perform(queue.handle(set, at: now))
    }

    private mutating func reload() {
        let id = String(Int.random(in: 0..<4, using: &random))
        let value = server[id, default: "0"]
        shown[id] = value
        perform(queue.handle(.reloaded(kind: "status", id: id, value: value, askedAt: now), at: now))
    }

    /// The server does what it has not done yet; a key that it knows gets the answer that it got.
    private mutating func serve() {
        guard let batch, batch.answer == nil else { return }
        let answer = batch.actions.map { action in
            if let sent = sent[action.key], sent != action.value { problems.append("\(action.key) has two values") }
            sent[action.key] = action.value
            let status = results[action.key] ?? [200, 200, 200, 503].randomElement(using: &random) ?? 200
            if status == 200, results[action.key] == nil {
                results[action.key] = status
                server[action.id] = action.value
            }
            return ActionResult(key: action.key, status: status)
        }
        self.batch?.answer = answer
    }

    private mutating func answer() {
        guard let batch, let answer = batch.answer else { return }
        self.batch = nil
        perform(queue.handle(.answered(batch: batch.number, results: answer), at: now))
    }

    /// The answer is lost, on one of its ways.
    private mutating func lose(status: Int?) {
        guard let batch else { return }
        if Bool.random(using: &random) { serve() }
        self.batch = nil
        perform(queue.handle(.failed(batch: batch.number, status: status, retryAfter: nil), at: now))
    }

    private mutating func restart() {
        if Bool.random(using: &random) { serve() }
        batch = nil
        starts += 1
        queue = ActionQueue(Self.settings(starts))
        if Bool.random(using: &random) { set() }
        perform(queue.handle(.loaded(actions: rows.values.sorted { $0.key < $1.key }), at: now))
    }

    private mutating func perform(_ effects: [ActionQueue.Effect]) {
        for effect in effects {
            switch effect {
            case .persist(let action): rows[action.id] = action
            case .delete(_, let id): rows[id] = nil
            case .apply(_, let id, let value): shown[id] = value
            case .undo(_, let id, let value): shown[id] = value
            case .send(let number, let actions):
                if batch != nil { problems.append("two batches at once") }
                for action in actions where rows[action.id]?.key != action.key {
                    problems.append("\(action.key) is sent and not kept")
                }
                batch = (number, actions, nil)
            case .requestToken, .unauthorized: break
            case .rejected, .expired, .refused: problems.append("\(effect)")
            }
        }
    }
}
