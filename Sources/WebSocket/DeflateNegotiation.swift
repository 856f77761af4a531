/// The four parameters in the form of an offer or an answer (RFC 7692 §7.1), checked for syntax.
private struct DeflateTerms {
    var serverNoContextTakeover = false
    var clientNoContextTakeover = false
    var serverWindowBits: Int?
    var clientWindowBits: Int?
    /// `client_max_window_bits` without a value, which is allowed only in an offer.
    var allowsClientWindowBits = false

    /// Nil where an offer is declined or an answer refused: unknown or duplicate names, values that are not allowed or are
    /// outside their range.
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

/// The parameters that a server agrees to.
package struct DeflatePolicy: Sendable, Hashable {
    package var serverContextTakeover: Bool
    package var clientContextTakeover: Bool
    /// The window that the server compresses with. If the window is fixed, offers that ask for a smaller one are declined;
    /// otherwise the server follows them.
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

    /// One compressed form for all connections, and no stored window: no context takeover in either direction, and the smallest
    /// window, which fits every offer. A thin event is shorter than this window, so nothing is lost.
    package static let shared = DeflatePolicy(
        serverContextTakeover: false, clientContextTakeover: false, serverWindowBits: 8, fixesServerWindow: true)

    /// Everything that the client asks for, as far as possible.
    package static let accommodating = DeflatePolicy(serverContextTakeover: true, clientContextTakeover: true)

    /// Accepts the first offer that the policy allows (RFC 7692 §5.1). Nil when there is none: then nothing is compressed.
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
        // RFC 7692 §7.1.2: sent only to clients that asked for it, since others need not understand it.
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

/// The parameters that a client asks for.
package struct DeflateOffer: Sendable, Hashable {
    package var serverNoContextTakeover: Bool
    package var clientNoContextTakeover: Bool
    /// The largest window that the server may use; nil lets the server choose.
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

    /// Reads the server's answer: all extensions that its response chose, where `text` was the whole offer.
    ///
    /// - Returns: the agreed parameters. Nil for an answer that does not fit the offer; then RFC 7692 §7.1 and RFC 6455 §4.1
    ///   require the client to fail the connection.
    package func read(answer: [ExtensionElement]) -> DeflateParameters? {
        guard answer.count == 1, answer[0].name == DeflateParameters.extensionName,
            let terms = DeflateTerms(answer[0], isOffer: false)
        else { return nil }
        // The server must grant what it was asked for. It may add further restrictions on itself.
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
