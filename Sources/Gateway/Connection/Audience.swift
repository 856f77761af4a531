import LiveUpdates

/// The streams of one account on one loop. Confined to the loop.
final class Audience {
    /// Streams that take the same bytes.
    final class Group {
        let form: StreamForm
        /// Those that have everything so far.
        var connections: [Connection] = []
        /// How many are behind, and will come back or go.
        var behind = 0
        var recent = RecentSlices()

        init(form: StreamForm) { self.form = form }

        var isEmpty: Bool { connections.isEmpty && behind == 0 }
    }

    /// Few: as many as there are forms in use for the account.
    var groups: [Group] = []
    /// Those that are told of events one by one: what they make of them depends on more than the form.
    var watchers: [Connection] = []

    var isEmpty: Bool { groups.isEmpty && watchers.isEmpty }

    func group(_ form: StreamForm) -> Group? {
        for group in groups where group.form == form { return group }
        return nil
    }

    func makeGroup(_ form: StreamForm) -> Group {
        if let group = group(form) { return group }
        let group = Group(form: form)
        groups.append(group)
        return group
    }
}

@available(*, unavailable)
extension Audience: Sendable {}
