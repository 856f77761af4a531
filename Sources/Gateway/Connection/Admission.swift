import HTTP
import LiveUpdates
import WebSocket

/// What becomes of a request: decided from the request, the settings and the clock alone.
///
/// The order is: is it for us, is it well formed, who is it, can we. A caller without a token thus learns nothing but
/// that, whether the node is ready or not.
struct Admission: Sendable {
    static let path = "/live/v1"
    static let subprotocol = "livegate.v1"

    enum Decision {
        case admit(Admitted)
        case refuse(Refusal)
        /// Neither an upgrade nor anything else that the address serves.
        case plainGet
    }

    struct Admitted {
        let identity: Identity
        let upgrade: UpgradeRequest
        let deflate: (parameters: DeflateParameters, answer: String)?
    }

    let verifier: TokenVerifier
    let readiness: NodeReadiness
    let agreesToDeflate: Bool

    /// `epochSeconds` is the wall clock in whole seconds since 1970.
    func decide(_ head: RequestHead, epochSeconds: Int64) -> Decision {
        guard head.path == Self.path else { return .refuse(Refusal(.notFound)) }
        guard head.method == "GET" else { return .refuse(Refusal(.methodNotAllowed, allow: "GET")) }
        guard UpgradeRequest.isAsked(by: head) else { return .plainGet }
        let upgrade: UpgradeRequest
        switch UpgradeRequest.validate(head) {
        case .success(let request): upgrade = request
        case .failure(let refusal): return .refuse(refusal)
        }
        let identity: Identity
        switch verifier.identify(authorization: head.headers.all("authorization"), now: epochSeconds) {
        case .success(let known): identity = known
        case .failure(let reason): return .refuse(Refusal(.invalidToken, "\(reason)"))
        }
        if readiness.isDraining { return .refuse(Refusal(.draining, retryAfterSeconds: LoopNode.retryAfterSeconds)) }
        guard readiness.hasBeenReady else {
            return .refuse(Refusal(.notReady, retryAfterSeconds: LoopNode.retryAfterSeconds))
        }
        return .admit(Admitted(identity: identity, upgrade: upgrade, deflate: deflate(upgrade)))
    }

    /// What cannot be read as a list of extensions is no offer: the connection works without compression.
    private func deflate(_ upgrade: UpgradeRequest) -> (parameters: DeflateParameters, answer: String)? {
        guard agreesToDeflate, !upgrade.extensions.isEmpty else { return nil }
        guard let offers = try? ExtensionListParser.parse(Array(upgrade.extensions.joined(separator: [0x2C]))) else {
            return nil
        }
        return DeflatePolicy.shared.accept(offers)
    }
}
