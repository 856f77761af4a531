import HTTP
import LiveUpdates
import Tokens
import WebSocket

/// What becomes of a request: decided from the request, the settings and the clock alone.
///
/// The order is: is it for us, is it well formed, who is it, can we. A caller without a token thus learns nothing but
/// that, whether the node is ready or not.
struct Admission: Sendable {
    static let livePath = "/live/v1"
    static let syncPath = "/sync/v1"
    static let subprotocol = "livegate.v1"

    enum Decision {
        case admit(Admitted)
        case refuse(Refusal)
        /// Neither an upgrade nor anything else that the address serves.
        case plainGet
    }

    typealias Deflate = (parameters: DeflateParameters, answer: String)

    /// What is asked for.
    enum Service {
        case webSocket(UpgradeRequest, Deflate?, LiveParameters)
        case eventStream(LiveParameters)
        case sync(SyncParameters)
    }

    struct Admitted {
        let identity: Identity
        let service: Service

        /// What was agreed on, of a WebSocket.
        var deflate: Deflate? {
            if case .webSocket(_, let deflate, _) = service { deflate } else { nil }
        }

        /// What a stream is asked to be like, and the form that follows from it; nil for what is no stream.
        var liveRequest: (LiveParameters, StreamForm)? {
            switch service {
            case .webSocket(_, let deflate, let parameters):
                return (parameters, StreamForm(parameters, deflate == nil ? .webSocket : .deflated))
            case .eventStream(let parameters): return (parameters, StreamForm(parameters, .eventStream))
            case .sync: return nil
            }
        }
    }

    let verifier: TokenVerifier
    let readiness: NodeReadiness
    let agreesToDeflate: Bool
    let syncLimits: SyncLimits

    /// `epochSeconds` is the wall clock in whole seconds since 1970.
    func decide(_ head: RequestHead, epochSeconds: Int64) -> Decision {
        guard head.path == Self.livePath || head.path == Self.syncPath else { return .refuse(Refusal(.notFound)) }
        guard head.method == "GET" else { return .refuse(Refusal(.methodNotAllowed, allow: "GET")) }
        let service: Service
        do throws(Refusal) {
            guard let asked = try asked(head) else { return .plainGet }
            service = asked
        } catch {
            return .refuse(error)
        }
        let identity: Identity
        switch verifier.identify(authorization: head.headers.all("authorization"), now: epochSeconds) {
        case .success(let known): identity = known
        case .failure(let reason): return .refuse(Refusal(.invalidToken, "\(reason)"))
        }
        if readiness.refusesRequests { return .refuse(Refusal(.draining)) }
        guard readiness.hasBeenReady else { return .refuse(Refusal(.notReady)) }
        return .admit(Admitted(identity: identity, service: service))
    }

    /// What the request asks for; nil where it is nothing that the address serves.
    private func asked(_ head: RequestHead) throws(Refusal) -> Service? {
        if head.path == Self.syncPath {
            try refuseBody(head)
            return .sync(try SyncParameters.parse(head, syncLimits))
        }
        if UpgradeRequest.isAsked(by: head) {
            let upgrade = try UpgradeRequest.validate(head).get()
            return .webSocket(upgrade, deflate(upgrade), try LiveParameters.parse(head, isEventStream: false))
        }
        guard EventStream.isAsked(by: head) else { return nil }
        try refuseBody(head)
        return .eventStream(try LiveParameters.parse(head, isEventStream: true))
    }

    /// A body is never read; the next request would begin in the middle of it.
    private func refuseBody(_ head: RequestHead) throws(Refusal) {
        guard head.body.isEmpty else { throw Refusal(.badRequest, "This address reads no body.") }
    }

    /// What cannot be read as a list of extensions is no offer: the connection works without compression.
    private func deflate(_ upgrade: UpgradeRequest) -> Deflate? {
        guard agreesToDeflate, !upgrade.extensions.isEmpty else { return nil }
        guard let offers = try? ExtensionListParser.parse(Array(upgrade.extensions.joined(separator: [0x2C]))) else {
            return nil
        }
        return DeflatePolicy.shared.accept(offers)
    }
}
