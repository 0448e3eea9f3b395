/** Audio from one leg into another: complete, in order, at the other's rate, with the least possible delay. */
import { expect, it } from 'vitest'
import { measureTone } from '../../../media/answering/tones.ts'
import { AudioPipe } from '../../../media/audio/pipe.ts'

const frameOf = (rate: number, n: number, hz = 700) =>
  Int16Array.from({ length: rate / 50 }, (_, i) => 6000 * Math.sin((2 * Math.PI * hz * (n * (rate / 50) + i)) / rate))

it.each([
  [8000, 8000],
  [8000, 16_000],
  [16_000, 8000],
  [48_000, 8000],
  [8000, 48_000],
])('resamples a tone from %i to %i Hz', (from, to) => {
  const pipe = new AudioPipe(from, to)
  let heard = 0
  for (let n = 0; n < 100; n++) {
    pipe.push(frameOf(from, n))
    const pcm = pipe.pull()
    if (!pcm) continue
    expect(pcm.length).toBe(to / 50)
    if (heard++ > 2) expect(measureTone(pcm, to).hz).toBeCloseTo(700, -1)
  }
  expect(heard).toBeGreaterThan(95)
})

it('is silent after running empty until refilled', () => {
  const pipe = new AudioPipe(8000, 8000)
  for (let n = 0; n < 3; n++) pipe.push(frameOf(8000, n))
  expect([1, 2, 3, 4].map(() => pipe.pull() !== null)).toEqual([true, true, true, false])
  pipe.push(frameOf(8000, 4))
  expect(pipe.pull()).toBeNull()
  pipe.push(frameOf(8000, 5))
  expect(pipe.pull()).not.toBeNull()
})

it('never holds more than 120 ms', () => {
  const pipe = new AudioPipe(8000, 8000)
  for (let n = 0; n < 500; n++) pipe.push(frameOf(8000, n))
  let frames = 0
  while (pipe.pull()) frames++
  expect(frames).toBeLessThanOrEqual(6)
})
