// Not run by our tests. Kotlin on Android, with io.livekit:livekit-android; ask for RECORD_AUDIO at run time before you call it.
import android.content.Context
import io.livekit.android.LiveKit
import io.livekit.android.room.Room
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.flow.fold
import kotlinx.coroutines.launch

/** `url` and `token` are those of a session that your server made, see server.mjs. */
suspend fun talk(
    context: Context,
    scope: CoroutineScope,
    url: String,
    token: String,
    said: (who: String, text: String) -> Unit,
): Room {
    val room = LiveKit.create(context.applicationContext)
    room.registerTextStreamHandler("lk.transcription") { receiver, identity ->
        scope.launch {
            val text = receiver.flow.fold("") { all, part -> all + part }
            if (receiver.info.attributes["lk.transcription_final"] == "true" && text.isNotEmpty()) {
                said(if (identity == room.localParticipant.identity) "You" else "Agent", text)
            }
        }
    }
    // The agent's sound is played by the SDK as soon as it comes.
    room.connect(url, token)
    room.localParticipant.setMicrophoneEnabled(true)
    return room // `room.disconnect()` hangs up
}
