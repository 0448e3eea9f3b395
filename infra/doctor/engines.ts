/** The engines, by what they say of themselves every two seconds. */
import type { Heartbeat } from '../../media/contract/messages.ts'
import { about, type Finding, many, time } from './finding.ts'

const say = about('Engines')
/** They beat every two seconds. */
const BEAT_MS = 5000
const CLOCK_OFF_MS = 60_000

export function judgeEngines(
  { engines, nowMs }: { engines: readonly Heartbeat[]; nowMs: number },
  wantsRooms: boolean,
): Finding[] {
  if (engines.length === 0) {
    return [say.bad('None is alive: no call can be placed or taken.', 'Start one; its log says why it ends.')]
  }
  const findings = engines.flatMap(engine => judgeEngine(engine, nowMs, wantsRooms))
  const capacity = engines.reduce((sum, engine) => sum + engine.capacity, 0)
  const calls = engines.reduce((sum, engine) => sum + engine.calls, 0)
  if (capacity === 0) {
    const todo = 'An engine that is not being stopped needs the SIP server: see that it runs and knows its secret.'
    return [say.bad(`${many(engines.length, 'engine')}, and none takes calls.`, todo), ...findings]
  }
  if (calls >= capacity) {
    const todo = 'Start more engines, or raise ENGINE_CAPACITY if the machine has cores to spare.'
    return [say.warn(`All ${capacity} places are taken: calls that come in are refused.`, todo), ...findings]
  }
  return [
    say.ok(`${many(engines.length, 'engine')} with ${many(calls, 'call')}, for ${capacity} at most.`),
    ...findings,
  ]
}

function judgeEngine({ engine, at, capacity, calls, hears, rooms }: Heartbeat, nowMs: number, wantsRooms: boolean) {
  const findings: Finding[] = []
  const off = Math.max(0, Math.abs(at - nowMs) - BEAT_MS)
  if (off > 0) {
    const text = `${engine}: its clock is ${time(Math.abs(at - nowMs))} ${at > nowMs ? 'ahead of' : 'behind'} that of Redis.`
    const todo = 'Let NTP set both clocks.'
    findings.push(off > CLOCK_OFF_MS ? say.bad(text, todo) : say.warn(text, todo))
  }
  if (capacity === 0) {
    const live = calls === 0 ? 'has no call any more' : `still has ${many(calls, 'call')}`
    const todo = 'If nobody stops it, look at parley_signalling_up and at the SIP server.'
    findings.push(say.warn(`${engine} takes no calls, and ${live}: it is leaving, or has no SIP server.`, todo))
  }
  if (!hears) {
    const todo = 'See that the speech process runs, and has its models.'
    findings.push(say.warn(`${engine} cannot hear: projects that name no other ears are answered by keys alone.`, todo))
  }
  if (wantsRooms && !rooms) {
    const todo = 'Its log says why its WebRTC library could not be loaded, or give it LIVEKIT_URL.'
    findings.push(say.warn(`${engine} cannot sit in LiveKit rooms.`, todo))
  }
  return findings
}
