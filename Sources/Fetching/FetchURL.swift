import CCurl

/// Which addresses are allowed: https, and http where nothing leaves the machine.
package enum FetchURL {
    /// What is wrong with the text, as the end of a sentence that begins with the text. Nil when the address is allowed.
    ///
    /// libcurl's own parser reads it, so that the checked address is the one that is connected to.
    package static func problem(_ text: String) -> String? {
        guard let url = unsafe curl_url() else { return "cannot be read: no memory" }
        defer { unsafe curl_url_cleanup(url) }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            unsafe curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK,
            let host = unsafe part(CURLUPART_HOST, of: url)
        else { return "is not a URL: https://id.example.com/keys is expected" }
        if unsafe part(CURLUPART_USER, of: url) != nil || part(CURLUPART_PASSWORD, of: url) != nil {
            return "contains a user name or a password, which is not allowed in a URL"
        }
        switch unsafe part(CURLUPART_SCHEME, of: url) {
        case "https": return nil
        case "http":
            if isLoopback(host) { return nil }
            return "is http: only https is asked, and http on this machine (localhost, 127.0.0.1, [::1])"
        default: return "is neither https nor http"
        }
    }

    private static func part(_ part: CURLUPart, of url: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(url, part, &text, 0) == CURLUE_OK, let text = unsafe text else { return nil }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }

    /// libcurl connects `localhost` to the machine itself, whatever address a name server returns.
    private static func isLoopback(_ host: String) -> Bool {
        if host.lowercased() == "localhost" || host == "[::1]" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
    }
}
