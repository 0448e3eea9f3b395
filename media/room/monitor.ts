/** A room in which operators monitor a call: the call is one track, each operator another. */

import type { MonitorRoom, MonitorRoomOptions } from '../ports/rooms.ts'
import type { Clock } from '../shared/clock.ts'
import { AudioClock } from './audio-clock.ts'
import { RoomConnection } from './connection.ts'

/** Milliseconds to restore our connection: meanwhile a caller who talks to an operator hears nothing. */
const BROKEN_MS = 5000

export async function openMonitorRoom(options: MonitorRoomOptions, clock: Clock): Promise<MonitorRoom> {
  const { seat, sampleRate, log, signal } = options
  const clocks = new Map<string, AudioClock>()
  let cancelBroken = () => {}
  let lost = false
  let close = async () => {}
  const lose = () => {
    cancelBroken()
    lost = true
    options.onClosed()
  }
  const link = await RoomConnection.open({
    ...seat,
    sampleRate,
    trackName: 'call',
    clock,
    log,
    ...(signal ? { signal } : {}),
    hears: () => true,
    events: {
      joined: identity => options.onJoined(identity),
      left: identity => {
        clocks.delete(identity)
        options.onLeft(identity)
      },
      sound(identity, pcm) {
        const own = clocks.get(identity) ?? new AudioClock()
        clocks.set(identity, own)
        options.onSound(identity, { pcm, atMs: own.at(clock.now()), concealed: false })
      },
      text: (identity, text) => options.onText(identity, text),
      connected(whole) {
        cancelBroken()
        if (whole) return
        cancelBroken = clock.after(BROKEN_MS, () => {
          void close()
          lose()
        })
      },
      closed: lose,
    },
  })
  close = () => {
    cancelBroken()
    return link.close()
  }
  if (lost) {
    await close()
    throw new Error('the room was lost while the engine was joining it')
  }
  return { identities: () => link.identities(), play: pcm => link.speak(pcm), close }
}
