import Balancer
import HTTP
import Reactor
import Transport

/// Finds the client of a connection and of a request. Behind a balancer the socket's peer is only the balancer.
extension Connection {
    /// Receives a part of the PROXY header, and perhaps the beginning of what follows it: TLS, or a request.
    func receiveProxyHeader(_ bytes: Span<UInt8>, _ reading: RequestReading) {
        switch reading.proxyHeader?.consume(bytes) ?? .needMore {
        case .needMore: break
        case .rejected(let fault): rejectProxyHeader(ProxyHeaderRejection(fault))
        case .header(let source, let consumed):
            reading.proxyHeader = nil
            if let source { peer = source }
            client = peer
            if let limit = arrive(reading) { return refuseArrival(limit) }
            let rest = bytes.extracting(droppingFirst: consumed)
            if case .server(let context) = loop.policy.security {
                transport?.acceptTLS(context, behind: rest)
            } else if !rest.isEmpty {
                receiveRequest(rest, reading)
            }
        }
    }

    /// Closes without an answer: a peer that sends no header does not wait for an answer.
    func rejectProxyHeader(_ why: ProxyHeaderRejection) {
        loop.count(why, peer)
        endPhase()
        phase = .ending(Ending())
        transport?.close(afterFlush: false)
    }

    /// The transport ended before the header did. A peer that has sent nothing at all only checked whether the port is open, as
    /// balancers do.
    func countCutProxyHeader(_ reason: TransportEnd) {
        guard case .request(let reading) = phase, reading.proxyHeader?.hasBegun == true else { return }
        switch reason {
        case .stream(.peerClosed), .stream(.failed): loop.count(.cut, peer)
        default: break
        }
    }

    /// On a port of TLS a page's request is answered so that the page can read what is wrong with its address.
    func transportPlainAnswer(to request: [UInt8]) -> [UInt8] {
        var parser = RequestParser(limits: loop.policy.requestLimits)
        let browsers = loop.admission.browsers
        guard case .head(let head, _) = parser.consume(request.span) else {
            return PlainAnswer.bytes(fields: browsers.crossOrigin.commonFields)
        }
        return PlainAnswer.bytes(fields: browsers.fields(head))
    }

    /// Finds the client of a request. On one connection a balancer may send the requests of many.
    func identifyClient(_ head: RequestHead) {
        client = loop.policy.balancer.client(of: peer) { head.headers.all($0) }
    }
}

extension ClientAddress {
    package init(_ peer: SocketAddress) {
        switch peer {
        case .ipv4(let address, _): self = .ipv4(address)
        case .ipv6(let high, let low, _, _): self.init(high: high, low: low)
        // No peer is all addresses.
        case .unix, .any: self = .unix
        }
    }
}

/// Why a connection was closed for its PROXY header, or for the lack of one.
enum ProxyHeaderRejection: String, CaseIterable {
    case untrusted = "the peer is not in balancer.trusted"
    case missing = "the connection began with something else"
    case malformed = "the header is malformed"
    case tooLong = "the header is too long"
    case late = "the header was not whole within handshake_timeout"
    case cut = "the peer left in the middle of the header"

    init(_ fault: ProxyHeaderFault) {
        self =
            switch fault {
            case .missing: .missing
            case .malformed: .malformed
            case .tooLong: .tooLong
            }
    }

    /// What to do about it.
    var advice: String {
        switch self {
        case .untrusted: "if it is your balancer, add it to balancer.trusted; clients must come through the balancer"
        case .missing: "have the balancer send PROXY headers (HAProxy: send-proxy-v2, nginx: proxy_protocol on)"
        case .malformed, .tooLong: "have the balancer send version 1 or 2 for TCP, without large TLVs"
        case .late, .cut: "check whether the balancer or the network to it is overloaded"
        }
    }
}
