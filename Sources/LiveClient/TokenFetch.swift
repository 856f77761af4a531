import LiveState

/// The app's tokens: one question at a time, what it brought, and what was shown to the server last.
struct TokenFetch {
    struct Failure: Error {
        let text: String
        let isUnauthorized: Bool
    }

    /// Of the question that counts.
    private(set) var request: Int?
    /// What came last.
    var candidate: String?
    /// What was shown to the server last.
    private(set) var used: String?
    private var task: Task<Void, Never>?

    /// Asks the app; an earlier question is given up.
    mutating func begin(
        _ request: Int, _ token: @escaping @Sendable () async throws -> String,
        _ done: @escaping @Sendable (Result<String, Failure>) -> Void
    ) {
        cancel()
        self.request = request
        task = Task {
            do {
                done(.success(try await token()))
            } catch {
                done(.failure(Failure(text: "\(error)", isUnauthorized: RequestFailure(error) == .unauthorized)))
            }
        }
    }

    /// The candidate is shown to the server.
    mutating func use() { used = candidate ?? used }

    mutating func cancel() {
        task?.cancel()
        task = nil
        request = nil
    }
}
