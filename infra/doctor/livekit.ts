/** LiveKit: reached, and whether it takes our key. */
import { createLiveKit } from '../../control/telephony/realtime/livekit.ts'
import { about, type Finding, failureOf, inTime, many, placeOf } from './finding.ts'

const say = about('LiveKit')

export interface LiveKitOptions {
  url: string
  publicUrl: string | undefined
  apiKey: string
  apiSecret: string
  prefix: string
}

export type LiveKitAnswer = { rooms: number } | { status: number } | { failure: string }

export async function examineLiveKit(options: LiveKitOptions): Promise<Finding[]> {
  const { url, publicUrl } = options
  const [answer, outside] = await Promise.all([
    ask(options),
    publicUrl === undefined || publicUrl === url ? null : reach(publicUrl),
  ])
  return judgeLiveKit({ place: placeOf(url, url.startsWith('wss') ? 443 : 80), answer, publicUrl, outside })
}

/** `outside`: why the address for clients is not reached from here; null: it is, or is the same. */
export function judgeLiveKit(found: {
  place: string
  answer: LiveKitAnswer
  publicUrl: string | undefined
  outside: string | null
}): Finding[] {
  const { place, answer, publicUrl, outside } = found
  const findings: Finding[] = []
  if ('failure' in answer) {
    const todo = 'Start it, or look at LIVEKIT_URL. Calls over SIP work without it, sessions in browsers do not.'
    findings.push(say.bad(`${place}: ${answer.failure}.`, todo))
  } else if ('status' in answer) {
    const refused = answer.status === 401 || answer.status === 403
    const todo = refused
      ? 'Give control the LIVEKIT_API_KEY and LIVEKIT_API_SECRET that stand in its configuration, and set both clocks by NTP.'
      : 'Look at LIVEKIT_URL: something else answers there; or at the log of LiveKit.'
    findings.push(say.bad(`${place} ${refused ? 'refuses our key' : `answers with status ${answer.status}`}.`, todo))
  } else findings.push(say.ok(`${place} answers and takes our key; ${many(answer.rooms, 'room')} of ours open.`))
  if (outside !== null && publicUrl !== undefined) {
    const todo =
      'See that LIVEKIT_PUBLIC_URL leads to LiveKit, with a certificate. Some networks cannot reach themselves so.'
    findings.push(
      say.warn(`What clients are told, ${placeOf(publicUrl, 443)}, is not reached from here: ${outside}.`, todo),
    )
  }
  return findings
}

async function ask({ url, publicUrl, ...keys }: LiveKitOptions): Promise<LiveKitAnswer> {
  try {
    const livekit = createLiveKit({ url, publicUrl: publicUrl ?? url, ...keys })
    return { rooms: (await inTime(livekit.rooms(), 8000)).length }
  } catch (error) {
    const cause = (error as { cause?: { status?: unknown } }).cause
    if (typeof cause?.status === 'number') return { status: cause.status }
    return { failure: failureOf(cause ?? error) }
  }
}

async function reach(url: string): Promise<string | null> {
  try {
    await fetch(url.replace(/^ws/, 'http'), { signal: AbortSignal.timeout(4000) })
    return null
  } catch (error) {
    return failureOf(error)
  }
}
