"""Pipecat as a peer of the conversation's benchmark: Twilio's websocket, and STT, voice and llm that take no time.

Arguments: `shortest` or `stock`. Prints its port as JSON. ws://…/short answers in few words, ws://…/long in many.
"""

import asyncio
import json
import os
import socket
import sys
import threading

import numpy as np
import uvicorn
from fastapi import FastAPI, WebSocket
from loguru import logger
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.audio.vad.vad_analyzer import VADAnalyzer, VADParams
from pipecat.frames.frames import (
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSSpeakFrame,
    VADUserStartedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.serializers.twilio import TwilioFrameSerializer
from pipecat.services.llm_service import LLMService
from pipecat.services.settings import LLMSettings, STTSettings, TTSSettings
from pipecat.services.stt_service import STTService
from pipecat.services.tts_service import TextAggregationMode, TTSService
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport
from pipecat.turns.user_start import VADUserTurnStartStrategy
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.utils.time import time_now_iso8601
from pipecat.workers.runner import WorkerRunner

RATE = 8000
# Milliseconds per character, as in our agent.
LETTER_MS = 60
GREETING = "Hello."
SHORT = "I see."
LONG = "This answer goes on for much longer than anybody who has something to say would ever listen to it."
# Sample level between room noise and the quietest voice.
LOUD = 300
ONSET_S = 0.04
STOP_S = 0.2


class TestStt(STTService):
    """Know all the words before the first of them is over."""

    def __init__(self):
        super().__init__(ttfs_p99_latency=0.0, settings=STTSettings(model=None, language=None))

    async def run_stt(self, audio):
        yield None

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, VADUserStartedSpeakingFrame):
            await self.push_frame(
                TranscriptionFrame("Please tell me more.", "caller", time_now_iso8601(), finalized=True)
            )


class TestLlm(LLMService):
    def __init__(self, text):
        super().__init__(
            settings=LLMSettings(
                model=None,
                system_instruction=None,
                temperature=None,
                max_tokens=None,
                top_p=None,
                top_k=None,
                frequency_penalty=None,
                presence_penalty=None,
                seed=None,
                filter_incomplete_user_turns=False,
                user_turn_completion_config=None,
            )
        )
        self._text = text

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if not isinstance(frame, LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        await self.push_frame(LLMFullResponseStartFrame())
        await self.push_frame(LLMTextFrame(self._text))
        await self.push_frame(LLMFullResponseEndFrame())


class Voice(TTSService):
    def __init__(self, **options):
        super().__init__(
            sample_rate=RATE,
            push_start_frame=True,
            push_stop_frames=True,
            settings=TTSSettings(model=None, voice=None, language=None),
            **options,
        )

    async def run_tts(self, text, context_id):
        samples = np.arange(RATE // 1000 * LETTER_MS * len(text))
        tone = np.where(samples % 8 < 4, 6000, -6000).astype(np.int16)
        for at in range(0, len(tone), RATE // 10):
            yield TTSAudioRawFrame(tone[at : at + RATE // 10].tobytes(), RATE, 1, context_id=context_id)


class Loudness(VADAnalyzer):
    """A detector that takes no time."""

    def num_frames_required(self):
        return self.sample_rate // 50

    def voice_confidence(self, buffer):
        samples = np.frombuffer(buffer, np.int16).astype(np.float32)
        return 1.0 if np.sqrt(np.mean(samples**2)) > LOUD else 0.0


def settings_of(kind):
    """The detector with its strategies, options of the voice, options of the transport."""
    if kind == "stock":
        return LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer()), {}, {}
    detector = Loudness(params=VADParams(confidence=0.5, start_secs=ONSET_S, stop_secs=STOP_S, min_volume=0))
    strategies = UserTurnStrategies(
        start=[VADUserTurnStartStrategy()],
        stop=[SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=0)],
    )
    return (
        LLMUserAggregatorParams(vad_analyzer=detector, user_turn_strategies=strategies),
        {"text_aggregation_mode": TextAggregationMode.TOKEN},
        {"audio_out_10ms_chunks": 2},
    )


async def talk(websocket, kind, length):
    await websocket.receive_text()  # connected
    stream_id = json.loads(await websocket.receive_text())["start"]["streamSid"]
    user, voice, transport_options = settings_of(kind)
    serializer = TwilioFrameSerializer(stream_id, params=TwilioFrameSerializer.InputParams(auto_hang_up=False))
    transport = FastAPIWebsocketTransport(
        websocket,
        FastAPIWebsocketParams(
            audio_in_enabled=True,
            audio_out_enabled=True,
            add_wav_header=False,
            serializer=serializer,
            **transport_options,
        ),
    )
    aggregators = LLMContextAggregatorPair(LLMContext(), user_params=user)
    answer, greeting = (LONG, LONG) if length == "long" else (SHORT, GREETING)
    steps = [transport.input(), TestStt(), aggregators.user(), TestLlm(answer), Voice(**voice)]
    worker = PipelineWorker(
        Pipeline([*steps, transport.output(), aggregators.assistant()]),
        params=PipelineParams(audio_in_sample_rate=RATE, audio_out_sample_rate=RATE),
        idle_timeout_secs=None,
    )

    @transport.event_handler("on_client_connected")
    async def connected(_transport, _client):
        await worker.queue_frames([TTSSpeakFrame(greeting)])

    @transport.event_handler("on_client_disconnected")
    async def disconnected(_transport, _client):
        await worker.cancel()

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()


def end_with_parent():
    """Standard input is the bench's, and ends with it."""
    sys.stdin.buffer.read()
    os._exit(0)


async def main():
    logger.remove()
    logger.add(sys.stderr, level=os.environ.get("PEER_LOG", "ERROR"))
    threading.Thread(target=end_with_parent, daemon=True).start()
    kind = sys.argv[1]
    app = FastAPI()

    @app.websocket("/{length}")
    async def accept(websocket: WebSocket, length: str):
        await websocket.accept()
        await talk(websocket, kind, length)

    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    await server.serve(sockets=[listener])


asyncio.run(main())
