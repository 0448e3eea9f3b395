/**
 * A client in a separate process, for tests that kill it: sends a tone, and reports when it has joined and when it
 * receives the agent's audio.
 */
import { joinRoom } from '../../support/room-peer.ts'
import { isTone, tone } from './rig.ts'

const [url, token] = process.argv.slice(2)
const caller = await joinRoom(url!, token!)
process.stdout.write('there\n')
void caller
  .wait(() => caller.heard.some(({ samples }) => isTone(samples, 600)), 'the agent', 600_000)
  .then(() => process.stdout.write('heard\n'))
// The parent may be killed, too.
void caller.ended(600_000).finally(() => process.exit())
for (;;) await caller.say(tone(1000, 400))
