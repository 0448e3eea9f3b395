/** The build of LiveKit, with a fake Go that only prints its arguments. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { buildLiveKit } from '../../../infra/embedded/livekit.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-build-'))
  mkdirSync(join(folder, 'bin'))
  vi.stubEnv('PATH', `${join(folder, 'bin')}:/usr/bin:/bin`)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

function writeGo(install: string): void {
  const script = `#!/bin/sh
if [ "$1" = version ]; then echo go version go1.26.6 linux/amd64; exit; fi
echo "$@" >> '${join(folder, 'asked')}'
echo 'go: downloading a module' >&2
${install}`
  writeFileSync(join(folder, 'bin', 'go'), script)
  chmodSync(join(folder, 'bin', 'go'), 0o755)
}

function build(signal = new AbortController().signal) {
  const told: string[] = []
  const say = (text: string) => void told.push(text)
  return { told, result: buildLiveKit(join(folder, 'cache'), join(folder, 'build.log'), signal, { say }) }
}
const asked = () => readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n')

it('is done once for all who need it, and who waits says for whom', async () => {
  writeGo('sleep 1; echo it > "$GOBIN/server"')
  const builds = [build(), build()]
  const path = join(folder, 'cache', 'livekit-v1.13.5', 'livekit-server')
  expect(await Promise.all(builds.map(({ result }) => result))).toEqual([path, path])
  expect(asked()).toEqual([expect.stringMatching(/^install -v .*livekit-server/)])
  const wait = expect.stringMatching(
    `^Waiting for the build of LiveKit, in progress in process ${process.pid} for \\d+ s$`,
  )
  expect(builds.flatMap(({ told }) => told)).toEqual([wait])
})

it('that fails says where to look, and can be tried again', async () => {
  writeGo('echo no space left >&2; exit 1')
  expect(await build().result).toEqual({ missing: `build failed, see ${join(folder, 'build.log')}` })
  expect(readFileSync(join(folder, 'build.log'), 'utf8')).toContain('no space left')
  writeGo('echo it > "$GOBIN/server"')
  expect(await build().result).toMatch(/livekit-server$/)
})

it('is stopped with its children', async () => {
  writeGo('exec sleep 1000')
  const stopping = new AbortController()
  const { result } = build(stopping.signal)
  setTimeout(() => stopping.abort(), 500)
  expect(await result).toEqual({ missing: 'build canceled' })
})
