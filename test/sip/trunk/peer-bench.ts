/** The set-up that most tests of the edge share: a bench, and a far end with audio. */
import { afterEach, beforeEach } from 'vitest'
import type { Peer } from '../peer.ts'
import { Bench, FarMedia } from './bench.ts'
import { FarSound } from './tone-endpoint.ts'

export interface PeerBench<Far> {
  bench: Bench
  /** A far end, connected to the bench's SIP server over UDP. */
  peer: Peer
  /** Its audio. */
  far: Far
}

/** The audio of the two far ends of a bridged call. */
export interface BridgeSound {
  caller: FarSound
  target: FarSound
}

/**
 * Opens a bench with a far end before each test, hands them to `use`, and closes them after the test. `restart`
 * replaces the bench and the peer by ones with other options.
 */
export const eachWithPeer = (use: (opened: PeerBench<FarMedia>) => void) =>
  eachWith(
    () => FarMedia.open(),
    far => far.close(),
    use,
  )

export const eachWithBridge = (use: (opened: PeerBench<BridgeSound>) => void) =>
  eachWith(
    async () => ({ caller: await FarSound.open('PCMU'), target: await FarSound.open('PCMA') }),
    ({ caller, target }) => {
      caller.close()
      target.close()
    },
    use,
  )

function eachWith<Far>(open: () => Promise<Far>, close: (far: Far) => void, use: (opened: PeerBench<Far>) => void) {
  let opened: PeerBench<Far>
  async function start(far: Far, ...options: Parameters<typeof Bench.start>): Promise<void> {
    const bench = await Bench.start(...options)
    opened = { bench, peer: await bench.rig.udpPeer(), far }
    use(opened)
  }
  beforeEach(async () => start(await open()))
  afterEach(async () => {
    await opened.bench.close()
    close(opened.far)
  })
  return {
    async restart(...options: Parameters<typeof Bench.start>): Promise<void> {
      await opened.bench.close()
      await start(opened.far, ...options)
    },
  }
}
