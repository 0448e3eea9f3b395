/** The LiveKit server as control needs it: tokens, rooms, who is in them. The only importer of livekit-server-sdk. */
import {
  AccessToken,
  type ParticipantInfo,
  ParticipantInfo_State,
  RoomConfiguration,
  RoomServiceClient,
  ServerError,
  TrackSource,
  WebhookReceiver,
} from 'livekit-server-sdk'
import type { Deps } from '../../platform/deps.ts'

export interface RealtimeDeps extends Deps {
  /** Null or left out: there is no LiveKit server, and nothing works that needs it. */
  livekit?: LiveKit | null
}

export interface LiveKitSettings {
  /** As servers reach it: `ws:` or `wss:`. */
  url: string
  /** As clients reach it. */
  publicUrl: string
  apiKey: string
  apiSecret: string
  /** Of the names of our rooms: other users of the same server have others, and are never touched. */
  prefix: string
}

export interface Rights {
  /** `microphone`: sound of one's own voice and nothing else. */
  publish: 'all' | 'microphone' | 'nothing'
  data: boolean
}

export interface Seat extends Rights {
  room: string
  identity: string
  ttlSeconds: number
  /** Shown as an agent by LiveKit's components, and not counted among the participants. */
  agent?: boolean
  /** For the room, should it be made when this one joins. */
  maxParticipants: number
}

export interface Participant {
  identity: string
  /** Connected, not just about to. */
  active: boolean
  /** Epoch ms. */
  joinedAt: number
}

export interface LiveKit {
  readonly url: string
  readonly publicUrl: string
  readonly prefix: string
  token(seat: Seat): Promise<string>
  /** Names of our rooms that are open. */
  rooms(): Promise<string[]>
  /** Nobody is in a room that is not open. */
  participants(room: string): Promise<Participant[]>
  /** Sets attributes that the participant sees. False when there is no such participant. */
  tell(room: string, identity: string, attributes: Record<string, string>): Promise<boolean>
  /** False when there is no such participant. */
  permit(room: string, identity: string, rights: Rights): Promise<boolean>
  /** The token of whom it removes stays good. */
  remove(room: string, identity: string): Promise<void>
  close(room: string): Promise<void>
  /** What a webhook tells of; null when LiveKit did not send it. */
  readWebhook(body: string, authorization: string | undefined): Promise<RoomNews | null>
  /** A look of the last few seconds; takes two at most. */
  healthy(): Promise<boolean>
}

export interface RoomNews {
  event: string
  room: string | null
}

/** LiveKit did not answer, or not as it should. */
export class LiveKitFailed extends Error {
  constructor(what: string, cause: unknown) {
    super(`LiveKit failed: ${what}`, { cause })
    this.name = 'LiveKitFailed'
  }
}

const TIMEOUT_S = 5
const HEALTH_TIMEOUT_S = 2
const HEALTH_KEPT_MS = 3000
/** Caller and agent, and room for a caller who comes back before the server has noticed that the line broke. */
export const MAX_IN_ROOM = 3
/** A room that nobody came to, or that everybody left, is of no use to anybody. */
const EMPTY_S = 30
/** LiveKit does not count agents: shorter than our leg waits for its caller, and it would end the call. */
const DEPARTURE_S = 20
/** LiveKit Cloud revokes the tokens of whom it removes that were made before this time (Unix seconds); 0 means now. */
const NO_TOKEN = 1n

export function createLiveKit(settings: LiveKitSettings): LiveKit {
  const { url, publicUrl, apiKey, apiSecret, prefix } = settings
  const host = url.replace(/^ws/, 'http')
  const rpc = new RoomServiceClient(host, apiKey, apiSecret, { requestTimeout: TIMEOUT_S, failover: false })
  const probe = new RoomServiceClient(host, apiKey, apiSecret, { requestTimeout: HEALTH_TIMEOUT_S, failover: false })
  const receiver = new WebhookReceiver(apiKey, apiSecret)
  return {
    url,
    publicUrl,
    prefix,
    token: seat => signToken(settings, seat),
    async rooms() {
      const rooms = await asked('rooms', rpc.listRooms(), [])
      return rooms.map(room => room.name).filter(name => name.startsWith(prefix))
    },
    async participants(room) {
      return (await asked('participants', rpc.listParticipants(room), [])).map(toParticipant)
    },
    tell: (room, identity, attributes) =>
      asked(
        'tell',
        rpc.updateParticipant(room, identity, { attributes }).then(() => true),
        false,
      ),
    permit: (room, identity, rights) =>
      asked(
        'permit',
        rpc.updateParticipant(room, identity, { permission: grantOf(rights) }).then(() => true),
        false,
      ),
    async remove(room, identity) {
      try {
        await asked('remove', rpc.removeParticipant(room, identity, { revokeTokenTs: NO_TOKEN }), undefined)
      } catch (error) {
        // Of a room that closes in this moment nobody answers: who is not there any more is removed.
        const there = await asked('participants', rpc.listParticipants(room), [])
        if (there.some(participant => participant.identity === identity)) throw error
      }
    },
    close: room => asked('close', rpc.deleteRoom(room), undefined),
    async readWebhook(body, authorization) {
      try {
        const { event, room } = await receiver.receive(body, authorization?.replace(/^Bearer +/i, ''))
        return { event, room: room?.name ?? null }
      } catch {
        return null
      }
    },
    // By a name that no room has: the answer is short, however many there are.
    healthy: cached(() => probe.listRooms([`${prefix}health`]).then(() => true)),
  }
}

/** `absent`: the answer when the room or participant is not there. */
async function asked<T>(what: string, answer: Promise<T>, absent: T): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ServerError && error.code === 'not_found') return absent
    throw new LiveKitFailed(what, error)
  }
}

/** Those who ask at the same time wait for one answer. */
function cached(look: () => Promise<boolean>): () => Promise<boolean> {
  let last: { at: number; answer: Promise<boolean> } | null = null
  return () => {
    const now = performance.now()
    if (!last || now - last.at > HEALTH_KEPT_MS) last = { at: now, answer: look().catch(() => false) }
    return last.answer
  }
}

const toParticipant = ({ identity, state, joinedAt, joinedAtMs }: ParticipantInfo): Participant => ({
  identity,
  active: state === ParticipantInfo_State.ACTIVE,
  joinedAt: Number(joinedAtMs) || Number(joinedAt) * 1000,
})

const sources = { all: [], microphone: [TrackSource.MICROPHONE], nothing: [] }

const grantOf = ({ publish, data }: Rights) => ({
  canSubscribe: true,
  canPublish: publish !== 'nothing',
  canPublishSources: sources[publish],
  canPublishData: data,
  canUpdateMetadata: true,
})

async function signToken({ apiKey, apiSecret }: LiveKitSettings, seat: Seat): Promise<string> {
  const { room, identity, ttlSeconds, agent = false, maxParticipants } = seat
  const { canUpdateMetadata, canPublishSources, ...rights } = grantOf(seat)
  const token = new AccessToken(apiKey, apiSecret, { identity, ttl: ttlSeconds })
  token.addGrant({
    room,
    roomJoin: true,
    ...rights,
    // Given at all, even empty, it stands before `canPublish`.
    ...(canPublishSources.length > 0 ? { canPublishSources } : {}),
    canUpdateOwnMetadata: canUpdateMetadata,
    ...(agent ? { agent } : {}),
  })
  if (agent) token.kind = 'agent'
  token.roomConfig = new RoomConfiguration({ emptyTimeout: EMPTY_S, departureTimeout: DEPARTURE_S, maxParticipants })
  return token.toJwt()
}
