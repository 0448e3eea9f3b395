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
import { mayReach } from '../../media/shared/addresses.ts'
import type { Clock } from '../../media/shared/clock.ts'
import type { Log } from '../../media/shared/log.ts'
import { selfSigned } from '../../sip/server/self-signed.ts'
import { needsOwner, openEdge } from '../../sip/trunk/edge.ts'
import { writeAllowedSources } from '../adapters/allowed-sources.ts'
import { createBlobs, spoolFolder } from '../adapters/blobs.ts'
import { systemClock } from '../adapters/clock.ts'
import { openEventOutbox } from '../adapters/event-outbox.ts'
import { createLog } from '../adapters/log.ts'
import { openMetrics } from '../adapters/metrics.ts'
import { keepOpenCalls } from '../adapters/open-calls.ts'
import { goFirst } from '../adapters/priority.ts'
import { createReplayLog } from '../adapters/replay-log.ts'
import { createSafeFetch } from '../adapters/safe-fetch.ts'
import { openTracing } from '../adapters/tracing.ts'
import { readConfig } from '../config/config.ts'
import { createProviders } from '../models/providers.ts'
import { openRedis, required } from '../wiring/parts.ts'
import { runUntilStopped } from './run-until-stopped.ts'

const READY_MS = 15_000
const GRACE_MS = 8000

