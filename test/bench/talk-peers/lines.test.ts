import { expect, test } from 'vitest'
import { rms } from '../../../media/audio/frames.ts'
import { decodeG711 } from '../../../media/audio/g711.ts'
import { createOpusDecoder, loadOpus } from '../../../media/audio/opus.ts'
import { loadClips } from '../clips.ts'
import { asOpus } from './lines.ts'

test('a room hears the same recording as a telephone line, packet for packet', async () => {
  await loadOpus()
  for (const [file, frames] of loadClips()) {
    const packets = await asOpus(frames)
    expect(packets.length, file).toBe(frames.length)
    const decoder = createOpusDecoder()
    await new Promise(resolve => setImmediate(resolve))
    const heard = packets.map(packet => rms(decoder.decode(packet)))
    const said = frames.map(frame => rms(decodeG711('PCMU', frame)))
    const energy = (levels: number[]) =>
      Math.sqrt(levels.reduce((sum, level) => sum + level * level, 0) / levels.length)
    expect(energy(heard) / energy(said), file).toBeGreaterThan(0.8)
    expect(energy(heard) / energy(said), file).toBeLessThan(1.25)
    decoder.close()
  }
})
