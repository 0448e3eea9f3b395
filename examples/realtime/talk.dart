// Not run by our tests. Flutter, with the package livekit_client; declare the microphone in Info.plist and the manifest.
import 'package:livekit_client/livekit_client.dart';

/// `url` and `token` are those of a session that your server made, see server.mjs.
Future<Room> talk(String url, String token, void Function(String who, String text) said) async {
  final room = Room();
  room.registerTextStreamHandler('lk.transcription', (TextStreamReader reader, String identity) async {
    final text = await reader.readAll();
    if (reader.info?.attributes['lk.transcription_final'] != 'true' || text.isEmpty) return;
    said(identity == room.localParticipant?.identity ? 'You' : 'Agent', text);
  });
  // The agent's sound is played by the SDK as soon as it comes.
  await room.connect(url, token);
  await room.localParticipant?.setMicrophoneEnabled(true);
  return room; // `await room.disconnect()` hangs up
}
