import { randomUUID, timingSafeEqual } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import type { EgressRefusal } from '../../media/shared/egress.ts'
import type { Log } from './log.ts'
import type { HostPortOf } from './transport.ts'
import { type AppFrame, encodeFrame, FrameDecoder, FrameError, leader, parseAppFrame } from './wire.ts'

/** A connected application. */
export interface App {
  id: string
  routes: Set<string>
  alive(): boolean
  /**
   * True when the application reads more slowly than we write: the kernel's buffers are full, which is seconds of work.
   */
  behind(): boolean
  send(leader: string, message?: Buffer): void
}

export interface AppEvents {
  /** A frame that asks for SIP: every frame except authentication, routes and pings. */
  frame(app: App, frame: AppFrame & { type: 'sip' | 'proxy' }): void
  gone(app: App): void
}

interface Options {
  secret: string
  version: string
  hostports: () => { shown: string; local: string }
  /** Destinations that nothing was sent to, for the doctor. */
  refusals: () => readonly EgressRefusal[]
  events: AppEvents
  log: Log
}

const AUTH_TIMEOUT_MS = 10_000
const FRAME_LIMIT_STRANGER = 4096
const FRAME_LIMIT = 1_048_576
/**
 * Bytes waiting for one application at which it is disconnected: an application that stops reading must not fill our
 * memory.
 */
const BACKLOG_LIMIT = 16_777_216
/**
 * Bytes waiting at which an application counts as behind. Far below the limit, so that messages of live calls still fit
 * however many new calls arrive.
 */
const BEHIND = BACKLOG_LIMIT / 64

/** The admin port: connections of applications, their authentication and their routes. */
export class Apps {
  readonly #options: Options
  readonly #apps = new Map<string, App>()
  readonly #turns = new Map<string, number>()
  readonly #sockets = new Set<Socket>()
  #server: Server | null = null

  constructor(options: Options) {
    this.#options = options
  }

  async listen(at: HostPortOf): Promise<HostPortOf> {
    const server = createServer(socket => this.#accept(socket))
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: at.host, port: at.port, exclusive: true }, () => {
        server.off('error', reject)
        resolve()
      })
    })
    server.on('error', error => this.#options.log.error({ code: error.name }, 'admin port failed'))
    const address = server.address()
    return { host: at.host, port: typeof address === 'object' && address !== null ? address.port : at.port }
  }

  /**
   * Picks round robin among the applications that asked for the method, those that keep up first; null when none asked
   * for it.
   */
  pick(method: string): App | null {
    const verb = method.toLowerCase()
    const all = [...this.#apps.values()].filter(app => app.routes.has(verb))
    const quick = all.filter(app => !app.behind())
    const takers = quick.length > 0 ? quick : all
    if (takers.length === 0) return null
    const turn = this.#turns.get(verb) ?? 0
    this.#turns.set(verb, turn + 1)
    return takers[turn % takers.length] ?? null
  }

  all(): App[] {
    return [...this.#apps.values()]
  }

  #accept(socket: Socket): void {
    const decoder = new FrameDecoder(FRAME_LIMIT_STRANGER)
    const app = this.#appOver(socket)
    this.#sockets.add(socket)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, 45_000)
    const timer = setTimeout(() => socket.destroy(), AUTH_TIMEOUT_MS)
    timer.unref()
    socket.on('data', chunk => {
      try {
        for (const frame of decoder.push(chunk)) {
          this.#read(app, socket, parseAppFrame(frame))
          if (this.#apps.has(app.id)) decoder.limit = FRAME_LIMIT
        }
        if (this.#apps.has(app.id)) clearTimeout(timer)
      } catch (error) {
        if (!(error instanceof FrameError)) throw error
        this.#options.log.warn({ code: error.code }, 'application sent a broken frame')
        socket.destroy()
      }
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(timer)
      this.#sockets.delete(socket)
      if (this.#apps.delete(app.id)) {
        this.#options.log.info({ app: app.id }, 'application gone')
        this.#options.events.gone(app)
      }
    })
  }

  #appOver(socket: Socket): App {
    return {
      id: randomUUID(),
      routes: new Set(),
      alive: () => !socket.destroyed && !socket.writableEnded,
      behind: () => socket.writableLength > BEHIND,
      send: (text, message) => {
        if (socket.destroyed || socket.writableEnded) return
        socket.write(encodeFrame(randomUUID(), text, message))
        if (socket.writableLength > BACKLOG_LIMIT) socket.destroy()
      },
    }
  }

  #read(app: App, socket: Socket, frame: AppFrame): void {
    if (frame.type === 'authenticate') {
      this.#authenticate(app, socket, frame)
      return
    }
    if (!this.#apps.has(app.id)) {
      socket.destroy()
      return
    }
    switch (frame.type) {
      case 'route':
        app.routes.add(frame.verb)
        app.send(leader.reply(frame.msgId, 'OK'))
        return
      case 'remove_route':
        // Removes all routes, as drachtio-server does: an application that relies on less would fail there.
        app.routes.clear()
        app.send(leader.reply(frame.msgId, 'OK'))
        return
      case 'ping':
        app.send(leader.reply(frame.msgId, 'OK', 'pong'))
        return
      case 'sip':
      case 'proxy':
        this.#options.events.frame(app, frame)
        return
      case 'refusals':
        app.send(leader.reply(frame.msgId, 'OK', JSON.stringify(this.#options.refusals())))
        return
      case 'unknown':
        app.send(leader.reply(frame.msgId, 'NOK', `not supported: ${frame.verb.replace(/[^a-z:_]/gi, '')}`))
        return
    }
  }

  #authenticate(app: App, socket: Socket, frame: AppFrame & { type: 'authenticate' }): void {
    if (!sameSecret(frame.secret, this.#options.secret)) {
      this.#options.log.warn({ from: socket.remoteAddress }, 'application refused: wrong secret')
      app.send(leader.reply(frame.msgId, 'NO', 'incorrect secret'))
      socket.end()
      return
    }
    this.#apps.set(app.id, app)
    const { shown, local } = this.#options.hostports()
    app.send(leader.authenticated(frame.msgId, shown, this.#options.version, local))
    this.#options.log.info({ app: app.id }, 'application connected')
  }

  async close(): Promise<void> {
    const server = this.#server
    this.#server = null
    for (const socket of this.#sockets) socket.destroy()
    if (server !== null) await new Promise<void>(resolve => server.close(() => resolve()))
  }
}

function sameSecret(given: string, ours: string): boolean {
  const a = Buffer.from(given)
  const b = Buffer.from(ours)
  return a.length === b.length && timingSafeEqual(a, b)
}
