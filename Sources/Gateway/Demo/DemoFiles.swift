import DemoPage
import HTTP
import Reactor

/// The demo's page and the JavaScript module that it needs, from the binary: no folder is needed.
struct DemoFiles: Sendable {
    private struct File: Sendable {
        let contentType: String
        let bytes: [UInt8]
    }

    private let files: [String: File]

    init() {
        var files: [String: File] = [:]
        for index in 0..<demo_file_count() {
            let file = unsafe demo_file_at(index)
            // Constants of the binary, with the length that they state.
            let path = unsafe String(cString: file.path)
            let bytes = unsafe Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
            files[path] = File(contentType: Self.contentType(path), bytes: bytes)
        }
        self.files = files
    }

    var paths: [String] { files.keys.sorted() }

    /// The file at the request's path, or nil.
    func answer(_ request: AdminRequest, gateway: SocketAddress) -> AdminAnswer? {
        files[request.head.path].map { file in
            AdminAnswer.tagged(
                file.bytes, file.contentType, for: request, caching: "no-cache",
                fields: [
                    ("Content-Security-Policy", Self.policy(gateway)), ("Referrer-Policy", "no-referrer"),
                    ("X-Frame-Options", "DENY"),
                ])
        }
    }

    private static func contentType(_ path: String) -> String {
        switch path.split(separator: ".").last {
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "text/html; charset=utf-8"
        }
    }

    /// What the page may load and which servers it may ask: files of this address, and the gateway. No script within the page
    /// itself runs, whatever got into it.
    private static func policy(_ gateway: SocketAddress) -> String {
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            + "connect-src 'self' http://\(gateway) ws://\(gateway); "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }
}
