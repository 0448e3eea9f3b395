// Not run by our tests. Unity, with https://github.com/livekit/client-sdk-unity (for WebGL: client-sdk-unity-web).
using System.Collections;
using LiveKit;
using LiveKit.Proto;
using UnityEngine;

public class Talk : MonoBehaviour
{
    // `url` and `token` of a session that your server made, see server.mjs.
    public string url;
    public string token;

    private Room room;
    private MicrophoneSource microphone;

    private IEnumerator Start()
    {
        yield return Application.RequestUserAuthorization(UserAuthorization.Microphone);
        room = new Room();
        room.TrackSubscribed += (track, publication, participant) =>
        {
            if (track is RemoteAudioTrack sound) new AudioStream(sound, gameObject.AddComponent<AudioSource>());
        };
        room.RegisterTextStreamHandler("lk.transcription", (reader, identity) => StartCoroutine(Read(reader, identity)));

        var connect = room.Connect(url, token);
        yield return connect;
        if (connect.IsError) yield break;

        microphone = new MicrophoneSource(Microphone.devices[0], new GameObject("microphone"));
        var track = LocalAudioTrack.CreateAudioTrack("microphone", microphone, room);
        var options = new TrackPublishOptions { Source = TrackSource.SourceMicrophone };
        yield return room.LocalParticipant.PublishTrack(track, options);
        microphone.Start();
    }

    private IEnumerator Read(TextStreamReader reader, string identity)
    {
        var all = reader.ReadAll();
        yield return all;
        if (!reader.Info.Attributes.TryGetValue("lk.transcription_final", out var final) || final != "true") yield break;
        Debug.Log($"{(identity == room.LocalParticipant.Identity ? "You" : "Agent")}: {all.Text}");
    }

    private void OnDestroy()
    {
        microphone?.Stop();
        room?.Disconnect();
    }
}
