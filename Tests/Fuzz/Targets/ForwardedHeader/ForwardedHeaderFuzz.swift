import Balancer
import FuzzSupport

private let trusted = TrustedNetworks(["10.0.0.0/8", "fd00::/8"].compactMap { try? Network($0) })

/// Each line of the input is the value of a field.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let fields = unsafe fuzzInput(start, count).split(separator: 0x0A, omittingEmptySubsequences: false)
    for header in ForwardedHeader.allCases {
        if let client = header.client(in: fields, trusted: trusted) {
            require(ClientAddress(client.description) == client, "a client has an address, and that one text")
        }
        // What a balancer adds is what counts, in a field of its own or at the end of the last.
        let added = Array((header == .forwarded ? "for=\"[2001:db8::7]:1\";proto=https" : "[2001:db8::7]:1").utf8)
        let expected = ClientAddress("2001:db8::7")
        require(header.client(in: fields + [added[...]], trusted: trusted) == expected, "a field that is added counts")
        guard let last = fields.last else { continue }
        let longer = fields.dropLast() + [(last + Array(", ".utf8) + added)[...]]
        require(header.client(in: Array(longer), trusted: trusted) == expected, "an element that is added counts")
    }
    for field in fields where field.count < 64 {
        guard let network = try? Network(String(decoding: field, as: UTF8.self)) else { continue }
        require((try? Network(network.description)) == network, "a network has one text")
    }
    return 0
}
