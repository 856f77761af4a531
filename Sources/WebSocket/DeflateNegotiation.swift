/// The four parameters as an offer or an answer has them (RFC 7692 §7.1), checked for shape.
private struct DeflateTerms {
    var serverNoContextTakeover = false
    var clientNoContextTakeover = false
    var serverWindowBits: Int?
    var clientWindowBits: Int?
    /// `client_max_window_bits` without a value, which only an offer may have.
    var allowsClientWindowBits = false

    /// nil for what an offer is declined and an answer refused for: unknown or doubled names, values where none
    /// belong or outside their range.
    init?(_ element: ExtensionElement, isOffer: Bool) {
        var seen: Set<String> = []
        for parameter in element.parameters {
            guard seen.insert(parameter.name).inserted else { return nil }
            switch (parameter.name, parameter.value) {
            case ("server_no_context_takeover", nil): serverNoContextTakeover = true
            case ("client_no_context_takeover", nil): clientNoContextTakeover = true
            case ("server_max_window_bits", let value?):
                guard let bits = Self.windowBits(value) else { return nil }
                serverWindowBits = bits
            case ("client_max_window_bits", let value?):
                guard let bits = Self.windowBits(value) else { return nil }
                clientWindowBits = bits
                allowsClientWindowBits = true
            case ("client_max_window_bits", nil) where isOffer: allowsClientWindowBits = true
            default: return nil
            }
        }
    }

    /// RFC 7692 §7.1.2: 8 to 15 in decimal, without leading zeros.
    private static func windowBits(_ value: String) -> Int? {
        DeflateParameters.windowBitsRange.first { String($0) == value }
    }
}

/// What a server agrees to.
package struct DeflatePolicy: Sendable, Hashable {
    package var serverContextTakeover: Bool
    package var clientContextTakeover: Bool
    /// The window that the server compresses with; offers that ask for a smaller one than it are declined if the
    /// window is fixed, and followed otherwise.
    package var serverWindowBits: Int
    package var fixesServerWindow: Bool
    /// The largest window that clients may use, where they let the server choose.
    package var clientWindowBits: Int

    package init(
        serverContextTakeover: Bool, clientContextTakeover: Bool, serverWindowBits: Int = 15,
        fixesServerWindow: Bool = false, clientWindowBits: Int = 15
    ) {
        self.serverContextTakeover = serverContextTakeover
        self.clientContextTakeover = clientContextTakeover
        self.serverWindowBits = serverWindowBits
        self.fixesServerWindow = fixesServerWindow
        self.clientWindowBits = clientWindowBits
    }

    /// One compressed form for all connections and no window kept for any: no context takeover either way, and the
    /// smallest window, which fits every offer. A thin event is shorter than it, so nothing is lost.
    package static let shared = DeflatePolicy(
        serverContextTakeover: false, clientContextTakeover: false, serverWindowBits: 8, fixesServerWindow: true)

    /// Whatever the client asks for, as far as it can be given.
    package static let accommodating = DeflatePolicy(serverContextTakeover: true, clientContextTakeover: true)

    /// Takes the first offer that can be agreed to (RFC 7692 §5.1); nil when there is none: no compression then.
    ///
    /// The answer's text is for the response's `Sec-WebSocket-Extensions`.
    package func accept(_ offers: [ExtensionElement]) -> (parameters: DeflateParameters, answer: String)? {
        for offer in offers where offer.name == DeflateParameters.extensionName {
            guard let terms = DeflateTerms(offer, isOffer: true), let agreed = accept(terms) else { continue }
            return agreed
        }
        return nil
    }

    private func accept(_ terms: DeflateTerms) -> (parameters: DeflateParameters, answer: String)? {
        let asked = terms.serverWindowBits ?? 15
        if fixesServerWindow && asked < serverWindowBits { return nil }
        var parameters = DeflateParameters(
            serverContextTakeover: serverContextTakeover && !terms.serverNoContextTakeover,
            clientContextTakeover: clientContextTakeover && !terms.clientNoContextTakeover,
            serverWindowBits: min(asked, serverWindowBits))
        var answer = DeflateParameters.extensionName
        if !parameters.serverContextTakeover { answer += "; server_no_context_takeover" }
        if !parameters.clientContextTakeover { answer += "; client_no_context_takeover" }
        // RFC 7692 §7.1.2: said only to those who asked, since others need not understand it.
        if terms.serverWindowBits != nil { answer += "; server_max_window_bits=\(parameters.serverWindowBits)" }
        if terms.allowsClientWindowBits {
            parameters.clientWindowBits = min(terms.clientWindowBits ?? 15, clientWindowBits)
            if parameters.clientWindowBits < 15 {
                answer += "; client_max_window_bits=\(parameters.clientWindowBits)"
            }
        }
        return (parameters, answer)
    }
}

/// What a client asks for.
package struct DeflateOffer: Sendable, Hashable {
    package var serverNoContextTakeover: Bool
    package var clientNoContextTakeover: Bool
    /// The largest window that the server may use; nil leaves it the choice.
    package var serverWindowBits: Int?
    /// The largest window that the client will use.
    package var clientWindowBits: Int

    package init(
        serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false, serverWindowBits: Int? = nil,
        clientWindowBits: Int = 15
    ) {
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverWindowBits = serverWindowBits
        self.clientWindowBits = clientWindowBits
    }

    /// For the request's `Sec-WebSocket-Extensions`. It always lets the server choose the client's window.
    package var text: String {
        var text = DeflateParameters.extensionName
        if serverNoContextTakeover { text += "; server_no_context_takeover" }
        if clientNoContextTakeover { text += "; client_no_context_takeover" }
        if let serverWindowBits { text += "; server_max_window_bits=\(serverWindowBits)" }
        text += clientWindowBits < 15 ? "; client_max_window_bits=\(clientWindowBits)" : "; client_max_window_bits"
        return text
    }

    /// Reads the server's answer: all that its response chose, where `text` was the whole offer.
    ///
    /// - Returns: the agreed parameters, or nil for an answer that does not fit, for which RFC 7692 §7.1 and RFC 6455
    ///   §4.1 have the client fail the connection.
    package func read(answer: [ExtensionElement]) -> DeflateParameters? {
        guard answer.count == 1, answer[0].name == DeflateParameters.extensionName,
            let terms = DeflateTerms(answer[0], isOffer: false)
        else { return nil }
        // What was asked of the server has to be granted; it may bind itself further.
        if serverNoContextTakeover && !terms.serverNoContextTakeover { return nil }
        if let serverWindowBits {
            guard let given = terms.serverWindowBits, given <= serverWindowBits else { return nil }
        }
        if let given = terms.clientWindowBits, given > clientWindowBits { return nil }
        return DeflateParameters(
            serverContextTakeover: !terms.serverNoContextTakeover,
            clientContextTakeover: !(terms.clientNoContextTakeover || clientNoContextTakeover),
            serverWindowBits: terms.serverWindowBits ?? 15,
            clientWindowBits: terms.clientWindowBits ?? clientWindowBits)
    }
}
