import LiveState

// The token of the app's API: a 401 has another one fetched, once; the next 401 stops all that screens ask for, and says so.
extension LiveScreens {
    /// What is known of the token.
    enum TokenState: Equatable {
        /// `isRenewed`: it came after a 401, and nothing has succeeded since.
        case usable(isRenewed: Bool)
        /// Another one is being fetched, or waited for.
        case awaited
        /// Neither a token nor the one after it was taken.
        case refused
    }

    /// The token that counts when something is asked for.
    struct AskedToken: Sendable {
        /// How many there had been.
        let count: Int
        /// Of the client.
        let text: String?
    }

    var askedToken: AskedToken { AskedToken(count: tokens, text: clientTokens?.token) }

    /// Neither the API's token nor the one after it was taken, or nobody is signed in: nothing is asked until ``tokenChanged()``.
    public var isUnauthorized: Bool { token == .refused }

    /// Somebody has signed in, or there is another token: what waits for one is asked for at once.
    public func tokenChanged() { useToken(isRenewed: false) }

    /// Whether there is a token that may be good.
    var mayAsk: Bool { if case .usable = token { true } else { false } }

    /// A request was answered with something else than 401.
    func noteToken(_ asked: AskedToken) { if asked.count == tokens, mayAsk { token = .usable(isRenewed: false) } }

    /// A request was answered with 401. What was asked with an earlier token says nothing of this one.
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
            // Nobody knows whether somebody is signed in.
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
        // All that failed for the old one is due.
        retryNow()
    }

    /// What waits to be tried again is tried now.
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
