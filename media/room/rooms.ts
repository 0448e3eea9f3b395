/** Implements the `Rooms` port on LiveKit. */

import type { Rooms } from '../ports/rooms.ts'
import type { Pacer } from '../rtp/pacer.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { joinRoom } from './leg.ts'
import { openMonitorRoom } from './monitor.ts'

export { warmUp } from './connection.ts'

export function createRooms({ clock, pacer, log }: { clock: Clock; pacer: Pacer; log: Log }): Rooms {
  return {
    join: ({ plan, token, signal }) =>
      joinRoom({
        plan,
        seat: { url: plan.room!.url, token },
        clock,
        pacer,
        signal,
        log: log.child({ call_id: plan.call_id }),
      }),
    openMonitor: options => openMonitorRoom(options, clock),
  }
}
