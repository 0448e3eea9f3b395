// Not run by our tests. Swift, with https://github.com/livekit/client-sdk-swift; needs NSMicrophoneUsageDescription.
import LiveKit

/// `url` and `token` are those of a session that your server made, see server.mjs.
func talk(url: String, token: String, said: @escaping @Sendable (_ who: String, _ text: String) -> Void) async throws -> Room {
    let room = Room()
    try await room.registerTextStreamHandler(for: "lk.transcription") { reader, identity in
        let text = try await reader.readAll()
        guard reader.info.attributes["lk.transcription_final"] == "true", !text.isEmpty else { return }
        said(identity == room.localParticipant.identity ? "You" : "Agent", text)
    }
    // The agent's sound is played by the SDK as soon as it comes.
    try await room.connect(url: url, token: token)
    try await room.localParticipant.setMicrophone(enabled: true)
    return room // `await room.disconnect()` hangs up
}
