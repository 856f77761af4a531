import HTTP
import LiveClient
import Reactor
import TLS
import Transport
import WebSocket

extension ClientConnection: TransportOwner {
    package func transportOpened() {
        do throws(RequestFault) {
            switch phase {
            case .askingProxy: transport?.write(try settings.proxy?.request(to: settings.authority) ?? [])
            case .shakingHands(let handshake): transport?.write(try handshake.request())
            case .new, .connecting, .open, .streaming, .ended: break
            }
        } catch {
            end(.notConnected(.badRequest(error)))
        }
    }

    package func transportReceived(_ bytes: Span<UInt8>) {
        guard ending == nil else { return }
        switch phase {
        case .askingProxy(let parser): receiveProxy(parser, bytes)
        case .shakingHands(let handshake): receiveHandshake(handshake, bytes)
        case .open: receiveFrames(bytes)
        case .streaming(let reading): receiveEvents(reading, bytes)
        case .new, .connecting, .ended: break
        }
    }

    /// RFC 9110 §9.3.6: any 2xx means that the server's bytes follow the header.
    private func receiveProxy(_ parser: ResponseParser, _ bytes: Span<UInt8>) {
        var parser = parser
        switch parser.consume(bytes) {
        case .needMore: phase = .askingProxy(parser)
        case .failed(let fault): end(.notConnected(.proxyFault(fault)))
        case .head(let head, let consumed):
            guard (200..<300).contains(head.status) else {
                let reason = String(decoding: head.reason, as: UTF8.self)
                return end(.notConnected(.proxyRefused(status: head.status, reason: reason)))
            }
            // No request was sent to the server yet, so what follows comes from the proxy.
            guard consumed == bytes.count else { return end(.notConnected(.proxyFault(.notHTTP))) }
            beginBehindProxy()
        }
    }

    private func beginBehindProxy() {
        phase = .shakingHands(settings.handshake())
        guard settings.url.isSecure else { return transportOpened() }
        do throws(TLSError) {
            try transport?.secure(settings.serverSecurity)
        } catch {
            end(.notConnected(.tls(error.description)))
        }
    }

    private func receiveHandshake(_ handshake: OpeningHandshake, _ bytes: Span<UInt8>) {
        var handshake = handshake
        let progress = handshake.receive(bytes)
        phase = .shakingHands(handshake)
        switch progress {
        case .needMore: break
        case .refused(let answer): end(.refused(answer), afterFlush: true)
        case .answered(let answer): end(.answered(answer), afterFlush: true)
        case .stream(let opening, let framing, let consumed):
            openStream(opening, framing)
            if ending == nil, case .streaming(let reading) = phase {
                receiveEvents(reading, bytes.extracting(consumed..<bytes.count))
            }
        case .failed(let failure): end(.notConnected(failure), afterFlush: true)
        case .open(let opening, let consumed):
            open(opening)
            if consumed < bytes.count { receiveFrames(bytes.extracting(consumed..<bytes.count)) }
        }
    }

    package func transportDrained() {
        guard case .open = phase, ending == nil else { return }
        writeOutput()
        owner?.connectionDrained()
    }

    package func transportEnded(_ end: TransportEnd) {
        finish(ending(by: end))
    }

    /// The ending that the end of the transport means, if none was decided before.
    private func ending(by end: TransportEnd) -> ConnectionEnding {
        let failure: ConnectFailure
        switch end {
        case .tls(let tls):
            if isEstablished { return cut(tls.description) }
            failure = .tls(tls.description)
        case .stream(let stream):
            if isEstablished { return cut(stream.explanation) }
            failure = .cut(stream.explanation)
        }
        // A body without a length ends with the connection.
        guard case .shakingHands(var handshake) = phase else { return .notConnected(failure) }
        switch handshake.end() {
        case .answered(let answer): return .answered(answer)
        default: return refusal(handshake) ?? .notConnected(failure)
        }
    }

    private var isEstablished: Bool {
        switch phase {
        case .open, .streaming: true
        default: false
        }
    }

    /// An event stream that sent `bye` ends with the code of that message.
    private func cut(_ how: String) -> ConnectionEnding {
        if case .streaming(let reading) = phase, let goodbye = reading.goodbye { return goodbye }
        return .cut(how)
    }
}

extension ConnectionSettings {
    /// `host:port` of the server, always with its port, as `CONNECT` asks for it.
    var authority: String {
        guard case .host(let name, let port) = url.destination else { return url.host }
        return (name.utf8.contains(UInt8(ascii: ":")) ? "[\(name)]" : name) + ":\(port)"
    }
}

extension StreamEnd {
    /// As text for people, who need to know which side closed.
    var explanation: String {
        switch self {
        case .peerClosed, .closed: "the server closed the connection"
        case .aborted, .lingerExpired: "the connection was dropped"
        case .failed(let failure): failure.description
        case .loopStopped: "the program stops"
        }
    }
}
