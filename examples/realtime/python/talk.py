"""Talks to an agent from Python: says a WAV file, keeps what the agent says, prints the transcript.

    pip install livekit
    python talk.py QUESTION.wav ANSWER.wav

Takes PARLEY_ROOM_URL and PARLEY_ROOM_TOKEN, the `url` and `token` of a session, from the environment; see server.mjs for
how they are made. The WAV file holds 16-bit samples. Talks until the agent was silent for a while, or hung up.
"""

import asyncio
import os
import sys
import time
import wave

from livekit import rtc

RATE = 48_000
FRAME_MS = 20
LOUD = 300
#: How long the agent must be quiet after its answer.
DONE_S = float(os.environ.get("PARLEY_DONE_S", 3))
#: How long an answer, and the greeting before it, may take to begin.
PATIENCE_S, GREETING_S = 30, 5


async def main(question: str, answer: str) -> None:
    room = rtc.Room()
    heard = bytearray()
    over = asyncio.Event()
    last_loud = 0.0
    tasks = set()

    def start(work) -> None:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    @room.on("track_subscribed")
    def _(track, _publication, _participant):
        if track.kind == rtc.TrackKind.KIND_AUDIO:
            start(listen(track))

    @room.on("participant_attributes_changed")
    def _(changed, participant):
        if "lk.agent.state" in changed:
            print(f"({changed['lk.agent.state']})", flush=True)
        for name in ("parley.problem", "parley.ended"):
            if participant == room.local_participant and name in changed:
                print(f"({name}: {changed[name]})", flush=True)

    @room.on("disconnected")
    def _(_reason):
        over.set()

    async def listen(track) -> None:
        nonlocal last_loud
        async for event in rtc.AudioStream(track, sample_rate=RATE, num_channels=1):
            heard.extend(event.frame.data.cast("b"))
            if max(map(abs, event.frame.data)) > LOUD:
                last_loud = time.monotonic()

    async def read(reader, identity: str) -> None:
        """Each text stream holds a segment's whole text as it is known by then; the final one counts."""
        text = await reader.read_all()
        if reader.info.attributes.get("lk.transcription_final") == "true" and text:
            who = "you" if identity == room.local_participant.identity else "agent"
            print(f"{who}: {text}", flush=True)

    room.register_text_stream_handler("lk.transcription", lambda reader, identity: start(read(reader, identity)))
    await room.connect(os.environ["PARLEY_ROOM_URL"], os.environ["PARLEY_ROOM_TOKEN"])
    microphone = rtc.AudioSource(RATE, 1)
    track = rtc.LocalAudioTrack.create_audio_track("microphone", microphone)
    options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
    await room.local_participant.publish_track(track, options)

    # Who answers greets first; it is heard out.
    await quiet(lambda: last_loud, over, GREETING_S)
    await say(microphone, question)
    said_at = time.monotonic()
    await quiet(lambda: last_loud if last_loud > said_at else 0.0, over, PATIENCE_S)
    await room.disconnect()

    with wave.open(answer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(bytes(heard))


async def say(microphone: rtc.AudioSource, path: str) -> None:
    """In real time: the queue of the source takes a second at most."""
    with wave.open(path, "rb") as file:
        resampler = rtc.AudioResampler(file.getframerate(), RATE)
        size = file.getframerate() * FRAME_MS // 1000
        while part := file.readframes(size):
            samples = len(part) // 2 // file.getnchannels()
            mono = bytearray(memoryview(part).cast("h")[:: file.getnchannels()].tobytes())
            for frame in resampler.push(rtc.AudioFrame(mono, file.getframerate(), 1, samples)):
                await microphone.capture_frame(frame)
        for frame in resampler.flush():
            await microphone.capture_frame(frame)
    # Silence is what shows that a sentence has ended.
    silence = RATE * FRAME_MS // 1000
    for _ in range(1500 // FRAME_MS):
        await microphone.capture_frame(rtc.AudioFrame.create(RATE, 1, silence))
    await microphone.wait_for_playout()


async def quiet(last_loud, over: asyncio.Event, patience_s: float) -> None:
    """Until there was sound and then none for a while, or the dialogue is over, or nothing ever came."""
    begin = time.monotonic()
    while not over.is_set():
        now, loud = time.monotonic(), last_loud()
        if now - (loud or begin) > (DONE_S if loud else patience_s):
            return
        try:
            await asyncio.wait_for(over.wait(), 0.05)
        except asyncio.TimeoutError:
            pass


asyncio.run(main(*sys.argv[1:3]))
