/** Findings about engines, from the heartbeats they send every two seconds. */
import type { Heartbeat } from '../../media/contract/messages.ts'
import { about, type Finding, many, time } from './finding.ts'

const say = about('Engines')
/** Tolerance in ms: engines send a heartbeat every two seconds. */
const BEAT_MS = 5000
const CLOCK_OFF_MS = 60_000

export function judgeEngines(
  { engines, nowMs }: { engines: readonly Heartbeat[]; nowMs: number },
  wantsRooms: boolean,
): Finding[] {
  if (engines.length === 0) {
    return [
      say.error(
        'No engine is running: calls cannot be placed or answered.',
        'Start an engine. If it exits, its log says why.',
      ),
    ]
  }
  const findings = engines.flatMap(engine => judgeEngine(engine, nowMs, wantsRooms))
  const capacity = engines.reduce((sum, engine) => sum + engine.capacity, 0)
  const calls = engines.reduce((sum, engine) => sum + engine.calls, 0)
  if (capacity === 0) {
    const todo = 'Check that the SIP server is running and that its secret matches.'
    return [say.error(`${many(engines.length, 'engine')}, none accepting calls.`, todo), ...findings]
  }
  if (calls >= capacity) {
    const todo = 'Start more engines, or raise ENGINE_CAPACITY if the machine has cores to spare.'
    return [say.warning(`All ${capacity} call slots are in use: new inbound calls are rejected.`, todo), ...findings]
  }
  return [say.ok(`${many(engines.length, 'engine')} with ${many(calls, 'call')} of at most ${capacity}.`), ...findings]
}

function judgeEngine({ engine, at, capacity, calls, stt_ready, rooms }: Heartbeat, nowMs: number, wantsRooms: boolean) {
  const findings: Finding[] = []
  const off = Math.max(0, Math.abs(at - nowMs) - BEAT_MS)
  if (off > 0) {
    const text = `${engine}: its clock is ${time(Math.abs(at - nowMs))} ${at > nowMs ? 'ahead of' : 'behind'} the Redis server’s.`
    const todo = 'Synchronize both clocks with NTP.'
    findings.push(off > CLOCK_OFF_MS ? say.error(text, todo) : say.warning(text, todo))
  }
  if (capacity === 0) {
    const live = calls === 0 ? 'has no calls' : `still has ${many(calls, 'call')}`
    const todo = 'If nobody is stopping it, check the metric parley_signalling_up and the SIP server.'
    findings.push(say.warning(`${engine} accepts no calls and ${live}: it is draining, or has no SIP server.`, todo))
  }
  if (!stt_ready) {
    const todo = 'Check that the speech process is running and has its models.'
    findings.push(
      say.warning(`${engine} has no speech-to-text: projects without another STT provider work by keypad only.`, todo),
    )
  }
  if (wantsRooms && !rooms) {
    const todo = 'Set LIVEKIT_URL for it, or check its log for a failure to load the WebRTC library.'
    findings.push(say.warning(`${engine} cannot join LiveKit rooms.`, todo))
  }
  return findings
}
