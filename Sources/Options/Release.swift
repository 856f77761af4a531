/// What `--version` and the manual pages say about this release.
package enum Release {
    package static let version = "0.1.0"
}
