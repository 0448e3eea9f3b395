import { connect, createServer } from 'node:net'
import type { StreamKind } from './transport-stream.ts'

export const tcp: StreamKind = {
  protocol: 'tcp',
  ready: 'connection',
  serve: () => createServer(),
  dial: ({ host, port }, localAddress) =>
    connect({ host, port, ...(localAddress === undefined ? {} : { localAddress }) }),
}