await runUntilStopped('engine', async hurry => {
  const config = readConfig()
  const log = createLog('engine', config.PARLEY_LOG_LEVEL)
  const clock = systemClock
  const redis = openRedis(required(config.REDIS_URL, 'REDIS_URL'), log)
  const sealer = createSealer(config.secret)
  const engine = config.ENGINE_NAME
  const outbox = openEventOutbox(join(spoolFolder(config), 'events'), clock.wall(), log)
  const bus = createEngineBus({ redis, sealer, engine, clock, log, outbox, prefix: config.REDIS_PREFIX })
  await bus.recover()
  const directory = await bus.trunks()
  const softphones = config.SOFTPHONES === 'on' ? await bus.softphones() : null
  const speech = createSpeechClient({ host: config.SPEECH_HOST, port: config.SPEECH_PORT ?? 9040, clock, log })
  const fetch = createSafeFetch({ allow: config.FETCH_ALLOW })
  const pacer = createPacer(clock)
  const onReady: RecorderOptions['onReady'] = ready => bus.emitRecordingReady(ready)
  const recorder = createRecorder({ spool: spoolFolder(config), blobs: createBlobs(config), clock, log, onReady })
  void recorder.recover()
  // Loaded before the first Opus call, which would otherwise lose its first audio.
  loadOpus().catch(error => log.error({ err: error }, 'loading Opus failed'))
  const calls = await keepOpenCalls(join(spoolFolder(config), 'calls'), log)
  const rtpHost = config.RTP_HOST ?? config.SIP_HOST
  const ports = { min: config.RTP_PORT_MIN, max: config.RTP_PORT_MAX }

  // The DTLS certificate of this process: signalling sends its fingerprint with each call.
  const identity = dtlsIdentity(selfSigned(clock.wall()))

  const drainMs = config.ENGINE_DRAIN_SECONDS * 1000
  const counted = await openMetrics(config)
  const spans = await openTracing(config, { name: 'engine', instance: engine, clock, log })
  // Order: leases, edge, call manager. The edge registers the trunks that this engine holds a lease of, and syncs its
  // registrations when the leases change; until it is open there is nothing to sync.
  const wanted = () =>
    directory
      .all()
      .filter(needsOwner)
      .map(({ id }) => id)
  let syncRegistrations = () => {}
  const leases = bus.trunkLeases({ wanted, onChange: () => syncRegistrations() })
  // The call manager opens last, because it accepts calls at once; the edge rejects offers until then.
  let callManager: CallManager | null = null
  const edge = openEdge({
    host: required(config.DRACHTIO_HOST, 'DRACHTIO_HOST'),
    port: config.DRACHTIO_PORT,
    secret: config.DRACHTIO_SECRET ?? 'cymru',
    directory,
    ...(softphones === null ? {} : { softphones: { directory: softphones, secret: config.secret } }),
    media: {
      open: () => openRtp({ host: rtpHost, ports, clock, pacer, log, identity }),
      advertise: config.RTP_PUBLIC_HOST ?? null,
      fingerprint: identity.fingerprint,
    },
    clock,
    log,
    listening: false,
    onState: () => callManager?.reconcile(),
    onOffer: (offer: InboundOffer) => (callManager ? callManager.offer(offer) : offer.reject('not_ready')),
    mayRegister: id => leases.holds(id),
    pace: bus.pace,
    metrics: counted.metrics,
    mayReach: address => mayReach(config.TRUNK_PRIVATE_HOSTS, address),
    onTrunkStatus: ({ trunkId, ownerId, registration, lastError, hosts: reported }) => {
      const hosts = reported.map(({ optionsMs, targets, ...host }) => ({
        ...host,
        options_ms: optionsMs,
        targets: targets.map(({ optionsMs: targetMs, ...target }) => ({ ...target, options_ms: targetMs })),
      }))
      bus
        .emitTrunkStatus({ trunk_id: trunkId, owner_id: ownerId, registration, last_error: lastError, hosts })
        .catch(error => log.warn({ err: error }, 'sending trunk status failed'))
    },
    referSilenceMs: config.REFER_SILENCE_SECONDS * 1000,
    calls,
    onAllowedSources: cidrs => config.SIP_ALLOW_FILE && writeAllowedSources(config.SIP_ALLOW_FILE, cidrs),
  })
  bus.onTrunkCheck(trunk => edge.check(trunk))
  syncRegistrations = () => edge.syncRegistrations()
  directory.onChange(() => void leases.sync())
  await Promise.race([
    Promise.all([speech.ready, until(() => edge.isUp())]),
    new Promise((_, reject) =>
      setTimeout(
        () => reject(new Error(`the SIP server or the speech process did not answer within ${READY_MS / 1000} s`)),
        READY_MS,
      ),
    ),
  ])
  const shed = counted.metrics.counter({
    name: 'parley_inbound_shed_total',
    help: 'Inbound calls shed for lack of resources, by reason.',
    labels: { reason: REJECTED_REASONS },
  })
  const gauge = (name: string, help: string, read: () => number) => counted.metrics.gaugeFrom({ name, help }, read)
  gauge('parley_calls', 'Calls in progress on this engine.', () => callManager?.calls() ?? 0)
  gauge('parley_calls_capacity', 'Most concurrent calls of this engine.', () => config.ENGINE_CAPACITY)
  gauge('parley_signalling_up', '1 while the SIP server is connected.', () => Number(edge.isUp()))
  const rooms = config.LIVEKIT_URL ? await openRooms({ clock, pacer, log }) : null
  goFirst(log)
  callManager = await openCallManager({
    bus,
    sealer,
    dialer: edge.dialer,
    traces: edge.traces,
    tracing: spans.tracing,
    ...(rooms ? { rooms } : {}),
    clock,
    log,
    vad: speech.vad,
    ...createProviders({ config, offline: speech, clock, log }),
    fetch,
    recorder,
    ...(config.EDGE_LOG_DIR ? { replayLog: createReplayLog(config.EDGE_LOG_DIR, log) } : {}),
    capacity: config.ENGINE_CAPACITY,
    sttReady: () => speech.sttReady(),
    ready: () => edge.isUp(),
    signalling: () => edge.server(),
    onAccepting: open => edge.listen(open),
    onRejected: reason => shed.add({ reason }),
  })
  return {
    ready: { engine, sttReady: speech.sttReady(), metrics: counted.port },
    drainMs,
    async stop() {
      if (drainMs > 0) await callManager?.drain(drainMs, hurry)
      await callManager?.close(GRACE_MS)
      await recorder.close()
      await edge.close()
      await leases.stop()
      await directory.stop()
      await softphones?.stop()
      speech.close()
      await bus.close()
      redis.disconnect()
      await Promise.all([counted.close(), spans.close()])
    },
  }
})

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
