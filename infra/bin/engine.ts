/**
 * An engine process: handles SIP calls and runs their conversations. Run one per core; engines share nothing but the
 * bus.
 */

import { join } from 'node:path'
import { loadOpus } from '../../media/audio/opus.ts'
import { createEngineBus } from '../../media/bus/engine-bus.ts'
import { type CallManager, openCallManager, REJECTED_REASONS } from '../../media/call/call-manager.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { createSpeechClient } from '../../media/models/speech/client.ts'
import type { InboundOffer } from '../../media/ports/inbound.ts'
import type { Rooms } from '../../media/ports/rooms.ts'
import { createRecorder, type RecorderOptions } from '../../media/recording/recorder.ts'
import { dtlsIdentity } from '../../media/rtp/dtls-crypto.ts'
import { createPacer, type Pacer } from '../../media/rtp/pacer.ts'
import { openRtp } from '../../media/rtp/session.ts'
import type { Clock } from '../../media/shared/clock.ts'
import type { Log } from '../../media/shared/log.ts'
import { selfSigned } from '../../sip/server/self-signed.ts'
import { type EdgeOptions, needsOwner, openEdge, type TrunkStatus } from '../../sip/trunk/edge.ts'
import { writeAllowedSources } from '../adapters/allowed-sources.ts'
import { createBlobs, spoolFolder } from '../adapters/blobs.ts'
import { systemClock } from '../adapters/clock.ts'
import { openEgress } from '../adapters/egress.ts'
import { openEventOutbox } from '../adapters/event-outbox.ts'
import { createLog } from '../adapters/log.ts'
import { openMetrics } from '../adapters/metrics.ts'
import { keepOpenCalls } from '../adapters/open-calls.ts'
import { goFirst } from '../adapters/priority.ts'
import { createReplayLog } from '../adapters/replay-log.ts'
import { createSafeFetch } from '../adapters/safe-fetch.ts'
import { openTracing } from '../adapters/tracing.ts'
import { type Config, readConfig } from '../config/config.ts'
import { createProviders } from '../models/providers.ts'
import { openRedis, required } from '../wiring/parts.ts'
import { ownAddressesOf, reachOf, sourcesOf } from '../wiring/reach.ts'
import { runUntilStopped } from './run-until-stopped.ts'

const READY_MS = 15_000
const GRACE_MS = 8000

await runUntilStopped('engine', async hurry => {
  const base = await openBase(readConfig())
  const media = openMedia(base)
  // The call manager opens last, because it accepts calls at once; the edge rejects offers until then.
  const calls: Calls = { manager: null }
  const signalling = await openSignalling(base, calls)
  await answering(Promise.all([media.speech.ready, until(() => signalling.edge.isUp())]))
  showGauges(base, calls, signalling)
  const manager = await openCalls(base, media, signalling)
  calls.manager = manager
  const drainMs = base.config.ENGINE_DRAIN_SECONDS * 1000
  return {
    ready: { engine: base.config.ENGINE_NAME, sttReady: media.speech.sttReady(), metrics: base.counted.port },
    drainMs,
    async stop() {
      if (drainMs > 0) await manager.drain(drainMs, hurry)
      await manager.close(GRACE_MS)
      await media.recorder.close()
      await signalling.close()
      media.speech.close()
      await base.close()
    },
  }
})

type Base = Awaited<ReturnType<typeof openBase>>
type Media = ReturnType<typeof openMedia>
type Signalling = Awaited<ReturnType<typeof openSignalling>>
interface Calls {
  manager: CallManager | null
}

