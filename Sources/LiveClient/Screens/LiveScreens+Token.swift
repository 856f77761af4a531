import LiveState

// The token of the app's API: after a 401 another one is fetched, once. The next 401 stops all requests of the screens.
extension LiveScreens {
    /// The state of the token.
    enum TokenState: Equatable {
        /// `isRenewed`: it was fetched after a 401, and no request has succeeded since.
        case usable(isRenewed: Bool)
        /// Another token is being fetched, or is awaited.
        case awaited
        /// The API accepted neither the token nor the next one.
        case refused
    }

    /// The token that is current when a request begins.
    struct AskedToken: Sendable {
        /// How many tokens there have been.
        let count: Int
        /// The client's token.
        let text: String?
    }

    var askedToken: AskedToken { AskedToken(count: tokens, text: clientTokens?.token) }

    /// The API accepted neither the token nor the next one, or no user is signed in. Requests wait for ``tokenChanged()``.
    public var isUnauthorized: Bool { token == .refused }

    /// A user has signed in, or there is another token: waiting requests are made at once.
    public func tokenChanged() { useToken(isRenewed: false) }

    /// Whether there is a token that may be valid.
    var mayAsk: Bool { if case .usable = token { true } else { false } }

    /// The answer to a request was not 401.
    func noteToken(_ asked: AskedToken) { if asked.count == tokens, mayAsk { token = .usable(isRenewed: false) } }

    /// The answer to a request was 401. A request with an earlier token shows nothing about the current one.
    func refuseToken(_ asked: AskedToken) {
        guard asked.count == tokens, case .usable(let isRenewed) = token, !isClosed else { return }
        if isRenewed { stopAsking() } else { renewToken(asked.text) }
    }

    private func renewToken(_ refused: String?) {
        token = .awaited
        let (deadline, sleep) = (settings.requestDeadline, sleep)
        requests["token"] = Task { [weak self, api, clientTokens] in
            do {
                try await Deadline.run(milliseconds: deadline, sleep: sleep) {
                    try await LiveTokens.renew(clientTokens, replacing: refused) { try await api.renewToken() }
                }
                await self?.tokenRenewed(nil, refused)
            } catch {
                await self?.tokenRenewed(RequestFailure(error), refused)
            }
        }
    }

    private func tokenRenewed(_ failure: RequestFailure?, _ refused: String?) {
        guard requests.removeValue(forKey: "token") != nil, token == .awaited else { return }
        switch failure {
        case nil: useToken(isRenewed: true)
        case .unauthorized?: stopAsking()
        case .rejected?, .unreadable?, .retry?:
            // It is unknown whether a user is signed in.
            let wait = tokenRetry.wait()
            requests["token"] = Task { [weak self, sleep] in
                guard (try? await sleep(wait)) != nil else { return }
                await self?.renewToken(refused)
            }
        }
    }

    private func useToken(isRenewed: Bool) {
        guard !isClosed else { return }
        requests.removeValue(forKey: "token")?.cancel()
        tokens += 1
        token = .usable(isRenewed: isRenewed)
        if !isRenewed { tokenRetry.reset() }
        // All requests that failed because of the old token are due.
        retryNow()
    }

    /// Tries now what waits for another attempt.
    public func retryNow() {
        for name in lists.keys.sorted() { give(name, .wake, at: .max) }
        ask(.wake, at: .max)
    }

    private func stopAsking() {
        token = .refused
        for name in lists.keys.sorted() { publish(name) }
        for shown in details.values { publishDetails(of: shown.thing) }
    }
}
