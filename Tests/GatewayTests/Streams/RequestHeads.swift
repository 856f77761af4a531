import HTTP

@testable import Gateway

/// The head of a GET of this target, with fields that end with CRLF.
func requestHead(_ target: String, _ fields: String = "", version: String = "HTTP/1.1") throws -> RequestHead {
    var parser = RequestParser()
    let text = "GET \(target) \(version)\r\nHost: h\r\n\(fields)\r\n"
    guard case .head(let head, _) = parser.consume(Array(text.utf8).span) else { throw MalformedHead(text: text) }
    return head
}

struct MalformedHead: Error {
    let text: String
}

/// A list of so many names, each of so many bytes.
func names(_ count: Int, bytes: Int = 2) -> String {
    (0..<count).map { String(repeating: "n", count: bytes - 1) + String(Unicode.Scalar(UInt8(0x61 + $0))) }
        .joined(separator: ",")
}

/// What both addresses refuse, each with the parameter at fault.
let refusedOfBoth: [(query: String, name: String)] = [
    ("since=a&since=a", "since"), ("since=a&since=%", "since"), ("since=&sin%63e=", "since"),
    ("with=", "with"), ("with", "with"), ("with=at,", "with"), ("with=,at", "with"), ("with=at,,ts", "with"),
    ("with=at%2Cx", "with"), ("with=AT", "with"), ("with=at,%20ts", "with"), ("with=%", "with"),
    ("with=%ff", "with"), ("with=at&with=ts", "with"), ("with=at+ts", "with"),
    ("ent=", "ent"), ("ent", "ent"), ("ent=a,", "ent"), ("ent=,", "ent"), ("ent=a,,b", "ent"), ("ent=%FF", "ent"),
    ("ent=a,%C3", "ent"), ("ent=%4", "ent"), ("ent=a&ent=b", "ent"), ("ent=\(names(17))", "ent"),
    ("ent=a,\(names(1, bytes: 65))", "ent"),
]

extension Refusal {
    /// Whether the parameter of this name is what the sentence is about.
    func names(_ parameter: String) -> Bool {
        detail.hasPrefix("\(parameter) ") || detail == "Parameter \(parameter) given more than once."
    }
}
