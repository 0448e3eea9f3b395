/** A client in a process of its own, to be killed: speaks a tone, and tells when it is there and when it hears the agent. */
import { joinRoom } from '../../support/room-peer.ts'
import { isTone, tone } from './rig.ts'

const [url, token] = process.argv.slice(2)
const caller = await joinRoom(url!, token!)
process.stdout.write('there\n')
void caller
  .wait(() => caller.heard.some(({ samples }) => isTone(samples, 600)), 'the agent', 600_000)
  .then(() => process.stdout.write('heard\n'))
// Whoever started us may be killed too.
void caller.ended(600_000).finally(() => process.exit())
for (;;) await caller.say(tone(1000, 400))
