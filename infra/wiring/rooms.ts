/**
 * The embedded LiveKit server of `npm start`. Control and engines receive its address and keys before it runs, because
 * its first build takes minutes and may fail. Nothing waits for it, and SIP calls do not need it.
 */
import type { Config } from '../config/config.ts'
import { buildLiveKit, embeddedKeys, findLiveKit, startLiveKit } from '../embedded/livekit.ts'
import { type HeldPort, holdPort } from '../embedded/ports.ts'

const PORT = 7880

export interface Rooms {
  /** Environment for control and engines. */
  env: Record<string, string>
  /** Starts LiveKit. Resolves to whether it is running; if not, it is being built, or the failure was reported. */
  open(addresses: { control: string; talk: string }): Promise<boolean>
  stop(): Promise<void>
}

interface Options {
  config: Config
  logFile: string
  report(text: string): void
  note(pid: number): void
}

/** Null when another server is configured, or LiveKit is disabled. */
export async function planRooms({ config, logFile, report, note }: Options): Promise<Rooms | null> {
  if (config.LIVEKIT_URL || config.LIVEKIT_EMBEDDED === 'off') return null
  const keys = embeddedKeys(config.secret)
  const held = await holdPort(PORT, { udpToo: true })
  const stopping = new AbortController()
  const closers: (() => Promise<void>)[] = [() => held.release()]
  const start = async (binary: string, control: string) => {
    await closers.shift()!() // releases the port at the last moment
    const webhookUrl = `${control}/livekit/webhook`
    const { child } = await startLiveKit({ binary, port: held.port, ...keys, webhookUrl, logFile, report, note })
    if (stopping.signal.aborted) await child.stop()
    else closers.push(() => child.stop())
  }
  const failed = (error: Error) => {
    report(
      `Couldn’t start LiveKit (${error.message.split('\n')[0]}). Browser sessions are unavailable; SIP calls work.`,
    )
    return false
  }
  const buildAndStart = async (control: string, talk: string) => {
    const result = await buildLiveKit(config.cache, logFile, stopping.signal, { say: report })
    if (stopping.signal.aborted) return
    if (typeof result !== 'string')
      return report(`LiveKit is unavailable (${result.missing}). Browser sessions are unavailable; SIP calls work.`)
    await start(result, control)
    report(`LiveKit is ready. Browser sessions are available, for example at ${talk}`)
  }
  return {
    env: envOf(held, keys),
    async open({ control, talk }) {
      const binary = findLiveKit(config.cache)
      if (binary) return start(binary, control).then(() => true, failed)
      report('Building LiveKit in the background, once (some minutes). Browser sessions need it; SIP calls do not.')
      void buildAndStart(control, talk).catch(failed)
      return false
    },
    async stop() {
      stopping.abort()
      await Promise.all(closers.splice(0).map(close => close()))
    },
  }
}

const envOf = ({ port }: HeldPort, { apiKey, apiSecret }: ReturnType<typeof embeddedKeys>) => ({
  LIVEKIT_URL: `ws://127.0.0.1:${port}`,
  LIVEKIT_API_KEY: apiKey,
  LIVEKIT_API_SECRET: apiSecret,
})