/** Opens the parts that all others use: log, bus, metrics, traces. */
async function openBase(config: Config) {
  const engine = config.ENGINE_NAME
  const log = createLog('engine', config.PARLEY_LOG_LEVEL)
  const clock = systemClock
  const redis = openRedis(required(config.REDIS_URL, 'REDIS_URL'), log)
  const sealer = createSealer(config.secret)
  const outbox = openEventOutbox(join(spoolFolder(config), 'events'), clock.wall(), log)
  const bus = createEngineBus({ redis, sealer, engine, clock, log, outbox, prefix: config.REDIS_PREFIX })
  await bus.recover()
  const counted = await openMetrics(config)
  const own = ownAddressesOf(config)
  const mayReach = reachOf(config, own)
  const egress = openEgress({ mayReach, metrics: counted.metrics, clock, log, redis, prefix: config.REDIS_PREFIX })
  const spans = await openTracing(config, { name: 'engine', instance: engine, clock, log })
  return {
    config,
    log,
    clock,
    sealer,
    bus,
    counted,
    spans,
    own,
    mayReach,
    guarded: { own, egress: egress.guard },
    pacer: createPacer(clock),
    async close() {
      egress.close()
      await bus.close()
      redis.disconnect()
      await Promise.all([counted.close(), spans.close()])
    },
  }
}

/** Opens offline speech and recordings. */
function openMedia({ config, clock, log, bus }: Base) {
  const speech = createSpeechClient({ host: config.SPEECH_HOST, port: config.SPEECH_PORT ?? 9040, clock, log })
  const onReady: RecorderOptions['onReady'] = ready => bus.emitRecordingReady(ready)
  const recorder = createRecorder({ spool: spoolFolder(config), blobs: createBlobs(config), clock, log, onReady })
  void recorder.recover()
  // Loaded before the first Opus call, which would otherwise lose its first audio.
  loadOpus().catch(error => log.error({ err: error }, 'loading Opus failed'))
  return { speech, recorder }
}

/**
 * Opens leases, then the edge. The edge registers the trunks that this engine holds a lease of, and syncs its registrations when
 * the leases change; until it is open there is nothing to sync.
 */
async function openSignalling(base: Base, calls: Calls) {
  const { config, clock, log, bus, counted, own, mayReach } = base
  const directory = await bus.trunks()
  const softphones = config.SOFTPHONES === 'on' ? await bus.softphones() : null
  const openCalls = await keepOpenCalls(join(spoolFolder(config), 'calls'), log)
  const wanted = () =>
    directory
      .all()
      .filter(needsOwner)
      .map(({ id }) => id)
  let syncRegistrations = () => {}
  const leases = bus.trunkLeases({ wanted, onChange: () => syncRegistrations() })
  const edge = openEdge({
    host: required(config.DRACHTIO_HOST, 'DRACHTIO_HOST'),
    port: config.DRACHTIO_PORT,
    secret: config.DRACHTIO_SECRET ?? 'cymru',
    directory,
    ...(softphones === null ? {} : { softphones: { directory: softphones, secret: config.secret } }),
    media: rtpMedia(base),
    clock,
    log,
    listening: false,
    onState: () => calls.manager?.reconcile(),
    onOffer: (offer: InboundOffer) => (calls.manager ? calls.manager.offer(offer) : offer.reject('not_ready')),
    mayRegister: id => leases.holds(id),
    pace: bus.pace,
    metrics: counted.metrics,
    mayReach,
    mayAdmit: sourcesOf(config, own),
    onTrunkStatus: status => reportTrunkStatus(base, status),
    referSilenceMs: config.REFER_SILENCE_SECONDS * 1000,
    calls: openCalls,
    onAllowedSources: cidrs => config.SIP_ALLOW_FILE && writeAllowedSources(config.SIP_ALLOW_FILE, cidrs),
  })
  bus.onTrunkCheck(trunk => edge.check(trunk))
  syncRegistrations = () => edge.syncRegistrations()
  directory.onChange(() => void leases.sync())
  return {
    edge,
    async close() {
      await edge.close()
      await leases.stop()
      await directory.stop()
      await softphones?.stop()
    },
  }
}

