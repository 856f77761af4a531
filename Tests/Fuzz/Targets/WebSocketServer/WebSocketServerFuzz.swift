import FuzzSupport
import WebSocket

@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    checkReceiver(unsafe fuzzInput(start, count), role: .server)
    return 0
}
