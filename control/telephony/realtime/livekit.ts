/** Client of the LiveKit server: tokens, rooms and participants. The only importer of livekit-server-sdk. */
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
  /** Null or omitted: there is no LiveKit server, and features that need it are disabled. */
  livekit?: LiveKit | null
}

export interface LiveKitSettings {
  /** URL for servers: `ws:` or `wss:`. */
  url: string
  /** URL for clients. */
  publicUrl: string
  apiKey: string
  apiSecret: string
  /** Prefix of our room names: rooms of other users of the same server have other names and are never touched. */
  prefix: string
}

export interface Rights {
  /** `microphone`: only the audio of the own microphone. */
  publish: 'all' | 'microphone' | 'nothing'
  data: boolean
}

export interface Seat extends Rights {
  room: string
  identity: string
  ttlSeconds: number
  /** LiveKit's components show it as an agent, and it does not count as a participant. */
  agent?: boolean
  /** Limit of the room, if this join creates it. */
  maxParticipants: number
}

export interface Participant {
  identity: string
  /** Fully connected, not just joining. */
  active: boolean
  /** Epoch ms. */
  joinedAt: number
}

export interface LiveKit {
  readonly url: string
  readonly publicUrl: string
  readonly prefix: string
  token(seat: Seat): Promise<string>
  /** Names of our open rooms. */
  rooms(): Promise<string[]>
  /** Empty for a room that is not open. */
  participants(room: string): Promise<Participant[]>
  /** Sets attributes that the participant receives. False when there is no such participant. */
  setAttributes(room: string, identity: string, attributes: Record<string, string>): Promise<boolean>
  /** False when there is no such participant. */
  permit(room: string, identity: string, rights: Rights): Promise<boolean>
  /** The token of a removed participant stays valid. */
  remove(room: string, identity: string): Promise<void>
  close(room: string): Promise<void>
  /** Verifies and parses a webhook; null when LiveKit did not send it. */
  readWebhook(body: string, authorization: string | undefined): Promise<RoomNews | null>
  /** Result of a health check of the last few seconds; takes at most two seconds. */
  healthy(): Promise<boolean>
}

export interface RoomNews {
  event: string
  room: string | null
}

/** LiveKit did not respond, or returned an error. */
export class LiveKitFailed extends Error {
  constructor(what: string, cause: unknown) {
    super(`LiveKit failed: ${what}`, { cause })
    this.name = 'LiveKitFailed'
  }
}

const TIMEOUT_S = 5
const HEALTH_TIMEOUT_S = 2
const HEALTH_KEPT_MS = 3000
/** Caller and agent, and one for a caller who reconnects before the server has noticed the broken connection. */
export const MAX_IN_ROOM = 3
/** Seconds before an empty room is closed. */
const EMPTY_S = 30
/** Seconds. LiveKit does not count agents: a time shorter than our leg waits for its caller would end the call. */
const DEPARTURE_S = 20
/** LiveKit Cloud revokes the removed participant's tokens issued before this time (Unix seconds); 0 means now. */
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
    setAttributes: (room, identity, attributes) =>
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
        // A room that closes at this moment does not respond; a participant who is gone counts as removed.
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
    // Asks for a name that no room has, so that the response is short however many rooms there are.
    healthy: cached(() => probe.listRooms([`${prefix}health`]).then(() => true)),
  }
}

/** `absent`: result when the room or participant does not exist. */
async function asked<T>(what: string, answer: Promise<T>, absent: T): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ServerError && error.code === 'not_found') return absent
    throw new LiveKitFailed(what, error)
  }
}

/** Concurrent callers share one request. */
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
    // Even an empty list takes precedence over `canPublish`.
    ...(canPublishSources.length > 0 ? { canPublishSources } : {}),
    canUpdateOwnMetadata: canUpdateMetadata,
    ...(agent ? { agent } : {}),
  })
  if (agent) token.kind = 'agent'
  token.roomConfig = new RoomConfiguration({ emptyTimeout: EMPTY_S, departureTimeout: DEPARTURE_S, maxParticipants })
  return token.toJwt()
}