function rtpMedia({ config, clock, pacer, log, guarded: { egress } }: Base): EdgeOptions['media'] {
  const host = config.RTP_HOST ?? config.SIP_HOST
  const ports = { min: config.RTP_PORT_MIN, max: config.RTP_PORT_MAX }
  // The DTLS certificate of this process: signalling sends its fingerprint with each call.
  const identity = dtlsIdentity(selfSigned(clock.wall()))
  return {
    open: () => openRtp({ host, ports, clock, pacer, log, identity, egress }),
    advertise: config.RTP_PUBLIC_HOST ?? null,
    fingerprint: identity.fingerprint,
  }
}

function reportTrunkStatus({ bus, log }: Base, status: TrunkStatus): void {
  const { trunkId, ownerId, registration, lastError, registrar } = status
  const answer = registrar === undefined ? {} : { registrar }
  const hosts = status.hosts.map(({ optionsMs, targets, ...host }) => ({
    ...host,
    options_ms: optionsMs,
    targets: targets.map(({ optionsMs: targetMs, ...target }) => ({ ...target, options_ms: targetMs })),
  }))
  bus
    .emitTrunkStatus({ trunk_id: trunkId, owner_id: ownerId, registration, last_error: lastError, ...answer, hosts })
    .catch(error => log.warn({ err: error }, 'sending trunk status failed'))
}

/** Rejects after a while: the supervisor must learn that a part is missing. */
function answering<T>(parts: Promise<T>): Promise<T> {
  return Promise.race([
    parts,
    new Promise<never>((_, reject) =>
      setTimeout(
        () => reject(new Error(`the SIP server or the speech process did not answer within ${READY_MS / 1000} s`)),
        READY_MS,
      ),
    ),
  ])
}

function showGauges({ config, counted }: Base, calls: Calls, { edge }: Signalling): void {
  const gauge = (name: string, help: string, read: () => number) => counted.metrics.gaugeFrom({ name, help }, read)
  gauge('parley_calls', 'Calls in progress on this engine.', () => calls.manager?.calls() ?? 0)
  gauge('parley_calls_capacity', 'Most concurrent calls of this engine.', () => config.ENGINE_CAPACITY)
  gauge('parley_signalling_up', '1 while the SIP server is connected.', () => Number(edge.isUp()))
}

async function openCalls(base: Base, { speech, recorder }: Media, { edge }: Signalling): Promise<CallManager> {
  const { config, clock, log, bus, sealer, pacer, counted, spans, guarded } = base
  const shed = counted.metrics.counter({
    name: 'parley_inbound_shed_total',
    help: 'Inbound calls shed for lack of resources, by reason.',
    labels: { reason: REJECTED_REASONS },
  })
  const rooms = config.LIVEKIT_URL ? await openRooms({ clock, pacer, log }) : null
  goFirst(log)
  return openCallManager({
    bus,
    sealer,
    dialer: edge.dialer,
    traces: edge.traces,
    tracing: spans.tracing,
    ...(rooms ? { rooms } : {}),
    clock,
    log,
    vad: speech.vad,
    ...createProviders({ config, offline: speech, clock, log, guarded }),
    fetch: createSafeFetch({ ...guarded, allow: config.FETCH_ALLOW }),
    recorder,
    ...(config.EDGE_LOG_DIR ? { replayLog: createReplayLog(config.EDGE_LOG_DIR, log) } : {}),
    capacity: config.ENGINE_CAPACITY,
    sttReady: () => speech.sttReady(),
    ready: () => edge.isUp(),
    signalling: () => edge.server(),
    onAccepting: open => edge.listen(open),
    onRejected: reason => shed.add({ reason }),
  })
}

/** Loaded only with LiveKit: its native library does not exist for every platform. */
async function openRooms(options: { clock: Clock; pacer: Pacer; log: Log }): Promise<Rooms | null> {
  try {
    const { createRooms, warmUp } = await import('../../media/room/rooms.ts')
    await warmUp()
    return createRooms(options)
  } catch (error) {
    options.log.error({ err: error }, 'loading WebRTC library failed, web calls are unavailable')
    return null
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 20))
}
