/** An engine process: takes calls over SIP and holds their conversations. One a core, sharing nothing but the bus. */

import { type Desk, openDesk } from '../media/call/desk.ts'
import { createEngineBus } from '../media/contract/bus-engine.ts'
import { createSealer } from '../media/contract/seal.ts'
import { createSpeechClient } from '../media/models/speech/client.ts'
import type { InboundOffer } from '../media/ports.ts'
import { createRecorder } from '../media/recording/recorder.ts'
import { createPacer } from '../media/rtp/pacer.ts'
import { openRtp } from '../media/rtp/session.ts'
import { openEdge } from '../sip/trunk/edge.ts'
import { createBlobs, spoolFolder } from './blobs.ts'
import { createBrains } from './brains.ts'
import { systemClock } from './clock.ts'
import { readConfig } from './config.ts'
import { createEdgeLog } from './edge-log.ts'
import { createLog } from './log.ts'
import { openRedis, required } from './parts.ts'
import { runUntilStopped } from './process.ts'
import { createSafeFetch } from './safe-fetch.ts'

const READY_MS = 15_000
const GRACE_MS = 8000

await runUntilStopped('engine', async () => {
  const config = readConfig()
  const log = createLog('engine', config.PARLEY_LOG_LEVEL)
  const clock = systemClock
  const redis = openRedis(required(config.REDIS_URL, 'REDIS_URL'), log)
  const sealer = createSealer(config.secret)
  const bus = createEngineBus({ redis, sealer, engine: config.ENGINE_NAME, clock, log, prefix: config.REDIS_PREFIX })
  const directory = await bus.trunks()
  const speech = createSpeechClient({ host: config.SPEECH_HOST, port: config.SPEECH_PORT ?? 9040, clock, log })
  const fetch = createSafeFetch({ allow: config.FETCH_ALLOW })
  const pacer = createPacer(clock)
  const onReady = bus.emitRecordingReady
  const recorder = createRecorder({ spool: spoolFolder(config), blobs: createBlobs(config), clock, log, onReady })
  void recorder.recover()
  const rtpHost = config.RTP_HOST ?? config.SIP_HOST
  const ports = { min: config.RTP_PORT_MIN, max: config.RTP_PORT_MAX }

  let desk: Desk | null = null
  const edge = openEdge({
    host: required(config.DRACHTIO_HOST, 'DRACHTIO_HOST'),
    port: config.DRACHTIO_PORT,
    secret: config.DRACHTIO_SECRET ?? 'cymru',
    directory,
    media: { open: () => openRtp({ host: rtpHost, ports, clock, pacer, log }), advertise: null },
    clock,
    log,
    onOffer: (offer: InboundOffer) => (desk ? desk.offer(offer) : offer.reject('not_ready')),
    onRegistration: ({ trunkId, ownerId, registration, lastError }) => {
      bus
        .emitTrunkStatus({ trunk_id: trunkId, owner_id: ownerId, registration, last_error: lastError })
        .catch(error => log.warn({ err: error }, 'trunk status could not be sent'))
    },
  })
  await Promise.race([
    Promise.all([speech.ready, until(() => edge.isUp())]),
    new Promise((_, reject) =>
      setTimeout(() => reject(new Error('the SIP server or the speech process does not answer')), READY_MS),
    ),
  ])
  desk = await openDesk({
    bus,
    sealer,
    dialer: edge.dialer,
    clock,
    log,
    vad: speech.vad,
    ...createBrains({ config, offline: speech, clock, log }),
    fetch,
    recorder,
    ...(config.EDGE_LOG_DIR ? { edgeLog: createEdgeLog(config.EDGE_LOG_DIR, log) } : {}),
    capacity: config.ENGINE_CAPACITY,
    hears: () => speech.hears(),
    ready: () => edge.isUp(),
  })
  return {
    ready: { engine: config.ENGINE_NAME, hears: speech.hears() },
    async stop() {
      await desk?.close(GRACE_MS)
      await recorder.close()
      await edge.close()
      await directory.stop()
      speech.close()
      await bus.close()
      redis.disconnect()
    },
  }
})

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 20))
}
