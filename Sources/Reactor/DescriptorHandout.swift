import Synchronization

/// Hands the connections of one Unix socket round the loops that share it.
final class DescriptorHandout: Sendable {
    /// A connection on its way to another loop. The number is owned by whoever holds the message.
    struct Parcel: Sendable {
        let raw: Int32
        let peer: SocketAddress
    }

    private struct State {
        var boxes: [Mailbox<Parcel>?]
        var next = 0
    }

    private let state: Mutex<State>

    init(seats: Int) { state = Mutex(State(boxes: Array(repeating: nil, count: seats))) }

    /// A loop that takes its share from now on.
    func join(_ seat: Int, _ box: Mailbox<Parcel>) { state.withLock { $0.boxes[seat] = box } }

    func leave(_ seat: Int) { state.withLock { $0.boxes[seat] = nil } }

    /// The next in turn. Nil means the one who accepts: seat 0, or nobody else is there.
    func nextBox() -> Mailbox<Parcel>? {
        state.withLock { state in
            for _ in state.boxes.indices {
                let seat = state.next
                state.next = (seat + 1) % state.boxes.count
                if seat == 0 { return nil }
                if let box = state.boxes[seat] { return box }
            }
            return nil
        }
    }
}
