import Testing

@testable import GatewaySettings

struct BoundedFileTests {
    @Test(arguments: [
        ("/nonexistent/key.pem", "No such file or directory"), ("/", "Is a directory"),
        ("/dev/zero", "larger than the limit of 1048576 bytes"),
    ])
    func `a file that is not there, is a folder or has no end is unreadable`(_ path: String, _ reason: String) {
        #expect(throws: BoundedFile.Unreadable(path: path, reason: reason)) {
            try BoundedFile.read(path, maximumBytes: 1 << 20)
        }
    }
}
