import { once } from 'node:events'
import Srf from 'drachtio-srf'
import { SipServer, type SipServerOptions } from '../../sip/server/server.ts'
import { Peer } from './peer.ts'

export const SECRET = 'cymru'

/** As much of drachtio-srf as the tests use; its own types leave half of it out. */
export interface SrfMessage {
  status: number
  body: string
  method: string
  source_address: string
  receivedOn?: string
  get(name: string): string
  has(name: string): boolean
}
export type SrfRequest = SrfMessage & {
  on(event: string, listener: (...args: never[]) => void): void
  cancel(callback?: (error: Error | null) => void): void
}
export interface SrfResponse {
  send(status: number, options?: object, callback?: (error: unknown, sent: SrfMessage) => void): void
}
export interface SrfDialog {
  id: string
  remote: { sdp: string }
  on(event: string, listener: (req: SrfRequest, res: SrfResponse) => void): void
  on(event: 'destroy', listener: (req: SrfRequest, reason: string) => void): void
  destroy(): Promise<SrfMessage>
  modify(sdp: string): Promise<string>
  request(options: object): Promise<SrfMessage>
}
export interface App {
  invite(handler: (req: SrfRequest, res: SrfResponse) => void): void
  use(method: string, handler: (req: SrfRequest, res: SrfResponse) => void): void
  createUAS(req: SrfRequest, res: SrfResponse, options: object): Promise<SrfDialog>
  createUAC(uri: string, options: object, progress?: object): Promise<SrfDialog>
  request(uri: string, options: object): Promise<SrfRequest>
  disconnect(): void
}

/** A server on free ports of loopback, with applications and peers that are closed along with it. */
export class Rig {
  readonly server: SipServer
  readonly adminPort: number
  readonly udpPort: number
  readonly tcpPort: number
  readonly #closers: (() => void)[] = []

  private constructor(server: SipServer, ports: { admin: number; udp: number; tcp: number }) {
    this.server = server
    this.adminPort = ports.admin
    this.udpPort = ports.udp
    this.tcpPort = ports.tcp
  }

  static async start(options: Partial<SipServerOptions> = {}): Promise<Rig> {
    const server = new SipServer({
      admin: { host: '127.0.0.1', port: 0 },
      secret: SECRET,
      listen: [
        { protocol: 'udp', host: '127.0.0.1', port: 0 },
        { protocol: 'tcp', host: '127.0.0.1', port: 0 },
      ],
      ...options,
    })
    const started = await server.start()
    const portOf = (protocol: string): number =>
      Number(
        started.listen
          .find(at => at.startsWith(protocol))
          ?.split(':')
          .at(-1) ?? 0,
      )
    return new Rig(server, { admin: started.admin.port, udp: portOf('udp'), tcp: portOf('tcp') })
  }

  async app(): Promise<App> {
    const srf = new Srf()
    srf.on('error', () => {})
    srf.connect({ host: '127.0.0.1', port: this.adminPort, secret: SECRET })
    await once(srf as unknown as NodeJS.EventEmitter, 'connect')
    this.#closers.push(() => {
      try {
        srf.disconnect()
      } catch {
        // Already gone.
      }
    })
    return srf as unknown as App
  }

  async udpPeer(host?: string): Promise<Peer> {
    return this.#keep(await Peer.udp(this.udpPort, host))
  }

  async tcpPeer(host?: string): Promise<Peer> {
    return this.#keep(await Peer.tcp(this.tcpPort, host))
  }

  #keep(peer: Peer): Peer {
    this.#closers.push(() => peer.close())
    return peer
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0)) close()
    await this.server.close()
  }
}
