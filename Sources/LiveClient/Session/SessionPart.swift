import Locks

/// What starts and stops with a ``LiveSession``.
package struct SessionPart: Sendable {
    /// In which order parts are stopped; of the same ones the last that was added first.
    package enum Order: Int, Sendable {
        case machines, screens, actions
    }

    let order: Order
    /// Of what there may be one at a time; nil: any number.
    let name: String?
    package var start: @Sendable () async -> Void = {}
    package var setForeground: @Sendable (_ isForeground: Bool) async -> Void = { _ in }
    package var pathChanged: @Sendable (_ isSatisfied: Bool) async -> Void = { _ in }
    package var tokenChanged: @Sendable (_ isValid: Bool) async -> Void = { _ in }
    package var stop: @Sendable (_ isSigningOut: Bool) async -> Void = { _ in }

    init(order: Order, name: String? = nil) { (self.order, self.name) = (order, name) }

    /// A machine, which is the only one of its area.
    package init<Area: LiveArea>(_ machine: LiveMachine<Area>) {
        self.init(order: .machines, name: machine.area.name)
        start = { await machine.start() }
        setForeground = { isForeground in
            if isForeground { await machine.enterForeground() } else { await machine.enterBackground() }
        }
        pathChanged = { await machine.pathChanged(isSatisfied: $0) }
        tokenChanged = { await machine.tokenChanged(isValid: $0) }
        stop = { _ in await machine.stop() }
    }
}

/// The files that sessions of this process have open. Two sessions of one file would move one cursor past the rows of the other.
enum SessionFiles {
    private static let open = Lock<[String: Telling]>([:])

    /// Waits until no session has the file, and acquires it.
    ///
    /// - Throws: `CancellationError`, if the task is cancelled while another session has it.
    static func acquire(_ path: String) async throws -> Telling {
        while true {
            let own = Telling()
            let other = open.withLock { open in
                if let other = open[path] { return other as Telling? }
                open[path] = own
                return nil
            }
            guard let other else { return own }
            try await other.wait()
        }
    }

    /// Runs work while no session has the file.
    static func hold<Value>(_ path: String, _ work: () async throws -> Value) async throws -> Value {
        let own = try await acquire(path)
        defer { release(path, own) }
        return try await work()
    }

    static func release(_ path: String, _ own: Telling) {
        open.withLock { if $0[path] === own { $0[path] = nil } }
        own.end()
    }
}
