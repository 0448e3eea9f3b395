/** Plays a scenario's caller on a phone: waits as people do, speaks, interrupts, presses keys, hangs up. */
import type { Phone } from './phone.ts'
import type { CallerStep } from './scenario.ts'

/** Milliseconds of silence after which the agent has finished: longer than its pauses. */
const QUIET_MS = 900
/** Packets of audio before the agent counts as having spoken. */
const SPOKE_PACKETS = 10
/** Milliseconds after which a person speaks, whether it was their turn or not. */
const PATIENCE_MS = 20_000
const AGENT_AT_MOST_MS = 60_000
/** Milliseconds after the caller's last step in which the agent may still say goodbye. */
const LAST_WORDS_MS = 15_000
const SPEAKING_MS = 250

export interface Said {
  words: string
  fromMs: number
  toMs: number
  /**
   * `over`: speech that should stop the agent; `aside`: speech during which the agent should go on; `keys`: not spoken.
   */
  kind: 'turn' | 'over' | 'aside' | 'keys'
}

export interface CallerOptions {
  phone: Phone
  steps: readonly CallerStep[]
  sounds: ReadonlyMap<CallerStep, Int16Array>
  /** True when the agent is waiting for a tool; the caller does not speak meanwhile. */
  tools: { waiting(): boolean; settled(): number }
}

export async function playCaller(options: CallerOptions): Promise<Said[]> {
  const { phone, steps } = options
  const said: Said[] = []
  for (const step of steps) {
    if (phone.over) break
    const sinceMs = said.at(-1)?.toMs ?? phone.answered.atMs
    if ('barge_in' in step) await talkOver(options, step, sinceMs, said)
    else if ('say' in step) {
      await agentFinished(options, sinceMs)
      await speak(options, step, said, 'turn')
    } else if ('press' in step) {
      await agentFinished(options, sinceMs)
      await phone.press(step.press)
      // Whatever the agent says from now on answers these keys.
      said.push({ words: step.press, fromMs: phone.clock.now(), toMs: phone.clock.now(), kind: 'keys' })
    } else if ('silence_ms' in step) await phone.until(() => false, step.silence_ms)
    else await phone.hangUp()
  }
  await phone.until(() => false, LAST_WORDS_MS)
  return said
}

async function speak({ phone, sounds }: CallerOptions, step: CallerStep, said: Said[], kind: Said['kind']) {
  const { say } = 'barge_in' in step ? step.barge_in : (step as { say: string })
  const entry: Said = { words: say, fromMs: phone.clock.now(), toMs: phone.clock.now(), kind }
  said.push(entry)
  Object.assign(entry, await phone.say(sounds.get(step)!))
}

async function agentFinished({ phone, tools }: CallerOptions, sinceMs: number): Promise<void> {
  let fromMs = sinceMs
  let settled = tools.settled()
  await phone.until(() => {
    const nowMs = phone.clock.now()
    if (tools.settled() !== settled) {
      settled = tools.settled()
      fromMs = nowMs
    }
    if (tools.waiting()) return false
    const spoken = countSince(phone.heard, fromMs)
    const quietMs = nowMs - Math.max(fromMs, phone.heard.at(-1) ?? 0)
    return (spoken >= SPOKE_PACKETS && quietMs >= QUIET_MS) || (spoken < SPOKE_PACKETS && quietMs >= PATIENCE_MS)
  }, AGENT_AT_MOST_MS)
}

async function talkOver(
  options: CallerOptions,
  step: Extract<CallerStep, { barge_in: unknown }>,
  sinceMs: number,
  said: Said[],
): Promise<void> {
  const { phone } = options
  const { after_ms, stops } = step.barge_in
  const begun = () => phone.heard.find(atMs => atMs > sinceMs)
  await phone.until(() => phone.clock.now() - (begun() ?? phone.clock.now()) >= after_ms, PATIENCE_MS)
  if (phone.over) return
  const speaking = phone.clock.now() - (phone.heard.at(-1) ?? 0) < SPEAKING_MS
  await speak(options, step, said, !stops ? 'aside' : speaking ? 'over' : 'turn')
}

function countSince(times: readonly number[], sinceMs: number): number {
  let count = 0
  for (let i = times.length - 1; i >= 0 && times[i]! > sinceMs; i--) count++
  return count
}
