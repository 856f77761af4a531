import Testing
import Tokens

@testable import GatewaySettings

@Suite struct TicketSecretFileTests {
    static let long = String(repeating: "s", count: 32)
    static let short = String(repeating: "s", count: 31)

    static let rows: [(text: String, fault: TicketSecretFile.Fault?)] = [
        (long, nil), ("\(long)\n", nil), ("\(long)\r\n\r\n", nil), ("\n\n\(long)  \n\(long)x\n", nil),
        (Array(repeating: long, count: 16).joined(separator: "\n"), nil),
        (Array(repeating: long, count: 17).joined(separator: "\n"), .tooMany(17)),
        ("", .empty), ("\n\r\n \n", .empty), (short, .tooShort(line: 1)), ("\(short) \n", .tooShort(line: 1)),
        ("\(long)\n\n\(short)", .tooShort(line: 3)),
    ]

    @Test(arguments: rows)
    func `a line is a secret of 32 bytes or more`(_ text: String, _ fault: TicketSecretFile.Fault?) {
        switch TicketSecretFile.read(Array(text.utf8)) {
        case .success: #expect(fault == nil)
        case .failure(let found): #expect(found == fault && !"\(found)".contains(Self.short))
        }
    }

    @Test func `a file that is not there is named`() {
        let (seal, problem) = TicketSecretFile.load("/nonexistent/secret")
        #expect(seal == nil && problem == "cannot read the file that is named here: No such file or directory")
    }
}
