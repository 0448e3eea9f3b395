/** A WebSocket to a vendor: its end is reported as one `VendorError`. `ws` is imported only here. */
import WebSocket from 'ws'
import type { Clock } from '../shared/clock.ts'
import { errorOfStatus, VendorError } from './vendor-error.ts'

export interface VendorSocketOptions {
  vendor: string
  url: string
  headers: Record<string, string>
  clock: Clock
  /** Timeout for the handshake in ms. */
  connectTimeoutMs: number
  onOpen(): void
  onText(text: string): void
  /** Called once, whoever closed the socket, but not after `close`. `opened`: the handshake had succeeded. */
  onEnd(error: VendorError, opened: boolean): void
}

export interface VendorSocket {
  /** Returns false when the socket is not open: the data was not sent. */
  send(data: string | Uint8Array): boolean
  /** Sends the vendor's closing message if possible, and closes the socket. No callback follows. */
  close(farewell?: string): void
}

/** Maximum size of a message: larger than any chunk of speech. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024
/** Timeout in ms for the vendor's close frame. */
const CLOSE_TIMEOUT_MS = 1000

export function openVendorSocket(options: VendorSocketOptions): VendorSocket {
  const { vendor, clock } = options
  let over = false
  let opened = false
  const settings: WebSocket.ClientOptions & { closeTimeout: number } = {
    headers: options.headers,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    closeTimeout: CLOSE_TIMEOUT_MS, // since ws 8.19; its types do not know it yet
  }
  const socket = new WebSocket(options.url, settings)
  const end = (error: VendorError) => {
    if (over) return
    over = true
    cancelConnect()
    socket.terminate()
    options.onEnd(error, opened)
  }
  const cancelConnect = clock.after(options.connectTimeoutMs, () => {
    end(new VendorError(vendor, 'timeout', 'connection timed out'))
  })
  socket.on('open', () => {
    if (over) return
    opened = true
    cancelConnect()
    options.onOpen()
  })
  socket.on('message', (data, isBinary) => {
    if (over) return
    if (isBinary) end(new VendorError(vendor, 'bad_answer', 'sent a binary message instead of text'))
    else options.onText(data.toString())
  })
  socket.on('unexpected-response', (_request, response) => {
    response.resume()
    end(errorOfStatus(vendor, response.statusCode ?? 0, response.headers['retry-after'] ?? null, clock.wall()))
  })
  socket.on('error', () =>
    end(new VendorError(vendor, 'unavailable', opened ? 'connection lost' : 'could not connect')),
  )
  socket.on('close', code => end(errorOfClose(vendor, code)))
  return {
    send(data) {
      if (over || socket.readyState !== WebSocket.OPEN) return false
      socket.send(data)
      return true
    },
    close(farewell) {
      if (over) return
      over = true
      cancelConnect()
      if (socket.readyState !== WebSocket.OPEN) return socket.terminate()
      if (farewell) socket.send(farewell)
      socket.close(1000)
    },
  }
}

/** RFC 6455, 7.4.1. A close that blames our message (1002, 1003, 1007, 1008, 1009) would occur again on retry. */
function errorOfClose(vendor: string, code: number): VendorError {
  const ours = [1002, 1003, 1007, 1008, 1009].includes(code)
  return new VendorError(vendor, ours ? 'bad_answer' : 'unavailable', `connection closed with ${code}`, {
    status: code,
  })
}

/** Parses JSON; returns undefined when it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
