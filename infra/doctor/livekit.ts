/** Findings about LiveKit: whether it answers and accepts our key. */
import { createLiveKit } from '../../control/telephony/realtime/livekit.ts'
import { about, type Finding, failureOf, hostPortOf, inTime, many } from './finding.ts'

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
  return judgeLiveKit({ place: hostPortOf(url, url.startsWith('wss') ? 443 : 80), answer, publicUrl, outside })
}

/** `outside`: why the client address is unreachable from here; null when it is reachable, or the same. */
export function judgeLiveKit(found: {
  place: string
  answer: LiveKitAnswer
  publicUrl: string | undefined
  outside: string | null
}): Finding[] {
  const { place, answer, publicUrl, outside } = found
  const findings: Finding[] = []
  if ('failure' in answer) {
    const todo = 'Start LiveKit, or correct LIVEKIT_URL. Without it SIP calls work, browser sessions do not.'
    findings.push(say.error(`${place}: ${answer.failure}.`, todo))
  } else if ('status' in answer) {
    const refused = answer.status === 401 || answer.status === 403
    const todo = refused
      ? 'Set LIVEKIT_API_KEY and LIVEKIT_API_SECRET to the values in LiveKit’s configuration, and synchronize both clocks with NTP.'
      : 'Check LIVEKIT_URL, another service may answer there, and LiveKit’s log.'
    findings.push(
      say.error(`${place} ${refused ? 'rejects our API key' : `answered with status ${answer.status}`}.`, todo),
    )
  } else findings.push(say.ok(`${place} answers and accepts our API key; ${many(answer.rooms, 'open room')}.`))
  if (outside !== null && publicUrl !== undefined) {
    const todo =
      'Check that LIVEKIT_PUBLIC_URL leads to LiveKit with a valid certificate. Some networks cannot reach their own public address.'
    findings.push(
      say.warning(`The client address ${hostPortOf(publicUrl, 443)} is not reachable from here: ${outside}.`, todo),
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
