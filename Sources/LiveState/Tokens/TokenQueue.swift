/// Decides which request gets which token, and when another one is fetched: one fetch at a time for a whole client.
///
/// If many requests were refused with the same token, the first has another one fetched, and all get that one. The app's function
/// receives the refused token, so that a cache does not return it again.
package struct TokenQueue: StateMachine {
    /// It has none.
    package struct Settings: Codable, Sendable {
        package init() {}
    }

    /// What happens.
    package enum Input: Codable, Equatable, Sendable {
        /// A request needs a token. `fresh`: the last token was refused or ends soon; that was `replacing`, where it is known.
        case ask(number: Int, fresh: Bool, replacing: String?)
        /// The fetched token is there.
        case came(token: String?)
        /// It could not be fetched.
        case failed
    }

    /// What the owner is to do, in order.
    package enum Effect: Codable, Equatable, Sendable {
        /// Ask the app; one at a time.
        case fetch(fresh: Bool, replacing: String?)
        /// Give the token that came last to this request.
        case give(number: Int)
        /// Give the error to this request.
        case fail(number: Int)
    }

    /// What is visible from outside between two inputs.
    package struct View: Codable, Equatable, Sendable {
        /// The last token.
        package let token: String?
        /// Whether the app is being asked.
        package let isFetching: Bool
        /// How many wait.
        package let waiting: Int
    }

    private struct Waiting: Sendable {
        let number: Int
        let fresh: Bool
        let replacing: String?
    }

    private var token: String?
    /// Whether the running fetch is a fresh one; nil: no fetch runs.
    private var fetch: Bool?
    private var waiting: [Waiting] = []

    /// One that knows no token.
    package init(_ settings: Settings = Settings()) {}

    package var view: View {
        View(token: token, isFetching: fetch != nil, waiting: waiting.count)
    }

    package var wakeAt: Milliseconds? { nil }

    package mutating func handle(_ input: Input, at now: Milliseconds) -> [Effect] {
        let isFresh = fetch == true
        switch input {
        case .ask(let number, let fresh, let replacing):
            waiting.append(Waiting(number: number, fresh: fresh, replacing: replacing))
            return serve { _ in false } + begin()
        case .came(let token):
            self.token = token
            fetch = nil
            return serve { !$0.fresh || isFresh } + begin()
        case .failed:
            fetch = nil
            let served = waiting.filter { !$0.fresh || isFresh }
            waiting.removeAll { !$0.fresh || isFresh }
            return served.map { .fail(number: $0.number) } + begin()
        }
    }

    /// Gives the token to the requests for which it is good.
    private mutating func serve(_ isServed: (Waiting) -> Bool) -> [Effect] {
        guard fetch == nil else { return [] }
        let served = waiting.filter { isServed($0) || hasNewer($0) }.map(\.number)
        waiting.removeAll { served.contains($0.number) }
        return served.map { .give(number: $0) }
    }

    /// Whether the token is another one than the refused one.
    private func hasNewer(_ one: Waiting) -> Bool {
        guard one.fresh, let token, let replacing = one.replacing else { return false }
        return replacing != token
    }

    private mutating func begin() -> [Effect] {
        guard fetch == nil, !waiting.isEmpty else { return [] }
        let fresh = waiting.first { $0.fresh }
        fetch = fresh != nil
        return [.fetch(fresh: fresh != nil, replacing: fresh.flatMap { $0.replacing ?? token })]
    }
}
